"""The monitor itself: looks at the lake again and again, and publishes what it knows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from lake import SERVICES, Heartbeat, Lake, can_drift
from monitor.alerts.change import AlertChange
from monitor.alerts.floor_alerts import last_changes
from monitor.alerts.open_alerts import recorded_verdicts, with_open_alerts
from monitor.alerts.store import AlertStore
from monitor.floors import FloorChange, FloorName, FloorReading
from monitor.health.failures import ALERTS_RECORDED, FLOORS, JUDGES, REGRESSIONS, Failures
from monitor.health.health import Health, health_of, staleness_of
from monitor.health.parts import HeartbeatReader
from monitor.ingest.ingest import Ingest
from monitor.notify import Notifier
from monitor.regression import (
    MEASURED,
    UNDECIDED,
    Judgement,
    Reading,
    Status,
    StreamKey,
    Transition,
    judgement_of,
)
from monitor.settings import MonitorSettings
from monitor.snapshot import Snapshot
from monitor.totals import SUMMED_TABLES, FleetTotals, MonotonicTotals, totals_of

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
        monotonic: Callable[[], float] | None = None,
        own_parts: Callable[[], Sequence[Heartbeat]] = tuple,
    ) -> None:
        """`judge_budgets` are what the evaluator's judges may cost a day (UTC), by their names.

        Without `monotonic`, the seconds of a clock that is never set, `clock` is taken for such a one. `own_parts` says
        how the parts of this process are, without the lake.
        """
        self.settings = settings
        self._monotonic = monotonic or (lambda: clock().timestamp())
        self._published_at: float | None = None
        self._own_parts = own_parts
        self._parts = HeartbeatReader(lake, clock, self._monotonic)
        self._judge_budgets = judge_budgets or {}
        self._lake = lake
        self._clock = clock
        self._alerts = AlertStore(lake)
        self._notifier = Notifier(
            settings.webhooks,
            self._alerts,
            settings.external_url,
            internal_hosts=settings.internal_hosts,
            silences=None,
            group=timedelta(seconds=settings.group_seconds),
            clock=clock,
            monotonic=self._monotonic,
        )
        self._one_at_a_time = threading.Lock()
        self._failures = Failures(self._monotonic)
        self._snapshot: Snapshot | None = None
        self._totals = MonotonicTotals()
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
        """Say whether a refresh has succeeded lately, what the last one could not do, and how all parts are."""
        parts = self._parts.states(self._own_parts())
        return health_of(self._age(), self.settings.refresh_seconds, self._failures.problems, parts)

    @property
    def problem(self) -> str | None:
        """Why the figures are not fresh, if so; at the beginning it may be that no refresh is over."""
        if self._published_at is None and not self._failures.problems:
            return None
        stale = staleness_of(self._age(), self.settings.refresh_seconds)
        return self._failures.problems.get("list_deployments", stale)

    @property
    def webhook_problem(self) -> str | None:
        """What the last attempts at webhooks met, where they failed."""
        return self._notifier.problem

    def _age(self) -> float | None:
        return None if self._published_at is None else self._monotonic() - self._published_at

    def _start_over(self, deployments: Sequence[str | None]) -> None:
        self._alerts.reload(deployments)
        self._totals.start_over()
        self._begin()

    def _begin(self) -> None:
        self._ingest = Ingest(self._lake, self.settings, self._failures, self._clock())
        self._floor_readings: Mapping[str, Mapping[FloorName, FloorReading]] = {}
        self._known: set[str | None] = set()
        self._summed: set[str] = set()

    def _refresh(self, is_stopping: Callable[[], bool]) -> None:
        now, began = self._clock(), self._monotonic()
        self._failures.begin()
        deployments = self._failures.attempt("list_deployments", self._deployments)
        if deployments is None:
            self._republish_failures()
            return
        self._failures.attempt("read__services", self._parts.look, SERVICES.name)
        self._ingest.take_releases()
        gone = self._known - set(deployments)
        if gone or self._ingest.table_was_replaced:
            _log.info("A table has left the lake. All is read again. Deployments that left: %s", gone or "none")
        if self._ingest.has_new_releases:
            _log.info("A release was marked, or a mark withdrawn. All is read again.")
        if gone or self._ingest.table_was_replaced or self._ingest.has_new_releases:
            self._start_over(deployments)
            self._ingest.take_releases()
        self._known = set(deployments)
        has_silences = self._ingest.take_silences()
        # Nobody stays untold for ever because this table cannot be read.
        self._notifier.silence(self._ingest.silences.every, is_certain=has_silences)
        self._ingest.take_books()
        with self._ingest.reading_ahead(deployments):
            for deployment in deployments:
                if is_stopping():
                    return
                self._ingest.take_deployment(deployment, now)
        self._ingest.hand_on_ratings(now)
        found = self._failures.attempt(REGRESSIONS, lambda: self._ingest.streams.advance(now))
        readings = self._failures.attempt(REGRESSIONS, self._ingest.streams.readings) or {}
        kept = partial(with_open_alerts, readings, self._alerts.active(), self._ingest.streams)
        streams = self._failures.attempt(REGRESSIONS, kept) or readings
        for key, error in self._ingest.streams.stopped.items():
            what = f"{key.metric} of {key.deployment!r} is no longer watched for regressions"
            self._failures.add_lasting(REGRESSIONS, f"{what}: {error!r}. Start the monitor anew.")
        judgements = {**self._judgements(streams), **recorded_verdicts(streams, self._alerts.active())}
        self._record(found or [], streams, judgements, now)
        self._look_at_floors(now)
        self._ingest.take_alerts(deployments)
        self._failures.attempt("publish", lambda: self._publish(now, began, streams, judgements))
        self._notifier.wake()

    def _deployments(self) -> list[str | None]:
        """Deployments of the lake; raises where all that there was is gone: it is away, and was not emptied by us."""
        deployments = self._lake.deployments()
        if self._known and not deployments and self._lake.is_empty():
            raise FileNotFoundError(f"all tables are gone from {self._lake.root}: is it mounted, and not moved away?")
        return deployments

    def _look_at_floors(self, now: datetime) -> None:
        told = last_changes(self._alerts.changes())
        looked = self._failures.attempt(FLOORS, lambda: self._ingest.floors.look(told, now))
        if looked is None:
            return
        changes, self._floor_readings = looked
        found: dict[str, list[FloorChange]] = {}
        for change in changes:
            found.setdefault(change.deployment, []).append(change)
        for deployment, mine in found.items():
            record = partial(self._alerts.record_floors, deployment, mine, now)
            self._failures.attempt(ALERTS_RECORDED, record, f"alerts of {deployment!r}")

    def _record(
        self,
        found: Sequence[Transition],
        streams: Mapping[StreamKey, Reading],
        judgements: Mapping[StreamKey, Judgement],
        now: datetime,
    ) -> None:
        judged = [replace(one, judgement=self._judgement(one.key, one.reading)) for one in found]
        # Called with nothing found too: the book still holds what the lake would not take last time.
        self._failures.attempt(ALERTS_RECORDED, lambda: self._alerts.record(judged, now))
        self._failures.attempt(ALERTS_RECORDED, lambda: self._alerts.update_verdicts(judgements, streams, now))
        read = {name for name in self._ingest.state if self._ingest.has_all(name)}
        newest = {
            StreamKey(name, metric, scores.version): scores.scored_at
            for name in read
            for metric, scores in self._ingest.state[name].watched.items()
        }
        known = {key: reading for key, reading in streams.items() if key in newest}
        is_worse = self._ingest.streams.is_worse_since
        self._failures.attempt(ALERTS_RECORDED, lambda: self._alerts.refire(known, judgements, is_worse, now))
        self._failures.attempt(ALERTS_RECORDED, lambda: self._alerts.close_obsolete(streams, newest, read, now))

    def _judgements(self, streams: Mapping[StreamKey, Reading]) -> Mapping[StreamKey, Judgement]:
        return {k: self._judgement(k, r) for k, r in streams.items() if r.status is Status.REGRESSED}

    def _judgement(self, key: StreamKey, reading: Reading) -> Judgement:
        """Say what has changed; undecided, which may be decided later, where that fails: the alert must not wait."""
        what = f"{key.metric} of {key.deployment!r}"
        return self._failures.attempt(JUDGES, lambda: self._judged(key, reading), what) or UNDECIDED

    def _judged(self, key: StreamKey, reading: Reading) -> Judgement:
        state = self._ingest.state.get(key.deployment)
        metric = state.watched.get(key.metric) if state else None
        if metric is not None and not can_drift(metric.judge) and metric.version == key.metric_version:
            return MEASURED
        since = reading.since_latest or reading.since
        return judgement_of(reading, self._ingest.anchors.shift(key, since) if since else None)

    def _publish(
        self,
        now: datetime,
        began: float,
        streams: Mapping[StreamKey, Reading],
        judgements: Mapping[StreamKey, Judgement],
    ) -> None:
        changes: dict[str, list[AlertChange]] = {}
        for change in reversed(self._alerts.changes()):
            if change.change in ("firing", "resolved"):
                changes.setdefault(change.key.deployment, []).append(change)
        readings, judged = self._watched(streams, now), self._watched(judgements, now)
        judges = self._watched(self._failures.attempt(JUDGES, self._ingest.anchors.readings) or {}, now)
        stopped = self._watched({key: repr(error) for key, error in self._ingest.streams.stopped.items()}, now)
        snapshot = Snapshot(
            taken_at=now,
            deployments={
                name: replace(
                    self._ingest.state[name],
                    readings=readings.get(name, {}),
                    floors=self._floor_readings.get(name, {}),
                    changes=tuple(changes.get(name, ())),
                    judges=judges.get(name, {}),
                    judgements=judged.get(name, {}),
                    stopped=stopped.get(name, {}),
                    idle=self._idle(name, now),
                )
                for name in sorted(self._ingest.state)
            },
            collector_stats=self._ingest.collector_stats,
            failures=dict(self._failures.counts),
            failed_deliveries=self._notifier.failed_attempts,
            disabled_webhooks=self._notifier.disabled,
            refresh_seconds=self._monotonic() - began,
            judge_budgets_left={
                judge: budget - sum(one.judge_costs.on(judge, now.date()) for one in self._ingest.state.values())
                for judge, budget in self._judge_budgets.items()
            },
            totals=self._summed_up(),
            silences=self._ingest.silences.at(now),
        )
        self._snapshot, self._published_at = snapshot, began

    def _summed_up(self) -> FleetTotals:
        for name, specs in SUMMED_TABLES.items():
            # Once is enough: the rows of a table that comes later are new.
            if self._ingest.has_given(specs, list(self._known)):
                self._summed.add(name)
        state = self._ingest.state.values()
        counted = totals_of(
            [one.scores for one in state],
            [one.judge_costs for one in state],
            [one.alerts for one in state],
            self._ingest.collector_stats,
        )
        return self._totals.update(counted, self._summed)

    def _republish_failures(self) -> None:
        if self._snapshot is not None:
            self._snapshot = replace(self._snapshot, failures=dict(self._failures.counts))

    def _idle(self, name: str, now: datetime) -> Mapping[str, datetime]:
        watched = self._ingest.state[name].watched
        return {metric: scores.scored_at for metric, scores in watched.items() if scores.is_idle(now)}

    def _watched(self, streams: Mapping[StreamKey, T], now: datetime) -> Mapping[str, Mapping[str, T]]:
        """By deployment and metric, of the version that was scored last, and lately: all else is over."""
        chosen: dict[str, dict[str, T]] = {}
        for key, reading in streams.items():
            state = self._ingest.state.get(key.deployment)
            metric = state.watched.get(key.metric) if state else None
            if metric is not None and metric.version == key.metric_version and not metric.is_idle(now):
                chosen.setdefault(key.deployment, {})[key.metric] = reading
        return chosen
