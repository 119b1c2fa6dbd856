"""The command `dialwatch score`: tables of answers and ground truth in, scores out."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.console import grid_of, print_grid, scoring_bar
from dialwatch.commands.options import (
    NO_LAKE,
    ConfigOption,
    EngineOption,
    WorkersOption,
    engine_settings,
    metric_names,
    receiver_of,
    settings_of,
)
from dialwatch.errors import ConfigError

if TYPE_CHECKING:
    from dialwatch.config import Settings
    from evaluator.datasets import DatasetReport, Summary
    from evaluator.metrics import Metric
    from evaluator.service.judge_pool import JudgePool
    from monitor.notify.settings import WebhookSettings

_JUDGED_ROWS = 64
"""Rows that are scored together where judges are asked: these take seconds each, and people want to see them done."""

ALL = "all"
"""Value of `--metrics` for all that the columns of the tables allow."""


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
    engine: EngineOption = None,
    workers: WorkersOption = None,
    html: Annotated[Path | None, typer.Option(help="Page to write, with the distributions of the scores.")] = None,
    webhook_url: Annotated[str | None, typer.Option("--webhook", help="URL that the means are sent to.")] = None,
    webhook_secret_file: Annotated[Path | None, typer.Option(help="File with the secret that signs them.")] = None,
    config: ConfigOption = None,
) -> None:
    """Score a table of answers, against a table of ground truth if there is one.

    The exit code is 1 where the table is written, but nothing was scored, a cell could not be read, a judge answered
    about no row, the webhook did not accept the means, or a metric that was asked for by its name lacks its model.
    """
    if (webhook_url is None) != (webhook_secret_file is None):
        raise typer.BadParameter("--webhook and --webhook-secret-file go together: what is sent is signed")
    names = metric_names(metrics, ALL) if metrics else [ALL]
    receiver = None if webhook_url is None else receiver_of(webhook_url, webhook_secret_file, "--webhook: ")
    settings = settings_of(config, NO_LAKE, engine_settings(engine, workers))
    asked = None if names == [ALL] else names
    report = _scored(answers, ground_truth, output, asked, settings, details=details)
    if html is not None:
        from dialwatch.reports.score_page import page_of

        html.write_text(page_of(report, settings.lake.storage.storage()), encoding="utf-8")
    if receiver is not None:
        _send(report, receiver)
    _end(report, are_named=asked is not None)


def _scored(
    answers: str,
    ground_truth: str | None,
    output: str,
    names: list[str] | None,
    settings: Settings,
    *,
    details: bool,
) -> DatasetReport:
    """Score a table by the metrics of these names, None for all that its columns allow, and print what was found."""
    from evaluator.datasets import BATCH_ROWS, score_dataset
    from evaluator.engines import engine_of
    from evaluator.service.judge_pool import JudgePool

    evaluator = settings.evaluator
    with closing(JudgePool(evaluator)) as judges:
        asked = None if names is None else _bound(judges, [evaluator.metric(name) for name in names])
        is_judged = _ask_judges(asked or (), evaluator.engine)
        with scoring_bar() as show_progress:
            report = score_dataset(
                answers,
                ground_truth,
                output,
                asked,
                models=evaluator.models,
                storage=settings.lake.storage.storage(),
                engine=engine_of(evaluator.engine, evaluator.workers, evaluator.ray),
                details=details,
                batch_rows=_JUDGED_ROWS if is_judged else BATCH_ROWS,
                on_progress=show_progress,
            )
        _print(report, with_ground_truth=ground_truth is not None)
        for judge, money in judges.spent_today().items():
            typer.echo(f"judge {judge}: calls of today (UTC) for {money:,.4f}, in the currency of its prices")
    return report


def _ask_judges(metrics: Sequence[Metric], engine: str) -> bool:
    """Say which judges metrics ask, and return whether they ask any; raises ConfigError where that cannot be."""
    from evaluator.judge_binding import judges_of_all

    names = ", ".join(judge.name for judge in judges_of_all(metrics))
    if names and engine == "ray":
        raise ConfigError(
            f"a table is scored on Ray without judges, and metrics ask {names}: leave these metrics "
            "out, or set the engine to local"
        )
    if names:
        typer.echo(f"asking judge {names}", err=True)
    return bool(names)


def _send(report: DatasetReport, receiver: WebhookSettings) -> None:
    """Send a table's means once, signed as Standard Webhooks says; ends with exit code 1 where that was refused.

    What is sent is numbers and names of metrics, never a text of the table.
    """
    from monitor.notify.delivery import DeliveryOutcome, deliver, signed_headers
    from monitor.notify.network import connections

    body, now = _body_of(report), datetime.now(UTC)
    headers = signed_headers(str(uuid.uuid4()), now, body, receiver.secret)
    # A person chose the address, so it may be one of their own machines.
    with connections([receiver.url.host or ""]) as pool:
        attempt = deliver(pool, str(receiver.url), body, headers, now)
    if attempt.outcome is not DeliveryOutcome.DELIVERED:
        typer.echo(f"the webhook was not delivered: {attempt.reason}", err=True)
        sys.exit(1)


def _body_of(report: DatasetReport) -> bytes:
    """Return the JSON that is sent: the table's path, when it was made, its rows, and for each metric mean and counts.

    `reasons` are the numbers of rows without a value, by reason. A mean of no rows is null.
    """
    import orjson

    return orjson.dumps(
        {
            "type": "dialwatch.scores",
            "dataset": report.dataset.data_path,
            "created_at": report.dataset.metadata.created_at,
            "rows": report.rows,
            "without_ground_truth": report.without_ground_truth,
            "without_answer": report.without_answer,
            "metrics": {summary.metric: _numbers(summary) for summary in report.summaries()},
        }
    )


def _numbers(summary: Summary) -> dict[str, Any]:
    return {name: value for name, value in asdict(summary).items() if name != "metric"}


def _end(report: DatasetReport, *, are_named: bool) -> None:
    """Say what has no score; ends with exit code 1 where something is missing that was asked for."""
    from evaluator.datasets import must_hold

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
    if missing or report.unreadable or (are_named and report.unavailable):
        sys.exit(1)


def _unanswered(report: DatasetReport) -> Iterator[str]:
    """Yield what judges did not answer where they answered about other rows; it may come if this is run again."""
    from evaluator.judges.exchange import NOT_FOR_GOOD

    for line in report.summaries():
        counts = {reason: count for reason, count in line.reasons.items() if reason in NOT_FOR_GOOD}
        if counts and line.scored:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
            yield (
                f"{line.metric} has no value in {sum(counts.values()):,} of {report.rows:,} rows: {reasons}. The log "
                "says why, and docs/judges.md what helps; run it again to ask about these rows alone"
            )


def _unscored(report: DatasetReport) -> Iterator[str]:
    """Yield what has no score at all: the whole table, or what a judge was asked and gave no answer to."""
    from evaluator.judges.exchange import Reason

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
    numbers = ("mean", "scored", "not scored")
    grid = grid_of("metric", *numbers, "because", numbers=numbers)
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
