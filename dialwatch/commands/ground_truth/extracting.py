"""The command `dialwatch ground-truth extract`: a judge names the facts of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.ground_truth.cases import (
    NamedDeploymentOption,
    WhoOption,
    all_cases,
    cases_named,
    checked_deployment,
    who_of,
)
from dialwatch.commands.options import ConfigOption, LakeOption, check_name, open_filled, settings_of
from dialwatch.errors import ConfigError

if TYPE_CHECKING:
    from evaluator.ground_truth import Extraction


def extract(
    deployment: NamedDeploymentOption,
    written_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID...]", help="Cases; without one all proposed ones whose facts the judge lacks."),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="One of evaluator.judges; by default evaluator.ground_truth.judge.")
    ] = None,
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Ask a judge which facts the answers of cases need. Each must stand in the contexts of its answer."""
    check_name("--deployment", deployment, "give a name")
    by = who_of(who)
    settings = settings_of(config, lake)
    from evaluator import JudgePool
    from evaluator.answers import DeploymentTables
    from evaluator.ground_truth import extract_facts, lacking
    from lake import LostRaceError

    opened = open_filled(settings)
    checked_deployment(opened, deployment)
    name = judge or settings.evaluator.ground_truth.judge
    if name is None:
        raise ConfigError("which judge names the facts? Give --judge, or set evaluator.ground_truth.judge")
    with closing(JudgePool(settings.evaluator, opened)) as pool:
        try:
            asked = pool.judge(name)
        except LookupError as error:
            raise ConfigError(str(error)) from None
        cases: Sequence[Mapping[str, Any]]
        if written_ids:
            cases = [one.case for one in cases_named(opened, written_ids, deployment)]
        else:
            cases = lacking([one.case for one in all_cases(opened, deployment)], asked)
        if not cases:
            typer.echo("there is no proposed case whose facts this judge has not named")
            return
        try:
            made = extract_facts(DeploymentTables.of(opened, deployment), asked, cases, by, datetime.now(UTC))
        except LostRaceError:
            raise ConfigError("somebody else changed the cases meanwhile: run the command again") from None
    _print(made)
    if made.left:
        raise SystemExit(1)


def _print(made: Extraction) -> None:
    spend = made.spend
    typer.echo(
        f"{made.facts:,} facts of {made.cases:,} cases, {made.dropped:,} citations that stand nowhere were dropped, "
        f"{made.unsupported:,} cases without support are stale; "
        f"{spend.calls:,} calls, {spend.prompt_tokens:,} tokens read, {spend.completion_tokens:,} written, "
        f"cost {spend.cost:.4f}"
    )
    for reason, count in made.left.items():
        typer.echo(f"{count:,} cases as they were: {reason}")
