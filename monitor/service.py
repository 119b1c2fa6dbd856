"""The monitor itself: looks at the lake again and again, and publishes what it knows."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import pyarrow as pa
import pyarrow.dataset as ds

from lake import (
    ALERTS,
    ANCHORS,
    BATCHES,
    PARSED_LOGS,
    REJECTED,
    SCORES,
    SILENCES,
    UNASSIGNED,
    USER_SIGNALS,
    Lake,
    TableReplacedError,
    TableSpec,
)
from monitor.alert_change import AlertChange
from monitor.alert_totals import ALERT_COLUMNS
from monitor.alerts import AlertBook
from monitor.books import BATCH_COLUMNS, REJECTED_COLUMNS, Books
from monitor.floor_alerts import last_changes
from monitor.floors import ANSWER_COLUMNS, KEPT, FloorChange, FloorName, FloorReading, Floors
from monitor.health import Health, health_of
from monitor.judge_costs import JUDGE_COST_COLUMNS
from monitor.new_rows import NewRows
from monitor.notify import Notifier
from monitor.ratings import RATING_COLUMNS, Ratings
from monitor.regression import (
    ANCHOR_COLUMNS,
    MEASURED,
    UNDECIDED,
    Anchors,
    Judgement,
    Reading,
    Status,
    StreamKey,
    Streams,
    Transition,
    judgement_of,
)
from monitor.scores import SCORE_COLUMNS
from monitor.settings import MonitorSettings
from monitor.shared_rows import Into, SharedRows
from monitor.silences import SILENCE_COLUMNS, Silences
from monitor.snapshot import Figures, Snapshot
from monitor.totals import SUMMED, RisingTotals, Totals, totals_of
from monitor.traffic import LOG_COLUMNS

_ANCHOR_COLUMNS = tuple(dict.fromkeys((*ANCHOR_COLUMNS, *JUDGE_COST_COLUMNS)))
_CANNOT_DRIFT = ("lexical", "ratings")
"""What `scores.judge` has where no model judges, and people's word for themselves."""
_FLOORS, _REGRESSIONS, _JUDGES = "find_floors", "find_regressions", "judge_regressions"
"""Of the takers of rows, what fails with them: the others are `read_...`, for the figures."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Monitor:
    """Keeps one immutable `Snapshot` of the lake up to date.

    All state is in memory and made from the lake's tables alone, so that a restart comes to the same numbers. A
    table that cannot be read leaves the others alone: it is logged, counted in the snapshot's `failures` and tried
    again at the next refresh.
    """

    def __init__(
        self,
        lake: Lake,
        settings: MonitorSettings,
        clock: Callable[[], datetime],
        judge_budgets: Mapping[str, float] | None = None,
    ) -> None:
        """`judge_budgets` are what the evaluator's judges may cost a day (UTC), by their names."""
        self.settings = settings
        self._judge_budgets = judge_budgets or {}
        self._lake = lake
        self._clock = clock
        self._alert_book = AlertBook(lake)
        self._notifier = Notifier(
            settings.webhooks,
            self._alert_book,
            settings.external_url,
            internal_hosts=settings.internal_hosts,
            silences=None,
            group=timedelta(seconds=settings.group_seconds),
            clock=clock,
        )
        self._one_at_a_time = threading.Lock()
        self._failures: Counter[str] = Counter()
        self._problems: dict[str, str] = {}
        self._snapshot: Snapshot | None = None
        self._totals = RisingTotals()
        self._begin()

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest snapshot; None before the first refresh."""
        return self._snapshot

    def refresh(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Take in what is new, record alerts, publish a snapshot, wake those who tell people.

        Never raises: what goes wrong is logged, counted and said by `health`. Does nothing while another thread
        is in here. Ends early once `is_stopping` says so; no other refresh may follow then.
        """
        if not self._one_at_a_time.acquire(blocking=False):
            return
        try:
            self._refresh(is_stopping)
        finally:
            self._one_at_a_time.release()

    def telling(self) -> AbstractContextManager[None]:
        """Send webhooks while the block runs, in threads of their own: what is recorded and was not yet told."""
        return self._notifier.running()

    def health(self) -> Health:
        """Say whether a refresh has succeeded lately, and what the last one could not do."""
        return health_of(self._snapshot, self._clock(), self.settings.refresh_seconds, self._problems)

    def _start_over(self, deployments: Sequence[str | None]) -> None:
        self._alert_book.forget(deployments)
        self._totals.start_over()
        self._begin()

    def _begin(self) -> None:
        self._new_rows = NewRows(self._lake)
        self._shared_rows = SharedRows(self._new_rows)
        # Whether an answer is empty is asked for floors alone, and so not of the answers of years.
        self._new_answers = NewRows(self._lake, ds.field("date") >= (self._clock() - KEPT).date())
        self._streams = Streams(self.settings.regression)
        self._ratings = Ratings(self.settings.regression.batch, self.settings.regression.grace)
        self._floors = Floors(self.settings.floors)
        self._floor_readings: Mapping[str, Mapping[FloorName, FloorReading]] = {}
        self._anchors = Anchors(self.settings.regression.tolerance)
        self._books = Books()
        self._silences = Silences(self.settings.silences)
        self._figures: dict[str, Figures] = {}
        self._known: set[str | None] = set()
        self._summed: set[str] = set()
        self._table_was_replaced = False

    def _refresh(self, is_stopping: Callable[[], bool]) -> None:
        now = self._clock()
        self._problems = {}
        deployments = self._try("list_deployments", self._lake.deployments)
        if deployments is None:
            self._republish_failures()
            return
        gone = self._known - set(deployments)
        if gone or self._table_was_replaced:
            _log.info("A table has left the lake. All is read again. Deployments that left: %s", gone or "none")
            self._start_over(deployments)
        self._known = set(deployments)
        self._take(SILENCES, None, SILENCE_COLUMNS, self._silences.add)
        # Nobody stays untold for ever because this table cannot be read.
        self._notifier.silence(self._silences.every, is_certain=self._new_rows.has_taken(SILENCES, [None]))
        self._take_books()
        for deployment in deployments:
            if is_stopping():
                return
            self._take_deployment(deployment, now)
        self._take_ratings(now)
        found = self._try(_REGRESSIONS, lambda: self._streams.advance(now))
        streams = self._try(_REGRESSIONS, self._streams.readings) or {}
        judgements = self._judgements(streams)
        self._record(found or [], streams, judgements, now)
        self._look_at_floors(now)
        self._take_alerts(deployments)
        self._try("publish", lambda: self._publish(now, streams, judgements))
        self._notifier.wake()

    def _take_books(self) -> None:
        def batches(rows: pa.Table) -> None:
            self._books = self._books.with_batches(rows)

        def rejected(rows: pa.Table) -> None:
            self._books = self._books.with_rejected(rows)

        self._take(BATCHES, None, BATCH_COLUMNS, batches)
        self._take(REJECTED, None, REJECTED_COLUMNS, rejected)

    def _take_deployment(self, deployment: str | None, now: datetime) -> None:
        name = UNASSIGNED if deployment is None else deployment
        logs: dict[str, Into] = {"read_parsed_logs": self._into(name, Figures.with_logs)}
        if deployment is not None:
            logs[_FLOORS] = partial(self._floors.add_logs, name, now=now)
        self._share(PARSED_LOGS, deployment, LOG_COLUMNS, logs, now)
        # What the first look at the table has just found unchanged needs no second one.
        if deployment is not None and not self._new_answers.is_as_far_as(self._new_rows, PARSED_LOGS, deployment):
            answers = partial(self._floors.add_answers, name, now=now)
            self._take(PARSED_LOGS, deployment, ANSWER_COLUMNS, answers, self._new_answers)
        signals: dict[str, Into] = {
            "read_user_signals": self._into(name, Figures.with_signals),
            _REGRESSIONS: self._ratings.add,
        }
        self._share(USER_SIGNALS, deployment, RATING_COLUMNS, signals, now)
        scores: dict[str, Into] = {
            "read_scores": self._into(name, Figures.with_scores),
            _FLOORS: partial(self._floors.add_scores, name, now=now),
            _REGRESSIONS: partial(self._streams.add, now=now),
        }
        self._share(SCORES, deployment, SCORE_COLUMNS, scores, now)
        anchors: dict[str, Into] = {
            "read_anchors": self._into(name, Figures.with_anchors),
            _JUDGES: self._anchors.feed,
        }
        self._share(ANCHORS, deployment, _ANCHOR_COLUMNS, anchors, now)

    def _take_ratings(self, now: datetime) -> None:
        takers = {
            "read_user_signals": lambda name, rows: self._into(name, Figures.with_ratings)(rows),
            _REGRESSIONS: lambda _, rows: self._streams.add(rows, now),
        }
        refused = self._try(_REGRESSIONS, lambda: self._ratings.hand_on(takers, now)) or {}
        for (deployment, reason), error in refused.items():
            self._failed(reason, f"ratings of {deployment!r}", error)

    def _look_at_floors(self, now: datetime) -> None:
        looked = self._try("find_floors", lambda: self._floors.look(last_changes(self._alert_book.changes()), now))
        if looked is None:
            return
        changes, self._floor_readings = looked
        found: dict[str, list[FloorChange]] = {}
        for change in changes:
            found.setdefault(change.deployment, []).append(change)
        for deployment, mine in found.items():
            record = partial(self._alert_book.record_floors, deployment, mine, now)
            self._try("record_alerts", record, f"alerts of {deployment!r}")

    def _take_alerts(self, deployments: Sequence[str | None]) -> None:
        for deployment in deployments:
            name = UNASSIGNED if deployment is None else deployment
            self._take(ALERTS, deployment, ALERT_COLUMNS, self._into(name, Figures.with_alerts))

    def _into(self, name: str, add: Callable[[Figures, pa.Table], Figures]) -> Into:
        def into(rows: pa.Table) -> None:
            self._figures[name] = add(self._figures.get(name, Figures()), rows)

        return into

    def _take(
        self,
        spec: TableSpec,
        deployment: str | None,
        columns: tuple[str, ...] | Mapping[str, ds.Expression],
        into: Into,
        new_rows: NewRows | None = None,
    ) -> None:
        self._read(spec, deployment, lambda: (new_rows or self._new_rows).take(spec, deployment, columns, into))

    def _share(
        self,
        spec: TableSpec,
        deployment: str | None,
        columns: tuple[str, ...],
        takers: Mapping[str, Into],
        now: datetime,
    ) -> None:
        """Hand new rows to takers, named by what is counted where they fail."""
        refused = self._read(spec, deployment, lambda: self._shared_rows.take(spec, deployment, columns, takers, now))
        for reason, error in (refused or {}).items():
            self._failed(reason, _what(spec, deployment), error)

    def _read(self, spec: TableSpec, deployment: str | None, read: Callable[[], T]) -> T | None:
        def step() -> T:
            try:
                return read()
            except TableReplacedError:
                self._table_was_replaced = True
                raise

        return self._try(f"read_{spec.name}", step, _what(spec, deployment))

    def _record(
        self,
        found: Sequence[Transition],
        streams: Mapping[StreamKey, Reading],
        judgements: Mapping[StreamKey, Judgement],
        now: datetime,
    ) -> None:
        judged = [replace(one, judgement=self._judgement(one.key, one.reading)) for one in found]
        # Called with nothing found too: the book still holds what the lake would not take last time.
        self._try("record_alerts", lambda: self._alert_book.record(judged, now))
        self._try("record_alerts", lambda: self._alert_book.decide(judgements, streams, now))
        whole = {name for name in self._figures if self._has_all(name)}
        newest = {
            StreamKey(name, metric, scores.version)
            for name in whole
            for metric, scores in self._figures[name].watched.items()
        }
        known = {key: reading for key, reading in streams.items() if key.deployment in whole}
        self._try("record_alerts", lambda: self._alert_book.settle(known, newest, now))

    def _has_all(self, name: str) -> bool:
        """Whether figures and detectors of a deployment lack nothing: else they know too little to end an alert."""
        tables, takers = (SCORES, USER_SIGNALS), ("read_{}", _REGRESSIONS)
        return not self._ratings.waits(name) and all(
            self._shared_rows.has_given(spec, name, taker.format(spec.name)) for spec in tables for taker in takers
        )

    def _judgements(self, streams: Mapping[StreamKey, Reading]) -> Mapping[StreamKey, Judgement]:
        return {k: self._judgement(k, r) for k, r in streams.items() if r.status is Status.REGRESSED}

    def _judgement(self, key: StreamKey, reading: Reading) -> Judgement:
        """Say what has changed; undecided, which may be decided later, where that fails: the alert must not wait."""
        what = f"{key.metric} of {key.deployment!r}"
        return self._try(_JUDGES, lambda: self._judged(key, reading), what) or UNDECIDED

    def _judged(self, key: StreamKey, reading: Reading) -> Judgement:
        figures = self._figures.get(key.deployment)
        metric = figures.watched.get(key.metric) if figures else None
        if metric is not None and metric.judge in _CANNOT_DRIFT and metric.version == key.metric_version:
            return MEASURED
        since = reading.since_latest or reading.since
        return judgement_of(reading, self._anchors.shift(key, since) if since else None)

    def _try(self, reason: str, step: Callable[[], T], what: str = "the lake") -> T | None:
        """Do one step; if it fails, count it, log it and go on with the others."""
        try:
            return step()
        except Exception as error:
            self._failed(reason, what, error)
            return None

    def _failed(self, reason: str, what: str, error: Exception) -> None:
        self._failures[reason] += 1
        self._problems = {reason: f"{reason} failed for {what}: {error}"} | self._problems
        _log.warning("%s failed for %s; it is tried again. %s", reason, what, error)

    def _publish(
        self, now: datetime, streams: Mapping[StreamKey, Reading], judgements: Mapping[StreamKey, Judgement]
    ) -> None:
        changes: dict[str, list[AlertChange]] = {}
        for change in reversed(self._alert_book.changes()):
            if change.change in ("firing", "resolved"):
                changes.setdefault(change.key.deployment, []).append(change)
        readings, judged = self._newest_versions(streams), self._newest_versions(judgements)
        judges = self._newest_versions(self._try(_JUDGES, self._anchors.readings) or {})
        self._snapshot = Snapshot(
            taken_at=now,
            deployments={
                name: replace(
                    self._figures[name],
                    readings=readings.get(name, {}),
                    floors=self._floor_readings.get(name, {}),
                    changes=tuple(changes.get(name, ())),
                    judges=judges.get(name, {}),
                    judgements=judged.get(name, {}),
                )
                for name in sorted(self._figures)
            },
            books=self._books,
            failures=dict(self._failures),
            failed_deliveries=self._notifier.failed_attempts,
            disabled_webhooks=self._notifier.disabled,
            refresh_seconds=(self._clock() - now).total_seconds(),
            judge_budgets_left={
                judge: budget - sum(one.judge_costs.on(judge, now.date()) for one in self._figures.values())
                for judge, budget in self._judge_budgets.items()
            },
            totals=self._summed_up(),
            silences=self._silences.at(now),
        )

    def _summed_up(self) -> Totals:
        for name, specs in SUMMED.items():
            # Once is enough: the rows of a table that comes later are new.
            places = [(spec, place) for spec in specs for place in (self._known if spec.per_deployment else [None])]
            if all(self._shared_rows.has_given(spec, place, f"read_{spec.name}") for spec, place in places):
                self._summed.add(name)
        figures = self._figures.values()
        counted = totals_of(
            [one.scores for one in figures],
            [one.judge_costs for one in figures],
            [one.alerts for one in figures],
            self._books,
        )
        return self._totals.update(counted, self._summed)

    def _republish_failures(self) -> None:
        if self._snapshot is not None:
            self._snapshot = replace(self._snapshot, failures=dict(self._failures))

    def _newest_versions(self, streams: Mapping[StreamKey, T]) -> Mapping[str, Mapping[str, T]]:
        """By deployment and metric, of the version that was scored last: older versions are over."""
        chosen: dict[str, dict[str, T]] = {}
        for key, reading in streams.items():
            figures = self._figures.get(key.deployment)
            metric = figures.watched.get(key.metric) if figures else None
            if metric is not None and metric.version == key.metric_version:
                chosen.setdefault(key.deployment, {})[key.metric] = reading
        return chosen


def _what(spec: TableSpec, deployment: str | None) -> str:
    return spec.name if deployment is None else f"{spec.name} of {deployment!r}"
