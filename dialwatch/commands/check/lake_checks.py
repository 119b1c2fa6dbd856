"""Checks of the lake: rows, clocks and signals, and limits of means that fit none of its scores."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow.dataset as ds

from dialwatch.commands.check.finding import Finding, failed, guarded, warning, well
from dialwatch.reports.terminal_text import in_one_line
from dialwatch.services.lake_contents import contents_of, retention_words
from lake.maintenance.maintenance import LakeMaintenanceSettings
from lake.queries.application_classes import ApplicationClasses
from lake.queries.signals_by_answer import UnjoinedReason, count_unjoined
from lake.spec.root_tables import SERVICES
from lake.spec.schemas import SCORES, USER_SIGNALS
from lake.spec.service_vocabulary import ServiceState
from lake.spec.vocabulary import DISLIKES, Direction
from lake.tables.lake import Lake
from lake.tables.storage import is_remote
from lake.tables.write_probe import WriteProbe, probe_writes
from monitor.detect.limits import LimitSettings
from monitor.detect.limits.unfit import unfit_limits
from monitor.detect.regression import Scale
from monitor.detect.stats.unjoined_signals import UNJOINED_DAYS
from runtime.clocks import SKEW
from runtime.durations import duration

_NOTICED = timedelta(seconds=60)
"""Difference of clocks that a person should know of; rows are right up to an hour."""
_LATELY = timedelta(minutes=5)
"""A heartbeat comes each minute."""
_LEAST_LOST, _LOST_SHARE = 10, 0.1
"""Signals of a deployment that are joined with no answer, and their share, of which a person should know."""
_MOST_CLASSES = 50
"""Deployments that are listed by name."""
_JOIN_ADVICE = "docs/signals.md says how signals are joined, and what helps"
_SCORED_DAYS = 7
_ADVICE = "check lake.root, lake.storage, the space and the permissions"


def check_lake(lake: Lake, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> list[Finding]:
    """Look whether the lake takes rows, and compare its clock and those of the parts with ours."""
    return guarded("lake", partial(_written, lake, clock), _ADVICE)


def check_classes(lake: Lake) -> list[Finding]:
    """Say of each deployment what it does, why, and which metrics are scored for that, as far as it is known."""
    classes = ApplicationClasses(lake)
    classes.look()
    there = {name for name in lake.deployments() if name is not None}
    known = [one for name, one in sorted(classes.known.items()) if name in there]
    unknown = len(there) - len(known)
    found = [well("metrics", f"{in_one_line(one.deployment)} {one.why}") for one in known[:_MOST_CLASSES]]
    if len(known) > _MOST_CLASSES:
        found.append(well("metrics", f"{len(known) - _MOST_CLASSES} more deployments: the page of each says it"))
    if unknown:
        has, it_does = ("1 deployment has", "it does") if unknown == 1 else (f"{unknown} deployments have", "they do")
        found.append(well("metrics", f"{has} too few answers yet to say what {it_does}, or none that people saw"))
    return found


def check_retention(lake: Lake, settings: LakeMaintenanceSettings) -> list[Finding]:
    """Say how old raw texts of people may become in the lake; a warning where nobody has decided it."""
    found = retention_words(lake, settings)
    if found is None:
        return [well("retention", "lake.maintenance.retention says how old raw texts may become")]
    is_open, words = found
    return [warning("retention", words) if is_open else well("retention", words)]


def _written(lake: Lake, clock: Callable[[], datetime]) -> list[Finding]:
    if not is_remote(lake.root) and not Path(lake.root).exists():
        return [_can_be_made(Path(lake.root))]
    probe = probe_writes(lake, clock)
    found = [_writable(lake, probe), _contents(lake, clock), _clock_of("its store", probe.clock_ahead)]
    return [
        *found,
        *guarded("clocks", partial(_heartbeats, lake, clock), _ADVICE),
        *guarded("services", partial(_failing, lake, clock), _ADVICE),
    ]


def _can_be_made(root: Path) -> Finding:
    """Return whether a folder that is not there can be made, without making it."""
    parent = next(folder for folder in root.parents if folder.exists())
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        return well("lake", f"there is no lake in {root} yet: the first start makes it, if lake.root is right")
    return failed("lake", f"there is no lake in {root}, and {parent} cannot be written: {_ADVICE}")


def _contents(lake: Lake, clock: Callable[[], datetime]) -> Finding:
    found = contents_of(lake, clock)
    if found is None:
        return well("lake", "it is empty: nothing was collected yet, or lake.root is mistyped")
    return well("lake", str(found))


def _writable(lake: Lake, probe: WriteProbe) -> Finding:
    if not probe.is_conditional:
        return failed(
            "lake",
            f"{lake.root} writes a name twice: two commits would overwrite each other; take a store that knows "
            "If-None-Match",
        )
    if not probe.can_remove:
        return failed("lake", f"{lake.root} takes files and removes none: give the account the right to delete")
    return well("lake", f"{lake.root} takes rows, and each commit once (conditional writes)")


def _clock_of(whose: str, ahead: timedelta) -> Finding:
    seconds = ahead.total_seconds()
    shown = f"the clock of {whose} is {duration(abs(seconds))} {'ahead of' if seconds > 0 else 'behind'} this one"
    if abs(ahead) > SKEW:
        return failed("clocks", f"{shown}, more than an hour: set them")
    if abs(ahead) > _NOTICED:
        return failed("clocks", f"{shown}: rows are right up to an hour, set them before it grows")
    return well("clocks", f"the clock of {whose} is within {duration(_NOTICED)} of this one")


def _heartbeats(lake: Lake, clock: Callable[[], datetime]) -> list[Finding]:
    """Clocks of hosts whose last heartbeat is later than now. Of one that is behind nothing can be seen so."""
    since = (clock() - SKEW).date()
    rows = lake.table(SERVICES).read(["host", "heartbeat_at"], where=ds.field("date") >= since)
    last = rows.group_by("host").aggregate([("heartbeat_at", "max")]).sort_by("host")
    now = clock()
    ahead = [(row["host"], row["heartbeat_at_max"] - now) for row in last.to_pylist()]
    return [_clock_of(f"host {host}", by) for host, by in ahead if by > _NOTICED]


def check_signals(lake: Lake, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> list[Finding]:
    """Look how many signals of the last week are joined with no answer; nothing where there are no signals."""
    since = clock().astimezone(UTC).date() - timedelta(days=UNJOINED_DAYS - 1)
    every = {name: count_unjoined(lake, name, since) for name in lake.deployments() if name is not None}
    signals = sum(of_all for _, of_all in every.values())
    if not signals:
        return []
    unjoined = sum(reasons.total() for reasons, _ in every.values())
    shown = f"of {signals:,} signals of the last {UNJOINED_DAYS} days {unjoined:,} are joined with no answer"
    lost = [_unjoined(name, reasons, of_all) for name, (reasons, of_all) in every.items() if _are_lost(reasons, of_all)]
    return [failed("signals", f"{shown}. {'; '.join(lost)}. {_JOIN_ADVICE}") if lost else well("signals", shown)]


def check_limits(
    lake: Lake, settings: LimitSettings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> list[Finding]:
    """Look whether each limit of a mean fits a metric with scores of the last week; nothing where there is none."""
    if not any(one.at_least for one in (settings, *settings.deployments.values())):
        return []
    since = clock().astimezone(UTC).date() - timedelta(days=_SCORED_DAYS)
    unfit = unfit_limits(settings, {name: _scales(lake, name, since) for name in lake.deployments() if name})
    return [warning("limits", one) for one in unfit] or [well("limits", "each limit of a mean fits a metric")]


def _scales(lake: Lake, deployment: str, since: date) -> dict[str, Scale | None]:
    columns = ["metric", "direction", "low", "high"]
    rows = lake.table(SCORES, deployment).read(columns, where=ds.field("date") >= since)
    kinds = rows.group_by(columns).aggregate([]).to_pylist()
    rated = {DISLIKES: Scale.of(Direction.DOWN, 0.0, 1.0)} if lake.table(USER_SIGNALS, deployment).version() else {}
    return rated | {one["metric"]: Scale.of(one["direction"], one["low"], one["high"]) for one in kinds}


def _are_lost(reasons: Counter[UnjoinedReason], of_all: int) -> bool:
    return reasons.total() >= max(_LEAST_LOST, _LOST_SHARE * of_all)


def _unjoined(deployment: str, reasons: Counter[UnjoinedReason], of_all: int) -> str:
    why = ", ".join(f"{number:,} {reason}" for reason, number in reasons.most_common())
    return f"{in_one_line(deployment)}: {why}, of {of_all:,}"


def _failing(lake: Lake, clock: Callable[[], datetime]) -> list[Finding]:
    """Parts that run and said of themselves in the last minutes that they fail."""
    since = clock() - _LATELY
    columns = ["part", "host", "since", "heartbeat_at", "state", "error"]
    rows = lake.table(SERVICES).read(columns, where=ds.field("date") >= since.date()).sort_by("heartbeat_at")
    last = {(row["part"], row["host"], row["since"]): row for row in rows.to_pylist() if row["heartbeat_at"] >= since}
    return [
        failed("services", f"the {row['part']} on {row['host']} fails: {row['error']}")
        for row in last.values()
        if row["state"] == ServiceState.FAILING
    ]
