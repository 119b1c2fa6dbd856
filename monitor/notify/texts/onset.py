"""Since when something is worse, in words: as exact as it is known, and no more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from lake.spec.alert_vocabulary import OnsetKind
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import Incident
from monitor.detect.regression import Reading
from monitor.notify.texts.plain import time

_DAYS, _HOUR, _DAY = timedelta(days=2), timedelta(hours=1), timedelta(days=1)
_Interval = tuple[datetime | None, datetime | None, datetime | None]
"""The likely time, the earliest and the latest."""


def likely_onset(known: AlertChange | Reading) -> datetime | None:
    """Return since when it most likely is worse, as exact as it is known: to the minute, else to the hour."""
    interval, kind, _ = _of(known)
    at = interval[0]
    return at if at is None or kind == OnsetKind.RELEASE or _width(interval) < _HOUR else _nearest_hour(at)


def incident_onset(incident: Incident) -> datetime:
    """Return when an incident began, as exact as that is known.

    Of an open one it is when what its sentence says began, of one that is over the earliest beginning of its alerts.
    """
    if incident.ended_at is None:
        return likely_onset(incident.foremost) or incident.opened_at
    return min(likely_onset(one) or one.fired_at for one in incident.alerts)


class OnsetWords:
    """Writes onsets, with times and days as `moment` and `day` write them."""

    def __init__(self, moment: Callable[[datetime], str], day: Callable[[datetime], str]) -> None:
        """`moment` writes a time to the minute."""
        self._moment, self._day = moment, day

    def onset(self, known: AlertChange | Reading) -> str:
        """Say since when and how, with the interval: "gradually, since about 2026-03-03 (between ... and ...)"."""
        interval, kind, hours = _of(known)
        return self._begin(interval, kind, hours, "about ") + self._between(interval, kind)

    def brief_onset(self, known: AlertChange | Reading) -> str:
        """Say since when and how, without the interval: "since 2026-03-03 14:00 UTC"."""
        interval, kind, hours = _of(known)
        about = "about " if _width(interval) >= _DAYS else ""
        return self._begin(interval, kind, hours, about).replace(", since", " since")

    def _begin(self, interval: _Interval, kind: OnsetKind | None, hours: tuple[int, int] | None, about: str) -> str:
        at, width = interval[0], _width(interval)
        if at is None:
            return f"since {about}{time(None)}"
        if kind == OnsetKind.RECURRING and hours is not None:
            day = f"{'about ' if width >= _DAY else ''}{self._day(at)}"
            return f"each day between {hours[0]} and {hours[1]} UTC, since {day}"
        if kind == OnsetKind.RELEASE:
            return f"since its first answer, {self._moment(at)}"
        begin = f"since {about}{self._rounded(_nearest_hour(at) if width >= _HOUR else at, width)}"
        return f"gradually, {begin}" if kind == OnsetKind.GRADUAL else begin

    def _between(self, interval: _Interval, kind: OnsetKind | None) -> str:
        _, earliest, latest = interval
        width = _width(interval)
        if earliest is None or latest is None or not width or (kind == OnsetKind.RECURRING and width < _DAY):
            return ""
        if kind == OnsetKind.RECURRING:
            width = max(width, _DAYS)
        if _HOUR <= width < _DAYS:
            # Both ends outwards, so that the interval holds what it held.
            earliest, latest = _hour(earliest), _hour(latest + _HOUR - timedelta.resolution)
        return f" (between {self._rounded(earliest, width)} and {self._rounded(latest, width)})"

    def _rounded(self, at: datetime, width: timedelta) -> str:
        return self._day(at) if width >= _DAYS else self._moment(at)


def _of(known: AlertChange | Reading) -> tuple[_Interval, OnsetKind | None, tuple[int, int] | None]:
    has = known.details if isinstance(known, AlertChange) else known
    return (known.since, has.since_earliest, has.since_latest), has.onset, has.onset_hours


def _width(interval: _Interval) -> timedelta:
    _, earliest, latest = interval
    return latest - earliest if earliest is not None and latest is not None else timedelta(0)


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _nearest_hour(at: datetime) -> datetime:
    return _hour(at + _HOUR / 2)


def _utc_day(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}"


_WORDS = OnsetWords(time, _utc_day)
onset, brief_onset = _WORDS.onset, _WORDS.brief_onset
