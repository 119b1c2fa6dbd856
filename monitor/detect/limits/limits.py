"""Checks of all limits of all deployments: new rows in, alerts that begin or end out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.alert_vocabulary import AlertEvent, LimitKind
from lake.spec.answer_kinds import answer_kind_of
from lake.spec.deployment_families import Families
from lake.spec.vocabulary import REFUSAL, VISIBLE, AnswerKind, UnscoredReason, asks_llm
from monitor.detect.limits.callers import RECENT
from monitor.detect.limits.child_calls import ChildCalls, child_calls, look_at_child_calls
from monitor.detect.limits.limit_counts import LimitCounts, RecentFailures
from monitor.detect.limits.minute_counts import KEPT, MinuteCounts
from monitor.detect.limits.named_minutes import look_at_each
from monitor.detect.limits.no_data import (
    LEAST_HISTORY,
    NoDataDetector,
    RequestTimes,
    replaced_versions,
    with_history_of_families,
)
from monitor.detect.limits.results import LastChange, LimitChange, LimitReading
from monitor.detect.limits.settings import LimitSettings
from monitor.detect.limits.shares import FAILURES, ShareLimit
from monitor.detect.limits.tool_minutes import counted_calls
from monitor.detect.limits.unfit import Scales, unfit_limits
from monitor.detect.limits.verdict_limits import changes_of_judges, changes_of_means, changes_of_replays
from monitor.detect.regression import JudgeReading, LowMean, StoppedStreams
from monitor.detect.stats.replays import ReplayStats
from monitor.detect.stats.requests import failed, failure_reasons, production
from monitor.detect.stats.sums import floats
from monitor.detect.stats.tools import called_tools

_ANSWER_COLUMNS = (
    "requested_at", "status", "error", "is_entry", "finish_reason", "answer_kind", "origin", "parent_deployment",
)  # fmt: skip
ANSWER_COLUMNS = {name: pc.field(name) for name in _ANSWER_COLUMNS} | {
    "has_text": pc.match_substring_regex(pc.field("answer"), VISIBLE)
}
"""Of `parsed_logs`; whether an answer has a visible character is asked, never its text."""
_NO_SHARES = frozenset((LimitKind.NO_DATA, LimitKind.REPLAY, LimitKind.JUDGE_DRIFT, LimitKind.AT_LEAST))
_SHARES = tuple(kind for kind in LimitKind if kind not in _NO_SHARES)
_BUDGET = UnscoredReason.JUDGE_BUDGET
"""The reason of an evaluation that was not made because the money for it is spent, as configured."""
_ALL: Set[str] = frozenset(LimitKind)
_STOPPED = "an error has stopped it"
LastChanges = Mapping[tuple[str, LimitKind], LastChange]
"""Of each limit that has had an alert."""
Readings = Mapping[str, Mapping[LimitKind, LimitReading]]
"""How each limit of each deployment stands."""


class Limits:
    """Counts of requests, answers and evaluations by minute of event time, checked against the limits.

    The result depends only on the rows of the last days, the last recorded change of each alert, and the clock. So it
    does not matter in which portions rows come, how late they come, or how often the process is restarted.

    A limit of a deployment in which an error arises stops, and the others go on: what is counted for it is dropped, and
    its rows are left out until all of them come again. An alert that is open stays so.
    """

    def __init__(self, settings: LimitSettings, families: Families | None = None) -> None:
        self._settings = settings
        self._families = families or Families()
        self._counts: dict[str, LimitCounts] = defaultdict(LimitCounts)
        self._no_data = NoDataDetector()
        self._shares: dict[str, Mapping[LimitKind, LimitReading]] = {}
        """By deployment, how the limits on shares stood when they were last looked at."""
        self.stopped = StoppedStreams("is a limit that is not checked")

    def counts_of(self, deployment: str) -> LimitCounts | None:
        """Return the counts of a deployment, to be kept; None where there are none."""
        return self._counts.get(deployment)

    def forget(self, deployment: str) -> None:
        """Forget a deployment."""
        self._counts.pop(deployment, None)
        self._shares.pop(deployment, None)
        self.stopped.forget(deployment)

    def forget_limits(self, deployment: str, limits: Set[str]) -> None:
        """Forget what is counted for some limits of a deployment."""
        for kind in limits:
            self._counts[deployment].drop(LimitKind(kind))

    def restore(self, deployment: str, counts: LimitCounts) -> None:
        """Go on with counts that were kept."""
        self._counts[deployment] = counts

    def add_logs(
        self, deployment: str, rows: pa.Table, now: datetime, only: Set[str] = _ALL, without: Set[str] = frozenset()
    ) -> None:
        """Count rows of `parsed_logs` (columns of `monitor.detect.stats.requests.LOG_COLUMNS`).

        `only` and `without` name limits here and in the others.
        """
        rows = production(rows)
        rows = rows.filter(pc.is_valid(rows["requested_at"]))
        if not rows.num_rows:
            return

        def errors(counts: LimitCounts) -> None:
            counts.minutes[LimitKind.ERRORS].add(rows["requested_at"], failed(rows), failure_reasons(rows), now)

        def tool_errors(counts: LimitCounts) -> None:
            calls = counted_calls(called_tools(rows))
            if calls.num_rows:
                is_error = np.asarray(calls["is_error"], np.bool_)
                counts.minutes[LimitKind.TOOL_ERRORS].add(calls["requested_at"], is_error, calls["name"], now)
                counts.tools.add(calls, now)

        self._count(
            deployment,
            only - without,
            {
                LimitKind.ERRORS: errors,
                LimitKind.NO_DATA: lambda one: one.hear(rows, now),
                LimitKind.TOOL_ERRORS: tool_errors,
            },
        )

    def add_answers(
        self, deployment: str, rows: pa.Table, now: datetime, only: Set[str] = _ALL, without: Set[str] = frozenset()
    ) -> None:
        """Count rows of `parsed_logs` (columns ANSWER_COLUMNS): whole answers to a person, and calls of others."""
        rows = production(rows)
        if rows.num_rows and only is _ALL:
            self._counts[deployment].callers.add(rows)

        def empty_answers(counts: LimitCounts) -> None:
            is_asked = pc.and_(pc.fill_null(rows["is_entry"], False), pc.is_valid(rows["requested_at"]))
            answers = rows.filter(pc.and_(is_asked, pa.array(~failed(rows))))
            kinds = _answer_kinds(answers)
            # Of a secured key nobody knows the answer.
            seen = np.array([kind is not None for kind in kinds], np.bool_)
            is_empty = np.array([kind == AnswerKind.EMPTY for kind in kinds], np.bool_)[seen]
            answers = answers.filter(pa.array(seen))
            why = pc.binary_join_element_wise("finish_reason", answers["finish_reason"], " ")
            counts.minutes[LimitKind.EMPTY_ANSWERS].add(answers["requested_at"], is_empty, why, now)

        self._count(
            deployment,
            only - without,
            {
                LimitKind.EMPTY_ANSWERS: empty_answers,
                LimitKind.CHILD_ERRORS: lambda one: one.callers.count(rows, deployment, now),
            },
        )

    def add_scores(
        self, deployment: str, rows: pa.Table, now: datetime, only: Set[str] = _ALL, without: Set[str] = frozenset()
    ) -> None:
        """Count rows of `scores` (columns of `monitor.detect.stats.scores.SCORE_COLUMNS`), but those of a backfill."""
        kept = pa.scalar(now - KEPT, rows["requested_at"].type)
        recent = pc.or_kleene(pc.greater_equal(rows["requested_at"], kept), pc.greater_equal(rows["scored_at"], kept))
        rows = rows.filter(pc.and_kleene(recent, pc.invert(pc.fill_null(rows["is_backfill"], False))))

        def refusals(counts: LimitCounts) -> None:
            valid = pc.and_(pc.is_valid(rows["requested_at"]), pc.is_valid(rows["value"]))
            found = rows.filter(pc.and_(pc.fill_null(pc.equal(rows["metric"], REFUSAL), False), valid))
            counts.minutes[LimitKind.REFUSALS].add(
                found["requested_at"], floats(found["value"]) > 0, found["reason"], now
            )

        def unscored(counts: LimitCounts) -> None:
            judges = filter(asks_llm, rows["judge"].unique().to_pylist())
            asked = pc.is_in(rows["judge"], pa.array(judges, pa.string()))
            judged = rows.filter(pc.and_(asked, pc.is_valid(rows["scored_at"])))
            of_judge = pc.and_(pc.starts_with(judged["reason"], "judge_"), pc.not_equal(judged["reason"], _BUDGET))
            bad = np.asarray(pc.and_(pc.is_null(judged["value"]), pc.fill_null(of_judge, False)))
            counts.minutes[LimitKind.UNSCORED].add(judged["scored_at"], bad, judged["reason"], now)

        self._count(deployment, only - without, {LimitKind.REFUSALS: refusals, LimitKind.UNSCORED: unscored})

    def _count(
        self, deployment: str, chosen: Set[str], steps: Mapping[LimitKind, Callable[[LimitCounts], None]]
    ) -> None:
        """Run the steps of the limits that are chosen and work; an error stops its limit alone."""
        for kind, step in steps.items():
            if kind in chosen and self.stopped.takes_rows((deployment, kind)):
                try:
                    step(self._counts[deployment])
                except Exception as error:
                    self._stop(deployment, kind, error)

    def _stop(self, deployment: str, kind: LimitKind, error: Exception) -> None:
        self._counts[deployment].drop(kind)
        self.stopped.stop((deployment, kind), error)

    def look(
        self, last: LastChanges, now: datetime, of: Set[str | None] | None = None
    ) -> tuple[list[LimitChange], Readings]:
        """Return what began or ended since the last changes, and how each limit of each deployment stands.

        Where `of` names deployments, the limits on shares of the others stand as they did.
        """
        changes, children = self._switched_off(last, now), self._child_calls()
        for name, counts in self._counts.items():
            if of is None or name in of or name not in self._shares:
                found, self._shares[name] = self._look_at_shares(name, counts, children.get(name), last, now)
                changes += found
        readings = {name: dict(self._shares[name]) for name in self._counts}
        times = with_history_of_families(self._answered(), self._families)
        silences = self._look_for_silences(times, last, now)
        for name, reading in self._silence_readings(times, last, silences, now).items():
            readings[name][LimitKind.NO_DATA] = reading
        for (name, stopped), why in self.stopped.errors.items():
            if not self.stopped.takes_rows((name, stopped)):
                is_open = _is_open(last, name, LimitKind(stopped))
                readings[name][LimitKind(stopped)] = LimitReading(is_open, stopped=repr(why), unjudged=_STOPPED)
        return [*changes, *silences], readings

    def _look_at_shares(
        self, name: str, counts: LimitCounts, children: ChildCalls | None, last: LastChanges, now: datetime
    ) -> tuple[list[LimitChange], Mapping[LimitKind, LimitReading]]:
        changes: list[LimitChange] = []
        readings: dict[LimitKind, LimitReading] = {}
        for kind in _SHARES:
            limit = getattr(self._settings.of(name), kind)
            calls = {LimitKind.TOOL_ERRORS: kind in counts.minutes, LimitKind.CHILD_ERRORS: children is not None}
            if limit is not None and (calls.get(kind, True) or (name, kind) in last):
                check = partial(ShareLimit, name, kind, limit, self._settings)
                try:
                    before = last.get((name, kind))
                    if kind == LimitKind.CHILD_ERRORS:
                        found, readings[kind] = look_at_child_calls(check, children or ChildCalls(), before, now)
                    else:
                        found, readings[kind] = _look_at_share(check, counts, kind, before, now)
                    changes += found
                except Exception as error:
                    self._stop(name, kind, error)
        return changes, readings

    def _child_calls(self) -> Mapping[str, ChildCalls]:
        """Return the calls that each deployment made to others."""
        return child_calls(
            (name, counts.callers, self.stopped.takes_rows((name, LimitKind.CHILD_ERRORS)))
            for name, counts in list(self._counts.items())
        )

    def callers(self, now: datetime) -> Mapping[str, frozenset[str]]:
        """Return by deployment the applications that called it in the last day."""
        return {name: counts.callers.since(now - RECENT) for name, counts in list(self._counts.items())}

    def recent_failures(self) -> RecentFailures:
        """Return how the requests of each deployment went lately; rows that come later do not change it."""
        children = self._child_calls()
        return RecentFailures(
            {
                name: [
                    (limit, minutes.events())
                    for kind in FAILURES
                    if (limit := getattr(self._settings.of(name), kind)) is not None
                    for minutes in counts.failing(kind, limit, children.get(name))
                ]
                for name, counts in list(self._counts.items())
            }
        )

    def look_at_replays(self, latest: Mapping[str, ReplayStats], last: LastChanges) -> list[LimitChange]:
        """Return the alerts that begin or end with the latest runs that asked accepted cases again."""
        watched = {name: run for name, run in latest.items() if self._settings.of(name).replay}
        return list(changes_of_replays(watched, last))

    def look_at_judges(
        self, readings: Mapping[str, Mapping[str, JudgeReading]], last: LastChanges
    ) -> list[LimitChange]:
        """Return the alerts that begin or end with what is known of judges, by deployment and metric."""
        watched = {name: judges for name, judges in readings.items() if self._settings.of(name).judge_drift}
        return list(changes_of_judges(watched, last))

    def look_at_means(
        self, readings: Mapping[str, Mapping[str, LowMean]], last: LastChanges, now: datetime
    ) -> list[LimitChange]:
        """Return the alerts that begin or end with means that have a limit, by deployment and metric."""
        return list(changes_of_means(readings, last, now))

    def unfit(self, scales: Scales) -> tuple[str, ...]:
        """Return in words the limits of means that are compared with nothing; see module `unfit`."""
        return unfit_limits(self._settings, scales)

    def has_mean_limit(self, deployment: str, metric: str) -> bool:
        """Whether a person has set the worst mean of a metric that is accepted."""
        return self._settings.limit_of(deployment, metric) is not None

    def _switched_off(self, last: LastChanges, now: datetime) -> list[LimitChange]:
        return [
            LimitChange(name, kind, AlertEvent.RESOLVED, now, "this limit is switched off")
            for (name, kind), one in last.items()
            if one.is_open and getattr(self._settings.of(name), kind) in (None, False, {})
        ]

    def _look_for_silences(
        self, times: Mapping[str, RequestTimes], last: LastChanges, now: datetime
    ) -> list[LimitChange]:
        opened = {name: one.at for (name, kind), one in last.items() if kind == LimitKind.NO_DATA and one.is_open}
        found = self._no_data.look(times, lambda name: self._settings.of(name).no_data, opened, now, self.replaced())
        for name, error in self._no_data.errors.items():
            self._stop(name, LimitKind.NO_DATA, error)
        return found

    def replaced(self) -> Mapping[str, str]:
        """Return the deployments whose requests go to another version of the same application by now, and to which."""
        return replaced_versions(self._answered(), self._families)

    def _answered(self) -> Mapping[str, RequestTimes]:
        counts = list(self._counts.items())
        return {name: one.request_times for name, one in counts if one.answered_since is not None}

    def _silence_readings(
        self, times: Mapping[str, RequestTimes], last: LastChanges, found: Sequence[LimitChange], now: datetime
    ) -> Mapping[str, LimitReading]:
        changed = {change.deployment: change.change == AlertEvent.FIRING for change in found}
        return {
            name: _silence_reading(times.get(name), changed.get(name, _is_open(last, name, LimitKind.NO_DATA)), now)
            for name in self._counts
            if self._settings.of(name).no_data is not None
        }


def _answer_kinds(rows: pa.Table) -> list[AnswerKind | None]:
    """Return the kind of each answer of rows with ANSWER_COLUMNS."""
    columns = rows.select(["answer_kind", "status", "error", "finish_reason", "has_text"]).to_pylist()
    return [answer_kind_of(row, has_text=bool(row["has_text"])) for row in columns]


def _is_open(last: LastChanges, deployment: str, kind: LimitKind) -> bool:
    change = last.get((deployment, kind))
    return change is not None and change.is_open


def _look_at_share(
    check: Callable[..., ShareLimit], counts: LimitCounts, kind: LimitKind, last: LastChange | None, now: datetime
) -> tuple[list[LimitChange], LimitReading]:
    minutes = counts.minutes.get(kind)
    if minutes and kind == LimitKind.TOOL_ERRORS:
        return look_at_each(check(), check(one_of_many=True), minutes, counts.tools, last, now)
    changes, reading = check().look(minutes or MinuteCounts(), last, now)
    if minutes:
        return changes, reading
    # Where no row has come, as of a table that cannot be read, nothing says that an alert is over.
    return [], replace(reading, active=last is not None and last.is_open)


def _silence_reading(times: RequestTimes | None, is_open: bool, now: datetime) -> LimitReading:
    """Return the reading of a deployment with these request times; None of one that has answered no request yet."""
    since = times.silent_since(now) if times is not None else None
    if is_open or (times is not None and times.is_known):
        return LimitReading(is_open, silent_since=since)
    if times is None:
        return LimitReading(False, unjudged="no request has been answered yet")
    days, needed = times.length // timedelta(days=1), LEAST_HISTORY // timedelta(days=1)
    unjudged = f"heard for {days} of the {needed} days that it takes to know the usual pauses"
    return LimitReading(False, unjudged=unjudged, silent_since=since)
