"""Facts of cases by a judge, asked for by command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any

import typer

from dialwatch.actions.ground_truth.finding import all_cases, cases_named, checked_deployment
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from evaluator import JudgePool
from evaluator.answers import DeploymentTables
from evaluator.ground_truth import Extraction, extract_facts, lacking
from lake.delta_log.change import LostRaceError


def extract(
    settings: Settings, deployment: str, written_ids: Sequence[str], judge: str | None, who: str, now: datetime
) -> None:
    """Ask a judge for the facts of the named cases, of all proposed ones that lack them where none is named.

    Raises ConfigError where no judge is known, SystemExit with code 1 where some cases have got no facts.
    """
    lake = open_filled(settings)
    checked_deployment(lake, deployment)
    name = judge or settings.evaluator.ground_truth.judge
    if name is None:
        raise ConfigError("which judge names the facts? Give --judge, or set evaluator.ground_truth.judge")
    with closing(JudgePool(settings.evaluator, lake)) as pool:
        try:
            asked = pool.judge(name)
        except LookupError as error:
            raise ConfigError(str(error)) from None
        cases: Sequence[Mapping[str, Any]]
        if written_ids:
            cases = [one.case for one in cases_named(lake, written_ids, deployment)]
        else:
            cases = lacking([one.case for one in all_cases(lake, deployment)], asked)
        if not cases:
            typer.echo("there is no proposed case whose facts this judge has not named")
            return
        try:
            made = extract_facts(DeploymentTables.of(lake, deployment), asked, cases, who, now)
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
