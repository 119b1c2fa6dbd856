"""Scores of a table of answers: the work, and what it says on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.table import Table as Grid

from dialwatch.actions.console import print_grid, scoring_bar
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from dialwatch.reports.score_page import page_of
from dialwatch.reports.score_webhook import send
from evaluator import JudgePool
from evaluator.datasets import BATCH_ROWS, DatasetReport, must_hold, score_dataset
from evaluator.engines import engine_of
from evaluator.judge_binding import judges_of_all
from evaluator.judges import NOT_FOR_GOOD, Reason
from evaluator.metrics import Metric
from monitor.notify import DeliveryOutcome, WebhookSettings

_JUDGED_ROWS = 64
"""Rows that are scored together where judges are asked: these take seconds each, and people want to see them done."""


@dataclass(frozen=True)
class Tables:
    """Paths or URIs: tables that are read, `output`, the one that is written, and `html`, a page about it."""

    answers: str
    ground_truth: str | None
    output: str
    html: Path | None


def score_tables(
    tables: Tables,
    names: list[str] | None,
    settings: Settings,
    receiver: WebhookSettings | None,
    *,
    details: bool,
) -> None:
    """Score a table by the metrics of these names, None for all that its columns allow, and send the means.

    Raises SystemExit with code 1 where the table is written, but nothing was scored, a cell could not be read, a judge
    answered about no row, the webhook was not delivered, or a metric that was asked for by its name lacks its model.
    """
    storage, evaluator = settings.lake.storage.storage(), settings.evaluator
    with closing(JudgePool(evaluator)) as judges:
        asked = None if names is None else _bound(judges, [evaluator.metric(name) for name in names])
        if judged := judges_of_all(asked or ()):
            names_of_judges = ", ".join(judge.name for judge in judged)
            if evaluator.engine == "ray":
                raise ConfigError(
                    f"a table is scored on Ray without judges, and metrics ask {names_of_judges}: leave these metrics "
                    "out, or set the engine to local"
                )
            typer.echo(f"asking judge {names_of_judges}", err=True)
        with scoring_bar() as show_progress:
            report = score_dataset(
                tables.answers,
                tables.ground_truth,
                tables.output,
                asked,
                models=evaluator.models,
                storage=storage,
                engine=engine_of(evaluator.engine, evaluator.workers, evaluator.ray),
                details=details,
                batch_rows=_JUDGED_ROWS if judged else BATCH_ROWS,
                on_progress=show_progress,
            )
        _print(report, with_ground_truth=tables.ground_truth is not None)
        for judge, money in judges.spent_today().items():
            typer.echo(f"judge {judge}: calls of today (UTC) for {money:,.4f}, in the currency of its prices")
    if tables.html is not None:
        tables.html.write_text(page_of(report, storage), encoding="utf-8")
    if receiver is not None:
        attempt = send(report, receiver)
        if attempt.outcome is not DeliveryOutcome.DELIVERED:
            typer.echo(f"the webhook was not delivered: {attempt.reason}", err=True)
            sys.exit(1)
    for column, (count, first) in report.unreadable.items():
        typer.echo(
            f"column {column!r} cannot be read in {count:,} rows, the first is row {first:,}: {must_hold(column)}",
            err=True,
        )
    for line in _unanswered(report):
        typer.echo(line, err=True)
    missing = list(_unscored(report))
    for why in missing:
        typer.echo(f"nothing was scored{why}", err=True)
    if missing or report.unreadable or (names is not None and report.unavailable):
        sys.exit(1)


def _unanswered(report: DatasetReport) -> Iterator[str]:
    """Give what judges did not answer where they answered about other rows; it may come if the command is run again."""
    for line in report.summaries():
        counts = {reason: count for reason, count in line.reasons.items() if reason in NOT_FOR_GOOD}
        if counts and line.scored:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
            yield (
                f"{line.metric} has no value in {sum(counts.values()):,} of {report.rows:,} rows: {reasons}. The log "
                "says why, and docs/judges.md what helps; run it again to ask about these rows alone"
            )


def _unscored(report: DatasetReport) -> Iterator[str]:
    """Give what has no score at all: the whole table, or what a judge was asked and gave no answer to."""
    summaries = list(report.summaries())
    judged = [line for line in summaries if not line.scored and not frozenset(Reason).isdisjoint(line.reasons)]
    for line in judged:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in line.reasons.items())
        yield f" by {line.metric}: {reasons}"
    if not judged and not any(line.scored for line in summaries):
        yield "" if report.rows else ": there are no rows"


def _bound(judges: JudgePool, metrics: list[Metric]) -> list[Metric]:
    try:
        return judges.bound(metrics)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _print(report: DatasetReport, *, with_ground_truth: bool) -> None:
    grid = Grid()
    grid.add_column("metric", overflow="fold")
    for name in ("mean", "scored", "not scored"):
        grid.add_column(name, justify="right")
    grid.add_column("because")
    for line in report.summaries():
        mean = "" if line.mean is None else f"{line.mean:.4f}"
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in line.reasons.items())
        grid.add_row(line.metric, mean, f"{line.scored:,}", f"{line.not_scored:,}", reasons)
    print_grid(grid)
    typer.echo(f"{report.rows:,} rows written to {report.dataset.data_path}")
    if with_ground_truth:
        typer.echo(
            f"left out: {report.without_ground_truth:,} answers without ground truth, "
            f"{report.without_answer:,} cases of ground truth without an answer"
        )
    if report.left_out:
        missing = sorted({column for columns in report.left_out.values() for column in columns})
        typer.echo(
            f"not scored for want of {', '.join(missing)}: {', '.join(report.left_out)}; docs/metrics.md says which "
            "metric reads which"
        )
    for why in dict.fromkeys(report.unavailable.values()):
        metrics = ", ".join(metric for metric, reason in report.unavailable.items() if reason == why)
        typer.echo(f"not scored: {metrics}: {why}", err=True)
