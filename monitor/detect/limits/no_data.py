"""Detector of deployments that get no requests for longer than is usual at the time of day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import numpy as np
import pyarrow as pa

from lake.spec.alert_vocabulary import AlertEvent, LimitKind
from lake.spec.deployment_families import Families
from monitor.detect.limits.minute_counts import Numbers
from monitor.detect.limits.results import LimitChange, LimitDetails

SHORTEST = timedelta(hours=1)
"""A shorter silence is none, however busy the deployment is."""
HISTORY, LEAST_HISTORY = timedelta(days=28), timedelta(days=14)
PENDING = timedelta(minutes=5)
"""So long a silence must be seen before it fires: tables of one batch are not written in one instant."""
_NEWS = timedelta(days=3)
_AROUND = timedelta(hours=3)
_ENOUGH_PAUSES = 20
_SLOT = timedelta(minutes=5)
_DAY = timedelta(days=1) // _SLOT
_Value = TypeVar("_Value")


@dataclass(slots=True, init=False, eq=False)
class RequestTimes:
    """The slots of five minutes in which a deployment had requests, of the four weeks before the last one."""

    _slots: Numbers

    def __init__(self) -> None:
        self._slots = np.empty(0, np.int64)

    def add(self, at: pa.ChunkedArray, now: datetime) -> None:
        """Take in the times of requests (none null), without those that are in the future."""
        slots = np.asarray(at.cast(pa.int64()).to_numpy(), np.int64) // (_SLOT // timedelta(microseconds=1))
        slots = slots[slots <= _slot(now)]
        if not slots.size:
            return
        oldest = max([int(slots.max()), *self._slots[-1:].tolist()]) - HISTORY // _SLOT + 1
        every = np.concatenate([self._slots, slots]) - oldest
        # Years of rows come at once, and to sort them would take minutes.
        self._slots = np.flatnonzero(np.bincount(every[every >= 0])) + oldest

    def with_earlier(self, others: Iterable[RequestTimes]) -> RequestTimes:
        """Return these with the slots of others before the last one."""
        joined = RequestTimes()
        every = np.unique(np.concatenate([self._slots, *(one._slots for one in others)]))
        last = self._slots[-1] if self._slots.size else 0
        joined._slots = every[(every <= last) & (every > last - HISTORY // _SLOT)]
        return joined

    @property
    def until(self) -> datetime | None:
        """The end of the last five minutes with a request; None without any."""
        return _time(int(self._slots[-1]) + 1) if self._slots.size else None

    @property
    def is_known(self) -> bool:
        """Whether there are two weeks of history."""
        return self.length >= LEAST_HISTORY

    @property
    def length(self) -> timedelta:
        """From the first request that is remembered to the last."""
        return int(self._slots[-1] - self._slots[0]) * _SLOT if self._slots.size else timedelta(0)

    def silent_since(self, now: datetime) -> datetime | None:
        """Return `until` if that is an hour ago or longer, and longer than the usual pause as far as that is known."""
        if self.until is None or now - self.until < SHORTEST:
            return None
        usual = self.usual_pause()
        return self.until if usual is None or now - self.until > usual else None

    def usual_pause(self) -> timedelta | None:
        """Return the longest pause that began within three hours of the time of day of the last request.

        Of all pauses where fewer than 20 began then; None with less than two weeks of history.
        """
        slots = self._slots
        if not self.is_known:
            return None
        pauses, apart = np.diff(slots), (slots[:-1] - slots[-1]) % _DAY
        near = pauses[np.minimum(apart, _DAY - apart) <= _AROUND // _SLOT]
        return int((near if near.size >= _ENOUGH_PAUSES else pauses).max()) * _SLOT


class NoDataDetector:
    """Detector of silence, of all deployments.

    A silence fires once it is longer than an hour and than `factor` times the usual pause
    (`RequestTimes.usual_pause`). It is measured up to the newest request of any deployment, so that a collector that
    is behind or down silences none of them. Where all are silent it is measured up to now, and one alert stands for
    all. It is over with the next request, or after four weeks. What should have fired more than three days ago does not
    fire any more. A version of an application is not silent where another one has later requests.
    """

    def __init__(self) -> None:
        self.errors: dict[str, Exception] = {}
        """Of the last look: deployments in which an error arose; nothing is said of their silence."""
        self._pending: dict[str, datetime] = {}

    def look(
        self,
        request_times: Mapping[str, RequestTimes],
        factor_of: Callable[[str], float | None],
        opened: Mapping[str, datetime],
        now: datetime,
        replaced: Mapping[str, str] | None = None,
    ) -> list[LimitChange]:
        """Return what begins or ends; `opened` says when the open alerts fired, `replaced` by which version."""
        others = replaced or {}
        self.errors = {}
        lasts = self._of_each(request_times, lambda name: request_times[name].until)
        newest = max(lasts.values(), default=now)
        over = [
            change for name, at in opened.items() if (change := _over(name, at, lasts.get(name), now, others.get(name)))
        ]
        due = self._of_each(
            (name for name in lasts if name not in opened and name not in others),
            lambda name: _due(name, request_times[name], factor_of(name), lasts[name], newest, now),
        )
        firing = _one_for_all_silent(due, opened, newest)
        # Where the clock was set back, the time in which it was seen begins anew.
        self._pending = {name: min(self._pending.get(name, now), now) for name in firing}
        return [*over, *(firing[name] for name, seen in self._pending.items() if now - seen >= PENDING)]

    def _of_each(self, names: Iterable[str], value_of: Callable[[str], _Value | None]) -> dict[str, _Value]:
        """Return the values of the deployments that have one."""
        found = {}
        for name in names:
            try:
                value = value_of(name)
            except Exception as error:
                self.errors[name] = error
                continue
            if value is not None:
                found[name] = value
        return found


def replaced_versions(request_times: Mapping[str, RequestTimes], families: Families) -> dict[str, str]:
    """Return the versions after whose last request another one of the family had some, with the latest of these."""
    found: dict[str, str] = {}
    for members in families.of(request_times):
        untils = {name: until for name in members if (until := request_times[name].until) is not None}
        latest = max(untils, key=lambda name: untils[name], default="")
        found |= {name: latest for name, until in untils.items() if until < untils[latest]}
    return found


def with_history_of_families(
    request_times: Mapping[str, RequestTimes], families: Families
) -> Mapping[str, RequestTimes]:
    """Return the request times; each version with those of the others, so that a new one knows the usual pauses."""
    joined = dict(request_times)
    for members in families.of(request_times):
        joined |= {name: request_times[name].with_earlier([request_times[one] for one in members]) for name in members}
    return joined


def _due(
    name: str, times: RequestTimes, factor: float | None, last: datetime, newest: datetime, now: datetime
) -> LimitChange | None:
    """Return the alert of a deployment that is silent for too long; None where it is not."""
    if factor is None or now - last < SHORTEST:
        return None
    usual = times.usual_pause()
    if usual is None:
        return None
    limit = max(SHORTEST, factor * usual)
    is_due = last + limit <= now and now - last - limit <= _NEWS
    return _firing(name, last, limit, usual, newest) if is_due else None


def _one_for_all_silent(
    due: Mapping[str, LimitChange], opened: Mapping[str, datetime], newest: datetime
) -> dict[str, LimitChange]:
    """Return those that were silent while another one was not, and the first one of the others if none is open."""
    firing = {name: change for name, change in due.items() if change.at <= newest}
    together = sorted((change.at, name) for name, change in due.items() if change.at > newest)
    if together and not any(at > newest for at in opened.values()):
        name = together[0][1]
        firing[name] = due[name]
    return firing


def _firing(name: str, last: datetime, limit: timedelta, usual: timedelta, newest: datetime) -> LimitChange:
    details = LimitDetails(
        limit_seconds=limit.total_seconds(), usual_seconds=usual.total_seconds(), all_silent=last + limit > newest
    )
    reason = "the silence is longer than any that is usual"
    return LimitChange(name, LimitKind.NO_DATA, AlertEvent.FIRING, last + limit, reason, since=last, details=details)


def _over(name: str, fired: datetime, last: datetime | None, now: datetime, other: str | None) -> LimitChange | None:
    if last is not None and last > fired:
        return LimitChange(name, LimitKind.NO_DATA, AlertEvent.RESOLVED, last, "there are requests again", back_at=last)
    if other is not None:
        reason = f"requests go to {other}, another version"
        return LimitChange(name, LimitKind.NO_DATA, AlertEvent.RESOLVED, now, reason)
    if now - fired > HISTORY:
        return LimitChange(
            name, LimitKind.NO_DATA, AlertEvent.RESOLVED, fired + HISTORY, "no request for four weeks: none is expected"
        )
    return None


def _slot(at: datetime) -> int:
    return int(at.timestamp() // _SLOT.total_seconds())


def _time(slot: int) -> datetime:
    return datetime.fromtimestamp(slot * _SLOT.total_seconds(), UTC)
