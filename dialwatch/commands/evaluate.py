"""The command `dialwatch evaluate`: scores of new answers, once or on and on, and of old ones on request."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.console import grid_of, print_grid, scoring_bar
from dialwatch.commands.options import (
    ConfigOption,
    EngineOption,
    LakeOption,
    WorkersOption,
    engine_settings,
    metric_names,
    settings_of,
)
from dialwatch.errors import ConfigError
from dialwatch.services.ending import end_by_signals, wait_for_signal
from dialwatch.times import past_moment

if TYPE_CHECKING:
    from evaluator.answers import Period
    from evaluator.service.backfill import BackfillResult
    from evaluator.service.backfill_estimate import BackfillEstimate, MetricEstimate
    from evaluator.service.passes import Failure
    from evaluator.settings import EvaluatorSettings
    from lake.tables.lake import Lake

_NUMBERS = frozenset(
    {"answers", "scored", "there before", "answers left", "takes about", "calls", "tokens read", "written", "cost"}
)
"""Columns of numbers."""


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
    engine: EngineOption = None,
    workers: WorkersOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Of --backfill: say how many answers and about how long; write nothing.")
    ] = False,
) -> None:
    """Score the answers that are new, and turn liked ones into ground truth.

    With --backfill score old answers by metrics that have not scored them: the newest ones, which the service has not
    reached, are left to it. The exit code is 1 where something failed, a metric could not run, a judge's budget was
    spent before the end, or a judge gave no answer that it may give later.
    """
    of_backfill = {"--since": since, "--until": until, "--metrics": metrics, "--deployment": deployment}
    given = [name for name, value in (of_backfill | {"--dry-run": dry_run}).items() if value]
    if given and not backfill:
        raise typer.BadParameter(f"{', '.join(given)}: of old answers; add --backfill")
    if backfill and (once or every):
        raise typer.BadParameter("--backfill runs once and scores old answers: leave out --once and --every")
    if backfill and since is None:
        raise typer.BadParameter("--backfill needs --since, such as --since 7d or --since 2026-11-20")
    names = metric_names(metrics, "leave it out for the configured ones") if metrics else None
    period = _period(since, until, datetime.now(UTC)) if since is not None else None
    if every is not None:
        _check_interval(every)
    evaluator = engine_settings(engine, workers)["evaluator"] | ({"every": every} if every else {})
    runs_on = period is None and not once
    if runs_on:
        end_by_signals()
    settings = settings_of(config, lake, {"evaluator": evaluator})
    if runs_on:
        from dialwatch.services import running

        with running.only_evaluator(settings):
            wait_for_signal()
        return
    from evaluator.answers import Period

    opened = settings.lake.open()
    if not opened.deployments():
        typer.echo(f"no deployment has a table under {opened.root}: is that the lake's root?", err=True)
    if period is None:
        _evaluate_once(opened, settings.evaluator)
    else:
        _score_old_answers(opened, settings.evaluator, Period(*period), names, deployment, dry_run=dry_run)


def _check_interval(every: str) -> None:
    from runtime.durations import reads_seconds

    try:
        if 0 < float(reads_seconds("smh")(every)) < math.inf:
            return
    except ValueError:
        pass
    raise typer.BadParameter(
        f"{every!r} is no time for evaluator.every: write it as 30s, 5m or 1h", param_hint="--every"
    )


def _period(since: str, until: str | None, now: datetime) -> tuple[datetime, datetime]:
    begin = past_moment(since, "--since", now)
    end = now if until is None else past_moment(until, "--until", now)
    if begin >= end:
        raise typer.BadParameter(f"--since {since} is not before {'now' if until is None else f'--until {until}'}")
    return begin, end


def _evaluate_once(lake: Lake, settings: EvaluatorSettings) -> None:
    """Make one pass over all that is there; raises SystemExit with code 1 where something failed or could not run."""
    from evaluator.service.passes import Evaluator

    # Whoever asks for one pass expects all answers in it: what is there is all that will come.
    with closing(Evaluator(lake, settings.model_copy(update={"context_grace": 0.0}))) as evaluator:
        result = evaluator.run_once()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in result.matched.items())
    matched = f"; answers compared with a case, by how it was found: {kinds}" if kinds else ""
    sampled = f"; {result.not_sampled:,} answers were not in the judge's sample" if result.not_sampled else ""
    typer.echo(
        f"{result.deployments} deployments: {result.scored} scores, without a value: {_reasons(result.unscored)}; "
        f"{result.cases} new cases{matched}{sampled}"
    )
    _end(result.failures, result.left_out)


def _score_old_answers(
    lake: Lake,
    settings: EvaluatorSettings,
    period: Period,
    metrics: list[str] | None,
    deployments: list[str] | None,
    *,
    dry_run: bool,
) -> None:
    """Score the old answers of a period, or say how many there are and how long that takes.

    Raises ConfigError for a name that nothing has, SystemExit with code 1 where something is left to do.
    """
    from evaluator.service.backfill import Backfill
    from evaluator.service.backfill_estimate import estimate

    try:
        prepared = Backfill(lake, settings, period, metrics, deployments)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    with closing(prepared) as backfill:
        if dry_run:
            _print_estimates(estimate(backfill))
            for name, why in backfill.why.items():
                typer.echo(f"{name} {why}")
            return
        with scoring_bar() as show_progress:
            result = backfill.run(show_progress)
    _print_result(result)


def _print_result(result: BackfillResult) -> None:
    grid = grid_of(
        "deployment", "answers", "scored", "without a value", "there before", "answers left", numbers=_NUMBERS
    )
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
    _print_left(sum(one.left for one in result.deployments))
    pending = sum(one.counts.pending for one in result.deployments)
    if stopped := [one.deployment for one in result.deployments if one.budget_spent]:
        typer.echo(
            f"stopped for {', '.join(stopped)}: the judge's budget is spent. Run the same command again in the next "
            "hour, or day, of UTC: it goes on where it stopped, and nothing is paid twice",
            err=True,
        )
    elif pending:
        typer.echo(
            f"{pending:,} scores are pending, as the judge gave no answer; the log says why. Run the same command "
            "again once it does: nothing is paid twice",
            err=True,
        )
    _end(result.failures, left_out)
    if stopped or pending:
        sys.exit(1)


def _print_estimates(estimates: list[BackfillEstimate]) -> None:
    grid = grid_of("deployment", "metric", "answers", "takes about", numbers=_NUMBERS)
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
    _print_left(sum(one.left for one in estimates))


def _print_judging(metrics: list[MetricEstimate]) -> None:
    if not any(metric.judging for metric in metrics):
        return
    grid = grid_of("deployment", "metric", "calls", "tokens read", "written", "cost", numbers=_NUMBERS)
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


def _print_left(left: int) -> None:
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


def _duration(seconds: float) -> str:
    whole = math.ceil(seconds)
    hours, minutes = divmod(whole // 60, 60)
    parts = [(hours, "h"), (minutes, "min"), (whole % 60 if whole < 3600 else 0, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"
