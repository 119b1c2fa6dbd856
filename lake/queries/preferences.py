"""Preferences of a judge between answers, of replays and of logged ones: read, and added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lake.spec.case_vocabulary import PREFERENCE
from lake.spec.preference_tables import PREFERENCES
from lake.tables.day_reading import DayReader
from lake.tables.lake import Lake
from runtime.sign_test import sign_test

EARLIER, TIE, LATER = 0.0, 0.5, 1.0
"""Values of `PREFERENCE` in `replays.scores`, and of `preferences.value`."""
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Preferences:
    """How many answers a judge prefers to the earlier ones to the same questions (`later`), and the other way round.

    Of `undecided` pairs nothing is known: the judge chose otherwise when the answers changed places, or gave no reply.
    `probability` is that of the sign test: of counts so uneven where the judge prefers either side as often.
    """

    later: int
    earlier: int
    ties: int
    undecided: int
    probability: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Preferences | None:
        """Add up what was said of pairs, None of an undecided one; None where no judge was asked."""
        counts = Counter(values)
        if not counts:
            return None
        later, earlier = counts[LATER], counts[EARLIER]
        return cls(later, earlier, counts[TIE], counts[None], sign_test(later, earlier))


def preferences_in(row: Mapping[str, Any]) -> list[float | None]:
    """Return the preference in a row of `replays`, None for an undecided one; nothing where no judge was asked."""
    return [score["value"] for score in row["scores"] or () if score["metric"] == PREFERENCE]


@dataclass(frozen=True)
class LoggedAnswers:
    """Answers that people got of a deployment, of the UTC days from `since` to `until`, both included.

    Of the first and the last day it may be a part: from the time `start` on, and before the time `end`.
    """

    deployment: str | None
    since: date
    until: date
    start: datetime | None = None
    end: datetime | None = None

    @property
    def asked(self) -> tuple[datetime, datetime]:
        """When these were asked: from a time on, and before one."""
        first, last = (datetime.combine(day, time(), UTC) for day in (self.since, self.until + _DAY))
        return self.start or first, self.end or last

    @property
    def whole_days(self) -> tuple[date, date]:
        """The first and the last day of which these are all answers."""
        return self.since + _DAY if self.start else self.since, self.until - _DAY if self.end else self.until

    def overlap(self, other: LoggedAnswers) -> bool:
        """Whether an answer can be one of both."""
        return self.deployment == other.deployment and self.since <= other.until and other.since <= self.until


def kept_preferences(lake: Lake, earlier: LoggedAnswers, later: LoggedAnswers) -> list[dict[str, Any]]:
    """Return the rows of `preferences` whose answers are these, in the order in which the judge was asked.

    The rows know days alone: of a day that a side has only a part of none is returned.
    """
    (first, last), (earlier_first, earlier_last) = later.whole_days, earlier.whole_days
    name = ds.field("earlier_deployment")
    day = ds.field("earlier_date")
    where = name.is_null() if earlier.deployment is None else name == earlier.deployment
    where &= (day >= pa.scalar(earlier_first)) & (day <= pa.scalar(earlier_last))
    reader = DayReader(lake.table(PREFERENCES, later.deployment), first, last)
    rows: list[dict[str, Any]] = reader.read(PREFERENCES.schema.names, where).to_pylist()
    return sorted(rows, key=_when_judged)


def preferences_of_sides(lake: Lake, earlier: LoggedAnswers, later: LoggedAnswers) -> list[dict[str, Any]]:
    """Return the rows of `kept_preferences`, and turned round those of pairs whose sides were asked about swapped."""
    rows = {row["preference_id"]: _swapped(row) for row in kept_preferences(lake, later, earlier)}
    rows |= {row["preference_id"]: row for row in kept_preferences(lake, earlier, later)}
    return sorted(rows.values(), key=_when_judged)


def _swapped(row: dict[str, Any]) -> dict[str, Any]:
    sides = {"event_id": row["earlier_event_id"], "earlier_event_id": row["event_id"]}
    return row | sides | {"value": opposite(row["value"])}


def opposite(value: float | None) -> float | None:
    """Return what a preference is where its two answers change places."""
    return None if value is None else EARLIER + LATER - value


def _when_judged(row: dict[str, Any]) -> tuple[datetime, str]:
    return row["judged_at"], row["preference_id"]


def counted_preferences(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, of rows of `kept_preferences`, those that count together: one a question, so that each counts once.

    They are of the version of a judge that was asked last, and of each question the last.
    """
    if not rows:
        return []
    version = rows[-1]["judge_version"]
    return list({row["question_key"]: row for row in rows if row["judge_version"] == version}.values())
