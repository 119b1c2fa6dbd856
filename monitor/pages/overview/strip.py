"""The strip above the overview: whether dialwatch itself works, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from lake.spec.service_vocabulary import ServicePart, ServiceState
from monitor.notify.digest.words import amount
from monitor.pages.times import IN_UTC, Times
from monitor.service.health.health import Health
from monitor.service.health.heartbeat_reader import PartState
from monitor.service.snapshot import Snapshot
from runtime.durations import duration


class Light(StrEnum):
    """How a part of dialwatch is; only the first one is green."""

    WORKS = "works"
    FAILS = "fails"
    SPENT = "spent"
    NOT_BEGUN = "not begun"
    STOPPED = "not running"
    UNUSED = "not set up"


_BAD = (Light.FAILS, Light.SPENT, Light.NOT_BEGUN, Light.STOPPED)


@dataclass(frozen=True)
class Item:
    """One part, how it is, and figures or an error in words."""

    name: str
    light: Light
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strip:
    """All parts, and whether everything works: not where one fails, is stopped or has not begun."""

    items: tuple[Item, ...]
    works: bool


def strip_of(
    snapshot: Snapshot | None, health: Health, *, sees_all: bool, times: Times = IN_UTC, currency: str = ""
) -> Strip:
    """Return the strip; amounts of money, which are of all deployments together, only to who `sees_all` of them."""
    items = (
        _collector(health.parts, snapshot, times),
        _evaluator(health.parts, snapshot, times),
        _budget(snapshot.judge_budgets_left if snapshot else {}, currency, sees_all=sees_all),
        _webhooks(health.parts, snapshot, times),
        _monitor(snapshot, health, times),
    )
    return Strip(items, health.healthy and not health.problems and not any(one.light in _BAD for one in items))


def _collector(parts: Sequence[PartState], snapshot: Snapshot | None, times: Times) -> Item:
    light, details = _of_part(ServicePart.COLLECTOR, parts, times)
    if snapshot is None or snapshot.collector_stats.last_commit is None:
        no_lines = Light.NOT_BEGUN if light is Light.WORKS else light
        return Item("Collector", no_lines, (*details, "no line has been stored yet"))
    stats, light = snapshot.collector_stats, _after_work(light)
    if stats.unaccounted:
        light, details = Light.FAILS, (*details, f"{stats.unaccounted:,} lines are unaccounted for: please report it")
    ago = duration(max(snapshot.taken_at - snapshot.collector_stats.last_commit, timedelta(0)))
    lag = [] if stats.lag_seconds is None else [f"the newest request was {duration(stats.lag_seconds)} old then"]
    return Item("Collector", light, (*details, f"last commit {times.brief_moment(stats.last_commit)}, {ago} ago", *lag))


def _evaluator(parts: Sequence[PartState], snapshot: Snapshot | None, times: Times) -> Item:
    light, details = _of_part(ServicePart.EVALUATOR, parts, times, needs_success=True)
    states = snapshot.deployments.values() if snapshot else ()
    scored = max((at for state in states if (at := state.scores.last_scored_at)), default=None)
    light = _after_work(light) if scored and not _runs_of(ServicePart.EVALUATOR, parts) else light
    last = f"last score {times.brief_moment(scored)}" if scored else "no score yet"
    return Item("Evaluator", light, (*details, last))


def _budget(left: Mapping[str, float], currency: str, *, sees_all: bool) -> Item:
    if not left:
        return Item("Judge budget", Light.UNUSED, ("no judge has a daily limit: see evaluator.judges",))
    spent = [name for name, value in left.items() if value <= 0]
    if spent:
        return Item("Judge budget", Light.SPENT, (f"for today (UTC): {', '.join(spent)}",))
    amounts = (
        [f"{name}: {amount(value, currency)} left today (UTC)" for name, value in left.items()] if sees_all else []
    )
    return Item("Judge budget", Light.WORKS, tuple(amounts))


def _webhooks(parts: Sequence[PartState], snapshot: Snapshot | None, times: Times) -> Item:
    receivers = snapshot.disabled_webhooks if snapshot else {}
    if not receivers and not _runs_of(ServicePart.WEBHOOKS, parts):
        return Item("Sending alerts", Light.UNUSED, ("no receiver: nobody is notified",))
    light, details = _of_part(ServicePart.WEBHOOKS, parts, times)
    gone = [name for name, is_gone in receivers.items() if is_gone]
    if gone:
        light, details = Light.FAILS, (*details, f"wants no more messages: {', '.join(gone)}")
    failed = snapshot.failed_deliveries if snapshot else 0
    attempts = [f"{failed:,} failed attempts since the monitor started"] if failed else []
    number = len(snapshot.without_receiver) if snapshot else 0
    missed = [f"no receiver is for {number:,} deployment{'' if number == 1 else 's'}"] if number else []
    return Item("Sending alerts", light, (*details, *attempts, *missed))


def _monitor(snapshot: Snapshot | None, health: Health, times: Times) -> Item:
    if snapshot is None:
        return Item("Monitor", Light.NOT_BEGUN, ("the first look at the lake takes a moment",))
    light, details = _of_part(ServicePart.MONITOR, health.parts, times)
    # The monitor answers, so that it has begun whether or not a row of it is there.
    light = Light.WORKS if light is Light.NOT_BEGUN else light
    if not health.is_fresh:
        light = Light.FAILS
    if snapshot.unfit_limits:
        light, details = Light.FAILS, (*details, *snapshot.unfit_limits)
    return Item("Monitor", light, (*details, f"figures of {times.brief_moment(snapshot.taken_at)}"))


def _after_work(light: Light) -> Light:
    """Return how a part is that has left traces of its work: it has begun, and where no run is there it is over."""
    return Light.STOPPED if light is Light.NOT_BEGUN else light


def _runs_of(part: ServicePart, parts: Sequence[PartState]) -> list[PartState]:
    return [one for one in parts if one.part == part]


def _of_part(
    part: ServicePart, parts: Sequence[PartState], times: Times, *, needs_success: bool = False
) -> tuple[Light, tuple[str, ...]]:
    """Return how the runs of a part are: as the worst of them, with errors in words."""
    runs = _runs_of(part, parts)
    failing = [f"{one.state} on {one.host}: {one.problem}" for one in runs if one.problem is not None]
    if failing:
        return Light.FAILS, tuple(failing)
    working = [one for one in runs if one.state == ServiceState.RUNNING]
    if working:
        has_begun = not needs_success or any(one.last_success for one in working)
        errors = [one.last_error for one in working if one.last_error is not None]
        last = (f"last error {times.brief_moment(max(errors))}",) if errors else ()
        return (Light.WORKS if has_begun else Light.NOT_BEGUN), last
    return (Light.STOPPED if runs else Light.NOT_BEGUN), ()
