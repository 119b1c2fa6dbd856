"""Reading of the answers around an onset: a bounded sample, denser near the onset.

And of the texts that changed, with their differences, when somebody who may read texts asks.
"""

from __future__ import annotations

import difflib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from time import monotonic

from lake.queries.sampled_answers import callers, request_of_answer, sampled_answers
from lake.tables.lake import Lake
from monitor.detect.causes.answer_features import logged_answer, system_prompt, tools_text
from monitor.detect.causes.attribution import DAYS_BEFORE, LONGEST_AFTER, OnsetInterval, changes_around
from monitor.detect.causes.features import SPECS, Feature
from monitor.detect.causes.found_change import AroundOnset, FoundChange, LoggedAddress
from monitor.detect.causes.logged_answer import AnswerFeatures

MOST_A_DAY, MOST_NEAR = 350, 1_000
"""Answers a day of the days before, and of each day around the onset."""
_NEAR = timedelta(days=1)
_PROBED = timedelta(hours=12)
_MOST_KEPT = 8
MOST_LINES, MOST_CHARACTERS = 200, 500
"""Lines of a difference, and characters of each."""
_LONGEST = 100_000
"""Of a text that is compared."""

_AT_ONCE = 16
"""Deployments whose callers are read together: of a store at once."""
_Days = tuple[date, date, tuple[str | None, ...]]
"""First and last day, and the deployments."""
CalledBy = Mapping[str | None, frozenset[str]]
"""The callers of each deployment that has some."""


class CallersOfDays:
    """Reader of who called whom in whole days, which is kept: incidents that begin together ask for the same."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._known: OrderedDict[_Days, dict[str | None, frozenset[str]]] = OrderedDict()
        self._unread: dict[_Days, list[str | None]] = {}
        """Deployments that are still to be read, of those of which a part is known."""

    def around(self, onset: OnsetInterval, until: datetime, deployments: Sequence[str | None]) -> CalledBy:
        """Return who called each of these deployments in the days around an onset."""
        days = _days(onset, until, deployments)
        while not self._read_some(days):
            pass
        return self._known[days]

    def read_for(
        self, seconds: float, onset: OnsetInterval, until: datetime, deployments: Sequence[str | None]
    ) -> bool:
        """Read for some seconds of what `around` would give; say whether it gives it at once now."""
        days, end = _days(onset, until, deployments), monotonic() + seconds
        while not (is_read := self._read_some(days)) and monotonic() < end:
            pass
        return is_read

    def _read_some(self, days: _Days) -> bool:
        """Read some deployments that are unread; say whether none is left."""
        first, last, deployments = days
        if days not in self._known:
            self._known[days], self._unread[days] = {}, list(deployments)
            while len(self._known) > _MOST_KEPT:
                self._unread.pop(self._known.popitem(last=False)[0], None)
        if unread := self._unread.get(days):
            begin, end = datetime.combine(first, time(), UTC), datetime.combine(last + timedelta(days=1), time(), UTC)
            self._known[days] |= callers(self._lake, unread[:_AT_ONCE], begin, end)
            del unread[:_AT_ONCE]
        return not unread

    def forget(self) -> None:
        """Have all be read anew, as calls of today go on."""
        self._known.clear()
        self._unread.clear()


def _days(onset: OnsetInterval, until: datetime, deployments: Sequence[str | None]) -> _Days:
    first = (onset.earliest - _PROBED).astimezone(UTC).date()
    last = min(until, onset.latest + LONGEST_AFTER).astimezone(UTC).date()
    return first, last, tuple(sorted(deployments, key=str))


def read_answers(
    lake: Lake,
    deployment: str,
    onset: OnsetInterval,
    until: datetime,
    called_by: CalledBy,
    most: tuple[int, int] = (MOST_A_DAY, MOST_NEAR),
    older_version: str | None = None,
) -> list[AnswerFeatures]:
    """Read the answers from 7 days before an onset to a day after it, or to `until`, with their features.

    `called_by` is what `CallersOfDays` gives; `most` answers are read of a day before, and of each near the onset.
    Those before the onset are of the `older_version` where one is given: then the onset is a release.
    """
    end = min(until, onset.latest + LONGEST_AFTER)
    begin, near = onset.earliest - timedelta(days=DAYS_BEFORE), onset.earliest - _NEAR
    parts = [(deployment, begin, near, most[0]), (deployment, near, end, most[1])]
    if older_version is not None:
        parts = [
            (older_version, begin, near, most[0]),
            (older_version, near, onset.earliest, most[1]),
            (deployment, onset.earliest, end, most[1]),
        ]
    return [
        logged_answer(one, name)
        for name, since, to, most in parts
        for one in sampled_answers(lake, name, since, to, most, _called_by(name, called_by))
    ]


def _called_by(deployment: str, called_by: CalledBy) -> list[str | None]:
    return [name for name, callers in called_by.items() if deployment in callers]


def around_onset(
    lake: Lake,
    deployment: str,
    onset: OnsetInterval,
    until: datetime,
    called_by: CalledBy,
    older_version: str | None = None,
) -> AroundOnset:
    """Read the answers around an onset and return what changed; see `read_answers` and `changes_around`."""
    answers = read_answers(lake, deployment, onset, until, called_by, older_version=older_version)
    return AroundOnset(len(answers), changes_around(answers, onset, until))


@dataclass(frozen=True)
class TextDifference:
    """A unified difference of a text before and after an onset; `left_out` lines of it are not given."""

    name: str
    subject: str
    lines: Sequence[str]
    left_out: int = 0


def differences(lake: Lake, deployment: str, changes: Sequence[FoundChange]) -> list[TextDifference]:
    """Return the differences of the texts among these changes; none of one whose answers have left the log."""
    found = []
    for change in changes:
        if change.feature in (Feature.SYSTEM_PROMPT, Feature.TOOLS):
            before, after = (
                _text(lake, deployment, change, one) for one in (change.answer_before, change.answer_after)
            )
            if before is not None and after is not None:
                found.append(_difference(change, before, after))
    return found


def _text(lake: Lake, deployment: str, change: FoundChange, address: LoggedAddress | None) -> str | None:
    if address is None:
        return None
    body = request_of_answer(lake, deployment, address.date, address.event_id, change.subject)
    text = system_prompt(body) if change.feature is Feature.SYSTEM_PROMPT else tools_text(body)
    return None if text is None else text[:_LONGEST]


def _difference(change: FoundChange, before: str, after: str) -> TextDifference:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=2, lineterm=""))
    shown = [line[:MOST_CHARACTERS] for line in lines[:MOST_LINES]]
    return TextDifference(SPECS[change.feature].words, change.subject, shown, len(lines) - len(shown))
