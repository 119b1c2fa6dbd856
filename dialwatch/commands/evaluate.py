"""The command `dialwatch evaluate`: scores of new answers, once or on and on, and of old ones on request."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Annotated

import typer

from dialwatch.commands.options import (
    ConfigOption,
    EngineOption,
    LakeOption,
    WorkersOption,
    engine_settings,
    metric_names,
    settings_of,
)
from dialwatch.times import past_moment


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
    only_with = {"--since": since, "--until": until, "--metrics": metrics, "--deployment": deployment}
    if not backfill and (given := [*[name for name, value in only_with.items() if value], *_flag(dry_run)]):
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
    settings = settings_of(config, lake, {"evaluator": evaluator})
    if period is None and not once:
        from dialwatch.services import running

        with running.only_evaluator(settings):
            running.wait_for_signal()
        return
    from dialwatch.actions.evaluation import evaluate_once, score_old_answers
    from evaluator import Period

    opened = settings.lake.open()
    if period is None:
        evaluate_once(opened, settings.evaluator)
    else:
        score_old_answers(opened, settings.evaluator, Period(*period), names, deployment, dry_run=dry_run)


def _flag(dry_run: bool) -> list[str]:
    return ["--dry-run"] if dry_run else []


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
