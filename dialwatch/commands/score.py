"""The command `dialwatch score`: tables of answers and ground truth in, scores out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid

from dialwatch.commands.console import print_grid
from dialwatch.commands.metric_names import metric_names
from dialwatch.commands.options import ConfigOption, settings_of
from dialwatch.config import ConfigError
from dialwatch.reports.score_page import page_of
from dialwatch.reports.score_webhook import send, webhook
from evaluator import Judges
from evaluator.datasets import Report, score_dataset
from evaluator.judge_binding import judges_of_all
from evaluator.judges.answer import REASONS as JUDGE_REASONS
from evaluator.metrics import Metric, Models
from lake import Storage
from monitor.notify import Outcome


def score(
    answers: Annotated[str, typer.Argument(help="Table of answers: .parquet, .csv or .jsonl; local or s3://.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Parquet table to write, with its metadata beside it.")],
    ground_truth: Annotated[
        str | None, typer.Option(help="Table of ground truth, joined by case_id, or documents and question.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            help="Names, such as facts_recall,ndcg@5, or combinations, separated by commas or given again; all, the "
            "default: what the columns allow."
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Write <metric>_details too: JSON with claims, verdicts, bounds.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that score; each loads the models it needs.")] = 1,
    html: Annotated[Path | None, typer.Option(help="Page to write, with the distributions of the scores.")] = None,
    webhook_url: Annotated[str | None, typer.Option("--webhook", help="URL that the means are sent to.")] = None,
    webhook_secret_file: Annotated[Path | None, typer.Option(help="File with the secret that signs them.")] = None,
    config: ConfigOption = None,
) -> None:
    """Score a table of answers, against a table of ground truth if there is one.

    The exit code is 1 where the table is written, but nothing was scored, a judge answered about no row, the webhook
    could not be told, or a metric that was asked for by its name lacks its model.
    """
    if (webhook_url is None) != (webhook_secret_file is None):
        raise typer.BadParameter("--webhook and --webhook-secret-file go together: what is sent is signed")
    receiver = webhook(webhook_url, webhook_secret_file) if webhook_url and webhook_secret_file else None
    # Tables of one's own need no lake; its storage is theirs.
    settings = settings_of(config, ".")
    names, storage, evaluator = _names(metrics), settings.lake.storage.storage(), settings.evaluator
    with closing(Judges(evaluator)) as judges:
        asked = None if names is None else _bound(judges, [evaluator.metric(name) for name in names])
        if judged := judges_of_all(asked or ()):
            typer.echo(f"asking judge {', '.join(judge.name for judge in judged)}", err=True)
        report = _scored(answers, ground_truth, output, asked, evaluator.models, storage, workers, details=details)
        _print(report, with_ground_truth=ground_truth is not None)
        for judge, money in judges.spent_today().items():
            typer.echo(f"judge {judge}: calls of today (UTC) for {money:,.4f}, in the currency of its prices")
    if html is not None:
        html.write_text(page_of(report, storage), encoding="utf-8")
    if receiver is not None:
        attempt = send(report, receiver)
        if attempt.outcome is not Outcome.DELIVERED:
            typer.echo(f"the webhook was not told: {attempt.reason}", err=True)
            sys.exit(1)
    missing = list(_unscored(report))
    for why in missing:
        typer.echo(f"nothing was scored{why}", err=True)
    if missing or (names is not None and report.unavailable):
        sys.exit(1)


def _unscored(report: Report) -> Iterator[str]:
    """Give what has no score at all: the whole table, or what a judge was asked and gave no answer to."""
    summaries = list(report.summaries())
    judged = [line for line in summaries if not line.scored and not JUDGE_REASONS.isdisjoint(line.reasons)]
    for line in judged:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in line.reasons.items())
        yield f" by {line.metric}: {reasons}"
    if not judged and not any(line.scored for line in summaries):
        yield "" if report.rows else ": there are no rows"


def _names(metrics: list[str] | None) -> list[str] | None:
    names = metric_names(metrics, "all") if metrics else ["all"]
    return None if names == ["all"] else names


def _bound(judges: Judges, metrics: list[Metric]) -> list[Metric]:
    try:
        return judges.bound(metrics)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _scored(
    answers: str,
    truth: str | None,
    output: str,
    metrics: list[Metric] | None,
    models: Models,
    storage: Storage,
    workers: int,
    *,
    details: bool,
) -> Report:
    columns = (TextColumn("scoring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # The bar goes to stderr, and only where that is a terminal: a log wants no bar.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("scoring", total=None)
        return score_dataset(
            answers,
            truth,
            output,
            metrics,
            models=models,
            storage=storage,
            workers=workers,
            details=details,
            on_progress=lambda done, of: bar.update(task, completed=done, total=of),
        )


def _print(report: Report, *, with_ground_truth: bool) -> None:
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
