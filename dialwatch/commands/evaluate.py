"""The command `dialwatch evaluate`: scores of new answers, once or on and on, and of old ones on request."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid

from dialwatch.commands.console import print_grid
from dialwatch.commands.metric_names import metric_names
from dialwatch.commands.options import ConfigOption, LakeOption, settings_of
from dialwatch.config import ConfigError, Settings
from dialwatch.services import running
from evaluator import (
    Backfill,
    BackfillResult,
    Estimate,
    Evaluator,
    EvaluatorSettings,
    Failure,
    MetricEstimate,
    Period,
    estimate,
)
from lake import Lake, reads_seconds

_seconds = reads_seconds("smhd")
_NUMERIC = frozenset(
    {"answers", "scored", "there before", "answers left", "takes about", "calls", "tokens read", "written", "cost"}
)


def evaluate(
    lake: LakeOption = None,
    config: ConfigOption = None,
    once: Annotated[bool, typer.Option("--once", help="One pass over all that is there, then end.")] = False,
    every: Annotated[str | None, typer.Option(help="Time between passes, such as 30s, 5m or 1h.")] = None,
    backfill: Annotated[bool, typer.Option("--backfill", help="Score old answers instead, then end.")] = False,
    since: Annotated[
        str | None, typer.Option(help="Of --backfill: requests from then on; 7d, 12h, or a date or time (UTC).")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Of --backfill: requests before then; without it all.")] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(help="Of --backfill: names, separated by commas or given again; without it the configured ones."),
    ] = None,
    deployment: Annotated[
        list[str] | None, typer.Option(help="Of --backfill: this one alone; may be given again for more.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Of --backfill: say how many answers and about how long; write nothing.")
    ] = False,
) -> None:
    """Score the answers that are new, and turn liked ones into ground truth.

    With --backfill score old answers by metrics that have not scored them: the newest ones, which the service has not
    reached, are left to it. The exit code is 1 where something failed, a metric could not run, a judge's budget was
    spent before the end, or a judge gave no answer that it may give later.
    """
    only_with = {"--since": since, "--until": until, "--metrics": metrics, "--deployment": deployment}
    if not backfill and (given := [*[name for name, value in only_with.items() if value], *_flag(dry_run)]):
        raise typer.BadParameter(f"{', '.join(given)}: of old answers; add --backfill")
    if backfill and (once or every):
        raise typer.BadParameter("--backfill runs once and scores old answers: leave out --once and --every")
    if backfill and since is None:
        raise typer.BadParameter("--backfill needs --since, such as --since 7d or --since 2026-11-20")
    settings = settings_of(config, lake, {"evaluator": {"every": every}} if every else {})
    opened = settings.lake.open()
    if since is not None:
        period = _period(since, until, datetime.now(UTC))
        with closing(_prepared(opened, settings.evaluator, period, metrics, deployment)) as prepared:
            _backfill(prepared, dry_run=dry_run)
    elif once:
        _once(opened, settings.evaluator)
    else:
        _until_stopped(settings)


def _flag(dry_run: bool) -> list[str]:
    return ["--dry-run"] if dry_run else []


def _until_stopped(settings: Settings) -> None:
    with running.only_evaluator(settings):
        running.wait_for_signal()


def _once(lake: Lake, settings: EvaluatorSettings) -> None:
    _warn_if_empty(lake)
    # Whoever asks for one pass expects all answers in it: what is there is all that will come.
    with closing(Evaluator(lake, settings.model_copy(update={"context_grace": 0.0}))) as evaluator:
        result = evaluator.run_once()
    sampled = f"; {result.not_sampled:,} answers were not in the judge's sample" if result.not_sampled else ""
    typer.echo(
        f"{result.deployments} deployments: {result.scored} scores, without a value: {_reasons(result.unscored)}; "
        f"{result.cases} new cases{sampled}"
    )
    _end(result.failures, result.left_out)


def _prepared(
    lake: Lake, settings: EvaluatorSettings, period: Period, metrics: list[str] | None, deployments: list[str] | None
) -> Backfill:
    _warn_if_empty(lake)
    names = metric_names(metrics, "leave it out for the configured ones") if metrics else None
    try:
        return Backfill(lake, settings, period, names, deployments)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _backfill(backfill: Backfill, *, dry_run: bool) -> None:
    if dry_run:
        _print_estimates(estimate(backfill))
        return
    columns = (TextColumn("scoring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # The bar goes to stderr, and only where that is a terminal: a log wants no bar.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("scoring", total=None)
        result = backfill.run(lambda done, of: bar.update(task, completed=done, total=of))
    _print_result(result)


def _print_result(result: BackfillResult) -> None:
    grid = _grid("deployment", "answers", "scored", "without a value", "there before", "answers left")
    left_out: Counter[str] = Counter()
    for one in result.deployments:
        left_out += one.counts.left_out
        numbers = [f"{one.answers:,}", f"{one.counts.scored:,}", _reasons(one.counts.unscored)]
        grid.add_row(one.deployment, *numbers, f"{one.held:,}", f"{one.left:,}")
    print_grid(grid)
    scored = sum(one.counts.scored for one in result.deployments)
    typer.echo(f"{scored:,} scores, {sum(one.held for one in result.deployments):,} were there before")
    if not_sampled := sum(one.counts.not_sampled for one in result.deployments):
        typer.echo(f"{not_sampled:,} answers were not in the judge's sample (evaluator.sampling)")
    _tell_left(sum(one.left for one in result.deployments))
    owed = sum(one.counts.owed for one in result.deployments)
    if stopped := [one.deployment for one in result.deployments if one.budget_spent]:
        typer.echo(
            f"stopped for {', '.join(stopped)}: the judge's budget is spent. Run the same command again in the next "
            "hour, or day, of UTC: it goes on where it stopped, and nothing is paid twice",
            err=True,
        )
    elif owed:
        typer.echo(
            f"{owed:,} scores are owed, as the judge gave no answer; the log says why. Run the same command again once "
            "it does: nothing is paid twice",
            err=True,
        )
    _end(result.failures, left_out)
    if stopped or owed:
        sys.exit(1)


def _print_estimates(estimates: list[Estimate]) -> None:
    grid = _grid("deployment", "metric", "answers", "takes about")
    for metric in (metric for one in estimates for metric in one.metrics):
        grid.add_row(metric.deployment, metric.metric, f"{metric.answers:,}", _how_long(metric))
    print_grid(grid)
    _print_judging([metric for one in estimates for metric in one.metrics])
    if calls := math.ceil(sum(one.anchor_calls for one in estimates)):
        typer.echo(
            f"besides that, with a backfill or without one, the service makes up to {calls:,} calls a day for "
            f"{sum(one.anchor_cost for one in estimates):,.2f} about anchors (evaluator.anchors)"
        )
    scores = sum(metric.answers for one in estimates for metric in one.metrics)
    seconds = sum(one.seconds for one in estimates)
    typer.echo(
        f"{scores:,} scores of {sum(one.answers for one in estimates):,} answers, which takes about "
        f"{_duration(seconds)} with the reading: an estimate from some of these answers; nothing was written"
    )
    _tell_left(sum(one.left for one in estimates))


def _print_judging(metrics: list[MetricEstimate]) -> None:
    if not any(metric.judging for metric in metrics):
        return
    grid = _grid("deployment", "metric", "calls", "tokens read", "written", "cost")
    for metric in metrics:
        if (asked := metric.judging) is not None:
            numbers = (f"{number:,}" for number in (asked.calls, asked.prompt_tokens, asked.completion_tokens))
            grid.add_row(metric.deployment, metric.metric, *numbers, f"{asked.cost:,.2f}")
    print_grid(grid)
    judgings = [metric.judging for metric in metrics if metric.judging]
    names = ", ".join(sorted({one.judge for one in judgings}))
    typer.echo(
        f"{sum(one.calls for one in judgings):,} calls of judges ({names}) for "
        f"{sum(one.cost for one in judgings):,.2f}, in the currency of their prices: what several metrics ask is "
        "counted with the first; nobody was asked"
    )


def _how_long(metric: MetricEstimate) -> str:
    return f"cannot run: {metric.problem}" if metric.seconds is None else _duration(metric.seconds)


def _tell_left(left: int) -> None:
    if left:
        typer.echo(
            f"{left:,} of the newest answers are left to the service, `dialwatch evaluate`, which has not reached them "
            "or lets them wait for their contexts"
        )


def _end(failures: tuple[Failure, ...], left_out: Mapping[str, int]) -> None:
    for failure in failures:
        typer.echo(f"{failure.deployment}: {failure.error}", err=True)
    for metric, number in sorted(left_out.items()):
        typer.echo(f"{metric} could not run and left out {number:,} answers; the log says why", err=True)
    if failures or left_out:
        sys.exit(1)


def _reasons(unscored: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(unscored.items())) or "none"


def _grid(*columns: str) -> Grid:
    grid = Grid()
    for column in columns:
        numeric = column in _NUMERIC
        grid.add_column(column, overflow="fold", justify="right" if numeric else "left")
    return grid


def _duration(seconds: float) -> str:
    whole = math.ceil(seconds)
    hours, minutes = divmod(whole // 60, 60)
    parts = [(hours, "h"), (minutes, "min"), (whole % 60 if whole < 3600 else 0, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


def _period(since: str, until: str | None, now: datetime) -> Period:
    begin = _moment("--since", since, now)
    end = now if until is None else _moment("--until", until, now)
    if begin >= end:
        raise typer.BadParameter(f"--since {since} is not before {'now' if until is None else f'--until {until}'}")
    return Period(begin, end)


def _moment(option: str, given: str, now: datetime) -> datetime:
    """Read a time back from now, or a date or time, of UTC unless it says otherwise."""
    ago = _seconds(given)
    try:
        if isinstance(ago, float):
            return now - timedelta(seconds=ago)
        at = datetime.fromisoformat(given)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{option} {given!r} is neither a time back from now, such as 7d or 12h, nor a date or time such as "
            "2026-11-20 or 2026-11-20T09:00"
        ) from None


def _warn_if_empty(lake: Lake) -> None:
    if not lake.deployments():
        typer.echo(f"no deployment has a table under {lake.root}: is that the lake's root?", err=True)
