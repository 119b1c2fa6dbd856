"""Changes of what an application asks of its models, looked for day by day, whether anything got worse or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from lake.tables.lake import Lake
from monitor.detect.causes.attribution import SETTINGS, OnsetInterval, changes_around
from monitor.detect.causes.found_change import what_changed
from monitor.detect.causes.reading import CallersOfDays, read_answers

KEPT = timedelta(days=90)
MOST_A_DAY, MOST_NEAR = 100, 200
"""Answers that are read of a day; fewer than for an incident, as each deployment is looked at each day."""
_DAY = timedelta(days=1)
_LONGEST_BACK = 7
"""Days that are made up for after a time without a monitor."""
_SAME = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A changed model, parameter, system prompt or list of tools: when, and in words."""

    at: datetime
    what: str
    feature: str
    subject: str


@dataclass(frozen=True)
class SettingChanges:
    """Changed models, parameters, system prompts and tools of a deployment, the earliest first."""

    next_day: date | None = None
    """The first one that was not looked at; None before the first look."""
    found: tuple[SettingChange, ...] = ()

    def due(self, now: datetime) -> date | None:
        """Return the day to look at; None for none. What follows a day for another day says what changed in it."""
        latest = now.astimezone(UTC).date() - 2 * _DAY
        day = latest if self.next_day is None else max(self.next_day, latest - _LONGEST_BACK * _DAY)
        return day if day <= latest else None

    def with_day(self, day: date, found: Sequence[SettingChange]) -> SettingChanges:
        """Add what was found in a day; a change that is known from the day before is no other one."""
        oldest = datetime.combine(day, time(), UTC) - KEPT
        kept = [one for one in self.found if one.at >= oldest]
        kept += [one for one in found if not any(_is_same(one, other) for other in kept)]
        return SettingChanges(day + _DAY, tuple(sorted(kept, key=lambda one: one.at)))


class DailyChanges:
    """Reader of what changed in a UTC day, by the 7 days before it and the day after it, deployment by deployment.

    Who called whom in a day is read once, for all of them.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._callers = CallersOfDays(lake)

    def prepare(self, day: date, deployments: Sequence[str | None], seconds: float) -> bool:
        """Read for some seconds what `read` needs of all deployments; say whether it has it now."""
        return self._callers.read_for(seconds, *_around(day), deployments)

    def read(self, deployment: str, day: date, deployments: Sequence[str | None]) -> list[SettingChange]:
        """Return what changed in a day; `deployments` are all that there are."""
        onset, until = _around(day)
        called_by = self._callers.around(onset, until, deployments)
        answers = read_answers(self._lake, deployment, onset, until, called_by, (MOST_A_DAY, MOST_NEAR))
        found = (one for one in changes_around(answers, onset, until) if one.feature in SETTINGS)
        return [SettingChange(one.at, what_changed(one), one.feature.value, one.subject) for one in found]


def _around(day: date) -> tuple[OnsetInterval, datetime]:
    begin = datetime.combine(day, time(), UTC)
    return OnsetInterval(begin + _DAY / 2, begin, begin + _DAY), begin + 2 * _DAY


def _is_same(one: SettingChange, other: SettingChange) -> bool:
    return (one.feature, one.subject) == (other.feature, other.subject) and abs(one.at - other.at) < _SAME
