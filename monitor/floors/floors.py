"""Checks of all floors of all deployments: new rows in, alerts that begin or end out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.answer_kinds import answer_kind_of
from lake.vocabulary import REFUSAL, VISIBLE, AlertEvent, AnswerKind, Floor, UnscoredReason, asks_llm
from monitor.floors.callers import RECENT, Callers
from monitor.floors.judge_drift import changes_of_judges
from monitor.floors.minute_counts import KEPT, MinuteCounts
from monitor.floors.no_data import LEAST_HISTORY, NoDataDetector, RequestTimes
from monitor.floors.replays import changes_of_replays
from monitor.floors.results import FloorChange, FloorReading
from monitor.floors.settings import FloorSettings
from monitor.floors.shares import ShareFloor
from monitor.regression import JudgeReading
from monitor.stats.replays import ReplayStats
from monitor.stats.requests import failed, failure_reasons, production
from monitor.stats.sums import floats

_ANSWER_COLUMNS = (
    "requested_at", "status", "error", "is_entry", "finish_reason", "answer_kind", "origin", "parent_deployment",
)  # fmt: skip
ANSWER_COLUMNS = {name: pc.field(name) for name in _ANSWER_COLUMNS} | {
    "has_text": pc.match_substring_regex(pc.field("answer"), VISIBLE)
}
"""Of `parsed_logs`; whether an answer has a visible character is asked, never its text."""
_SHARES = tuple(floor for floor in Floor if floor not in (Floor.NO_DATA, Floor.REPLAY, Floor.JUDGE_DRIFT))
_BUDGET = UnscoredReason.JUDGE_BUDGET
"""The reason of an evaluation that was not made because the money for it is spent, as configured."""
LastChanges = Mapping[tuple[str, Floor], tuple[bool, datetime]]
"""Of each floor that has had an alert: whether it is open, and when its last change happened, in event time."""
Readings = Mapping[str, Mapping[Floor, FloorReading]]
"""How each floor of each deployment stands."""


@dataclass
class Counts:
    """Counts of one deployment."""

    minutes: dict[Floor, MinuteCounts] = field(default_factory=lambda: defaultdict(MinuteCounts))
    request_times: RequestTimes = field(default_factory=RequestTimes)
    callers: Callers = field(default_factory=Callers)
    answered_since: datetime | None = None
    """Time of the first request that was answered. Without one silence is none: anybody may try a name once."""


class Floors:
    """Counts of requests, answers and evaluations by minute of event time, checked against the floors.

    The result depends only on the rows of the last days, the last recorded change of each alert, and the clock. So it
    does not matter in which portions rows come, how late they come, or how often the process is restarted.
    """

    def __init__(self, settings: FloorSettings) -> None:
        self._settings = settings
        self._counts: dict[str, Counts] = defaultdict(Counts)
        self._no_data = NoDataDetector()

    def counts_of(self, deployment: str) -> Counts | None:
        """Give the counts of a deployment, to be kept; None where there are none."""
        return self._counts.get(deployment)

    def forget(self, deployment: str) -> None:
        """Forget a deployment."""
        self._counts.pop(deployment, None)

    def restore(self, deployment: str, counts: Counts) -> None:
        """Go on with counts that were kept."""
        self._counts[deployment] = counts

    def add_logs(self, deployment: str, rows: pa.Table, now: datetime) -> None:
        """Count rows of `parsed_logs` (columns of `monitor.stats.requests.LOG_COLUMNS`)."""
        rows = production(rows)
        rows = rows.filter(pc.is_valid(rows["requested_at"]))
        if not rows.num_rows:
            return
        counts = self._counts[deployment]
        bad = failed(rows)
        answered = pc.min(rows["requested_at"].filter(pa.array(~bad))).as_py()
        counts.answered_since = min(filter(None, (counts.answered_since, answered)), default=None)
        counts.request_times.add(rows["requested_at"], now)
        counts.minutes[Floor.ERRORS].add(rows["requested_at"], bad, failure_reasons(rows), now)

    def add_answers(self, deployment: str, rows: pa.Table, now: datetime) -> None:
        """Count rows of `parsed_logs` (columns ANSWER_COLUMNS) that are whole answers to a person, and who called."""
        rows = production(rows)
        if rows.num_rows:
            self._counts[deployment].callers.add(rows)
        is_asked = pc.and_(pc.fill_null(rows["is_entry"], False), pc.is_valid(rows["requested_at"]))
        rows = rows.filter(pc.and_(is_asked, pa.array(~failed(rows))))
        kinds = _answer_kinds(rows)
        # Of a secured key nobody knows the answer.
        seen = np.array([kind is not None for kind in kinds], np.bool_)
        is_empty = np.array([kind == AnswerKind.EMPTY for kind in kinds], np.bool_)[seen]
        rows = rows.filter(pa.array(seen))
        why = pc.binary_join_element_wise("finish_reason", rows["finish_reason"], " ")
        self._counts[deployment].minutes[Floor.EMPTY_ANSWERS].add(rows["requested_at"], is_empty, why, now)

    def add_scores(self, deployment: str, rows: pa.Table, now: datetime) -> None:
        """Count rows of `scores` (columns of `monitor.stats.scores.SCORE_COLUMNS`), but those of a backfill."""
        kept = pa.scalar(now - KEPT, rows["requested_at"].type)
        recent = pc.or_kleene(pc.greater_equal(rows["requested_at"], kept), pc.greater_equal(rows["scored_at"], kept))
        rows = rows.filter(pc.and_kleene(recent, pc.invert(pc.fill_null(rows["is_backfill"], False))))
        valid = pc.and_(pc.is_valid(rows["requested_at"]), pc.is_valid(rows["value"]))
        refusals = rows.filter(pc.and_(pc.fill_null(pc.equal(rows["metric"], REFUSAL), False), valid))
        refused = floats(refusals["value"]) > 0
        judges = filter(asks_llm, rows["judge"].unique().to_pylist())
        asked = pc.is_in(rows["judge"], pa.array(judges, pa.string()))
        judged = rows.filter(pc.and_(asked, pc.is_valid(rows["scored_at"])))
        of_judge = pc.and_(pc.starts_with(judged["reason"], "judge_"), pc.not_equal(judged["reason"], _BUDGET))
        bad = np.asarray(pc.and_(pc.is_null(judged["value"]), pc.fill_null(of_judge, False)))
        # Counted last: rows that cannot be worked out come again.
        minutes = self._counts[deployment].minutes
        minutes[Floor.REFUSALS].add(refusals["requested_at"], refused, refusals["reason"], now)
        minutes[Floor.UNSCORED].add(judged["scored_at"], bad, judged["reason"], now)

    def look(self, last: LastChanges, now: datetime) -> tuple[list[FloorChange], Readings]:
        """Give what began or ended since the last changes, and how each floor of each deployment stands."""
        readings: dict[str, dict[Floor, FloorReading]] = {name: {} for name in self._counts}
        changes = self._switched_off(last, now)
        for name, counts in self._counts.items():
            for floor in _SHARES:
                limit = getattr(self._settings.of(name), floor)
                if limit is not None:
                    check = ShareFloor(name, floor, limit, self._settings)
                    found, readings[name][floor] = _look_at_share(check, counts, floor, last.get((name, floor)), now)
                    changes += found
        silences = self._look_for_silences(last, now)
        for name, reading in self._silence_readings(last, silences).items():
            readings[name][Floor.NO_DATA] = reading
        return [*changes, *silences], readings

    def callers(self, now: datetime) -> Mapping[str, frozenset[str]]:
        """Give by deployment the applications that called it in the last day."""
        return {name: counts.callers.since(now - RECENT) for name, counts in list(self._counts.items())}

    def look_at_replays(self, latest: Mapping[str, ReplayStats], last: LastChanges) -> list[FloorChange]:
        """Give the alerts that begin or end with the latest runs that asked accepted cases again."""
        watched = {name: run for name, run in latest.items() if self._settings.of(name).replay}
        return list(changes_of_replays(watched, last))

    def look_at_judges(
        self, readings: Mapping[str, Mapping[str, JudgeReading]], last: LastChanges
    ) -> list[FloorChange]:
        """Give the alerts that begin or end with what is known of judges, by deployment and metric."""
        watched = {name: judges for name, judges in readings.items() if self._settings.of(name).judge_drift}
        return list(changes_of_judges(watched, last))

    def _switched_off(self, last: LastChanges, now: datetime) -> list[FloorChange]:
        return [
            FloorChange(name, floor, AlertEvent.RESOLVED, now, "this floor is switched off")
            for (name, floor), (is_open, _) in last.items()
            if is_open and getattr(self._settings.of(name), floor) in (None, False)
        ]

    def _look_for_silences(self, last: LastChanges, now: datetime) -> list[FloorChange]:
        opened = {name: at for (name, floor), (is_open, at) in last.items() if floor == Floor.NO_DATA and is_open}
        answered = {name: one.request_times for name, one in self._counts.items() if one.answered_since is not None}
        return self._no_data.look(answered, lambda name: self._settings.of(name).no_data, opened, now)

    def _silence_readings(self, last: LastChanges, found: Sequence[FloorChange]) -> Mapping[str, FloorReading]:
        changed = {change.deployment: change.change == AlertEvent.FIRING for change in found}
        return {
            name: _silence_reading(counts, changed.get(name, last.get((name, Floor.NO_DATA), (False, None))[0]))
            for name, counts in self._counts.items()
            if self._settings.of(name).no_data is not None
        }


def _answer_kinds(rows: pa.Table) -> list[AnswerKind | None]:
    """Give the kind of each answer of rows with ANSWER_COLUMNS."""
    columns = rows.select(["answer_kind", "status", "error", "finish_reason", "has_text"]).to_pylist()
    return [answer_kind_of(row, has_text=bool(row["has_text"])) for row in columns]


def _look_at_share(
    check: ShareFloor, counts: Counts, floor: Floor, last: tuple[bool, datetime] | None, now: datetime
) -> tuple[list[FloorChange], FloorReading]:
    minutes = counts.minutes.get(floor)
    changes, reading = check.look(minutes or MinuteCounts(), last, now)
    if minutes:
        return changes, reading
    # Where no row has come, as of a table that cannot be read, nothing says that an alert is over.
    return [], replace(reading, active=last is not None and last[0])


def _silence_reading(counts: Counts, is_open: bool) -> FloorReading:
    times = counts.request_times
    if is_open or (counts.answered_since is not None and times.is_known):
        return FloorReading(is_open)
    if counts.answered_since is None:
        return FloorReading(False, unjudged="no request has been answered yet")
    days, needed = times.length // timedelta(days=1), LEAST_HISTORY // timedelta(days=1)
    return FloorReading(False, unjudged=f"heard for {days} of the {needed} days that it takes to know the usual pauses")
