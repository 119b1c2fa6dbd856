"""A run by command: asks, prints what it found, writes the reports, and gives the exit code."""

from __future__ import annotations

from pathlib import Path

import typer

from dialwatch.actions.console import print_list
from dialwatch.actions.open_lake import open_filled
from dialwatch.actions.replays.reports import worst_cases, write_junit, write_markdown
from dialwatch.actions.replays.words import counts, failed_part_words, headline, probability_words
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from dialwatch.reports.terminal_text import in_one_line
from dialwatch.services.replaying import run_replay
from evaluator.replays import ReplayRun
from lake.delta_log.change import LostRaceError
from lake.spec.case_vocabulary import ReplayVerdict

_EXCERPT = 200
_HEAD = ("metric", "cases", "before", "now", "mean difference (95 %)", "by cases", "by runs", "level")


def run(
    settings: Settings,
    deployment: str,
    junit: Path | None,
    markdown: Path | None,
    *,
    accept: bool,
    fail_on_regression: bool,
    require_evidence: bool,
) -> None:
    """Ask the accepted cases of a deployment again, and print what changed.

    Raises ConfigError where no key or address is set, SystemExit with code 1 where the run found a regression, or
    suspects one, and `fail_on_regression` or `require_evidence` is set, or compared too little and `require_evidence`
    is set, or could not be completed.
    """
    lake = open_filled(settings)
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
        raise SystemExit(1)


def _print(made: ReplayRun) -> None:
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
    if words := failed_part_words(made):
        typer.echo(f"part that failed, of {words}")
    for case_id, question, before, now in worst_cases(made):
        typer.echo(f"\n{case_id[:12]}  {in_one_line(question, _EXCERPT)}")
        typer.echo(f"  before: {in_one_line(before, _EXCERPT)}")
        typer.echo(f"  now:    {in_one_line(now, _EXCERPT)}")
    for error in sorted({row["error"] for row in made.rows if row["error"] is not None})[:3]:
        typer.echo(f"\nno answer: {in_one_line(error, _EXCERPT)}")
