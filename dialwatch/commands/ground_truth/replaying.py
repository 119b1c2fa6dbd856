"""The command `dialwatch ground-truth replay`: the accepted cases are asked again, and what changed is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.console import print_list
from dialwatch.commands.ground_truth.cases import NamedDeploymentOption
from dialwatch.commands.options import ConfigOption, LakeOption, check_name, open_filled, settings_of
from dialwatch.errors import ConfigError
from dialwatch.reports.terminal_text import in_one_line
from lake.spec.case_vocabulary import ReplayVerdict

if TYPE_CHECKING:
    from dialwatch.config import Settings
    from evaluator.replays import ReplayRun
    from lake.tables.lake import Lake

_EXCERPT = 200
_HEAD = ("metric", "cases", "before", "now", "mean difference (95 %)", "by cases", "by runs", "level")


def replay(
    deployment: NamedDeploymentOption,
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="End with exit code 1 if the answers got worse, also if that is only suspected.",
        ),
    ] = False,
    require_evidence: Annotated[
        bool,
        typer.Option(
            "--require-evidence",
            help="End with exit code 1 unless the run shows that there is no regression.",
        ),
    ] = False,
    accept_: Annotated[
        bool, typer.Option("--accept", help="Compare later runs with this one, whatever it finds.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write a report for a CI: JUnit's XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a report for people: Markdown.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Ask the accepted cases again of the live deployment, and compare the answers case by case.

    Where and with which key they are asked is in `evaluator.replay`. The answers cost what questions of people cost.
    """
    check_name("--deployment", deployment, "give a name")
    settings = settings_of(config, lake)
    from dialwatch.commands.ground_truth.replay_reports import write_junit, write_markdown

    made = _run(settings, open_filled(settings), deployment, accept=accept_)
    _print(made)
    if junit is not None:
        write_junit(made, junit)
    if markdown is not None:
        write_markdown(made, markdown)
    fails = {ReplayVerdict.INCOMPLETE}
    # Who releases something looks at a fall before the nights to come tell.
    if fail_on_regression or require_evidence:
        fails |= {ReplayVerdict.REGRESSION, ReplayVerdict.SUSPECTED}
    fails |= {ReplayVerdict.TOO_FEW, ReplayVerdict.BASELINE} if require_evidence else set()
    if made.verdict in fails:
        raise typer.Exit(1)


def _run(settings: Settings, lake: Lake, deployment: str, *, accept: bool) -> ReplayRun:
    """Ask the accepted cases; raises ConfigError where no key or address is set, or there is nothing to ask."""
    from dialwatch.services.replaying import run_replay
    from lake.delta_log.change import LostRaceError

    try:
        made = run_replay(settings, lake, deployment, accept=accept)
    except KeyError:
        where = f"evaluator.replay.deployments.{deployment}.api_key_file"
        raise ConfigError(f"{where} is not set: with which key of DIAL is {deployment!r} asked?") from None
    except ValueError as error:
        raise ConfigError(str(error)) from None
    except LostRaceError:
        message = "another run, or an erasure, was at work meanwhile, and nothing of this run was kept: run it again"
        raise ConfigError(message) from None
    if made is None:
        raise ConfigError(
            f"deployment {deployment!r} has no accepted case that can be asked by itself: "
            "`dialwatch ground-truth list` shows what there is, `dialwatch ground-truth accept` accepts"
        )
    return made


def _print(made: ReplayRun) -> None:
    from dialwatch.commands.ground_truth.replay_reports import (
        counts,
        failed_part_words,
        headline,
        preference_words,
        probability_words,
        worst_cases,
    )

    typer.echo(headline(made))
    typer.echo(counts(made))
    if made.comparison is not None:
        rows = [
            (
                one.metric,
                str(one.pairs),
                f"{one.before:.2f}",
                f"{one.after:.2f}",
                f"{one.mean_difference:+.2f} ({one.lower:+.2f} to {one.upper:+.2f})",
                *probability_words(one),
            )
            for one in made.comparison.metrics
        ]
        print_list(_HEAD, rows)
    if preferred := preference_words(made):
        typer.echo(preferred)
    if words := failed_part_words(made):
        typer.echo(f"part that failed, of {words}")
    for case_id, question, before, now in worst_cases(made):
        typer.echo(f"\n{case_id[:12]}  {in_one_line(question, _EXCERPT)}")
        typer.echo(f"  before: {in_one_line(before, _EXCERPT)}")
        typer.echo(f"  now:    {in_one_line(now, _EXCERPT)}")
    for error in sorted({row["error"] for row in made.rows if row["error"] is not None})[:3]:
        typer.echo(f"\nno answer: {in_one_line(error, _EXCERPT)}")
