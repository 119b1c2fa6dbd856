"""States of the parts of dialwatch on all hosts, from their heartbeats: running, failing, silent or stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pyarrow.dataset as ds

from lake.spec.heartbeat import Heartbeat
from lake.spec.root_tables import SERVICES
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from runtime.clocks import SKEW
from runtime.durations import duration

SILENT = "silent"
"""State of a run that neither says that it lives nor that it was stopped."""

SILENT_AFTER = timedelta(minutes=5)
_MISSED_FOR, _ALONE_MISSED_FOR = timedelta(days=1), timedelta(days=28)
"""How long a run without heartbeats is missed where another one of its part is at work, and where none is."""
_PARTS, _STATES = tuple(part.value for part in ServicePart), frozenset(state.value for state in ServiceState)
_COLUMNS = [name for name in SERVICES.schema.names if name != "date"]

Run = tuple[str, str, datetime]


@dataclass(frozen=True)
class PartState:
    """One run of a part: `state` is running, failing, silent or stopped, `problem` says in words what is wrong."""

    part: str
    host: str
    state: str
    since: datetime
    last_heartbeat: datetime
    last_success: datetime | None
    last_error: datetime | None
    error: str | None
    problem: str | None = None

    @property
    def healthy(self) -> bool:
        """Whether it is at work, or was stopped as somebody asked."""
        return self.problem is None


@dataclass(frozen=True)
class _Heard:
    """The last row of a run, and when it came to us: a time of the monotonic clock; None for long ago.

    `ahead` is how much later its clock was then than ours. `first` and `last` are when the first and the last row came
    of those that were written since our first look; None where there is none of them, or one was there before.
    """

    heartbeat: Heartbeat
    at: float | None
    ahead: timedelta
    first: float | None
    last: float | None

    def is_replaced_by(self, host: str, since: datetime, first: float | None) -> bool:
        """Whether another run of the part, that began at `since` by its host's clock, took the place of this one.

        Clocks of hosts differ, so the order counts in which the rows of both came to us. Of a run without a row since
        our first look only the clocks are known; that of its own host may have been set back meanwhile.
        """
        if self.last is not None:
            return first is not None and first > self.last
        return since > self.heartbeat.heartbeat_at - (SKEW if host == self.heartbeat.host else timedelta(0))


class HeartbeatReader:
    """Reader of the heartbeats in `_services`.

    Hosts' clocks differ by up to an hour, so that a run counts as silent when no row of it came for some minutes of
    this process's own time. Only of what was there before the first look the age must be taken from the row.
    """

    def __init__(self, lake: Lake, clock: Callable[[], datetime], monotonic: Callable[[], float]) -> None:
        self._lake = lake
        self._table = lake.table(SERVICES)
        self._clock = clock
        self._monotonic = monotonic
        self._version: int | None = None
        self._began_at = self._looked_at = monotonic()
        self._heard: dict[Run, _Heard] = {}

    def look(self) -> None:
        """Take in what is new. What the store raises is passed on; the same rows come again."""
        now, at = self._clock(), self._monotonic()
        recent = ds.field("date") >= (now - _ALONE_MISSED_FOR - SKEW).date()
        try:
            change = self._table.read_since(self._version, _COLUMNS, where=recent)
        except Exception:
            # The table may have been removed and made anew.
            self._table, self._version = self._lake.table(SERVICES), None
            raise
        is_news = self._version is not None and not change.repeats
        rows = change.rows if is_news else change.rows.sort_by("heartbeat_at")
        # A new mapping: other threads look at the one that there is.
        heard = {
            run: one for run, one in self._heard.items() if now - one.heartbeat.heartbeat_at <= _ALONE_MISSED_FOR + SKEW
        }
        for row in rows.to_pylist():
            if row["part"] not in _PARTS or row["state"] not in _STATES:
                continue  # of a later version
            heartbeat = Heartbeat(**row | {"part": ServicePart(row["part"]), "state": ServiceState(row["state"])})
            known, ahead = heard.get(heartbeat.run), heartbeat.heartbeat_at - now
            if known is None or is_news or _is_later(heartbeat, known.heartbeat):
                is_recent = is_news or -(SKEW + SILENT_AFTER) <= ahead <= SKEW
                heard_at = at if is_recent else None
                first = (at if is_news else None) if known is None else known.first
                last = at if is_news else (None if known is None else known.last)
                heard[heartbeat.run] = _Heard(heartbeat, heard_at, ahead, first, last)
        self._heard, self._version, self._looked_at = heard, change.version, at

    def states(self, own: Sequence[Heartbeat]) -> tuple[PartState, ...]:
        """Return the state of each part; `own` are heartbeats of this process, which need not come through the lake."""
        now = self._clock()
        runs = {run: self._state(heard) for run, heard in self._heard.items()}
        runs |= {heartbeat.run: _own_words(heartbeat) for heartbeat in own}
        # Runs of this process began before it looked, whenever their own rows came.
        first = {run: heard.first for run, heard in self._heard.items()}
        first |= {heartbeat.run: self._began_at for heartbeat in own}
        found = [one for run, one in runs.items() if not self._is_over(run, runs, first, now)]
        return tuple(sorted(found, key=lambda one: (_PARTS.index(one.part), one.host, one.since)))

    def _state(self, heard: _Heard) -> PartState:
        state, heartbeat = _own_words(heard.heartbeat), heard.heartbeat
        if heartbeat.state is ServiceState.STOPPED:
            return state
        unheard = None if heard.at is None else self._looked_at - heard.at
        if unheard is None or unheard > SILENT_AFTER.total_seconds():
            how_long = "" if unheard is None else f" for {duration(unheard)}"
            said = f" and said: {heartbeat.error}" if heartbeat.state is ServiceState.FAILING else ""
            problem = f"no heartbeat{how_long}; the last was at {heartbeat.heartbeat_at:%Y-%m-%d %H:%M} UTC{said}"
            return replace(state, state=SILENT, problem=problem)
        if not -(SKEW + SILENT_AFTER) <= heard.ahead <= SKEW:
            order = "ahead of" if heard.ahead > SKEW else "behind"
            problem = f"the clock of this host is {duration(abs(heard.ahead))} {order} the monitor's: set it"
            return replace(state, state=ServiceState.FAILING.value, problem=problem)
        return state

    def _is_over(
        self, run: Run, runs: Mapping[Run, PartState], first: Mapping[Run, float | None], now: datetime
    ) -> bool:
        """Whether a run that is silent or was stopped is of no interest any more.

        `first` is when the first row of each run came; None where it was there before we looked.
        """
        one = runs[run]
        others = {key: other for key, other in runs.items() if other.part == one.part and key != run}
        if one.state == ServiceState.STOPPED:
            return any(other.state != ServiceState.STOPPED or other.since > one.since for other in others.values())
        if one.state != SILENT:
            return False
        silent = self._heard[run]
        if any(silent.is_replaced_by(other.host, other.since, first[key]) for key, other in others.items()):
            return True
        is_alone = not any(other.state in (ServiceState.RUNNING, ServiceState.FAILING) for other in others.values())
        return now - one.last_heartbeat > (_ALONE_MISSED_FOR if is_alone else _MISSED_FOR)


def _is_later(heartbeat: Heartbeat, than: Heartbeat) -> bool:
    """Whether a row of a run is the later one; where the clock was set back the last may not have the latest time."""
    if than.state is ServiceState.STOPPED or heartbeat.state is ServiceState.STOPPED:
        return heartbeat.state is ServiceState.STOPPED
    return heartbeat.heartbeat_at > than.heartbeat_at


def _own_words(heartbeat: Heartbeat) -> PartState:
    """Return the state that a run says of itself."""
    problem = heartbeat.error or "a step failed" if heartbeat.state is ServiceState.FAILING else None
    times = (heartbeat.since, heartbeat.heartbeat_at, heartbeat.last_success, heartbeat.last_error)
    return PartState(heartbeat.part.value, heartbeat.host, heartbeat.state.value, *times, heartbeat.error, problem)
