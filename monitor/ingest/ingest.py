"""Reader of all tables of the monitor: it hands their new rows to the stats and the detectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial

import pyarrow as pa
import pyarrow.dataset as ds

from lake import (
    ALERTS,
    ANCHORS,
    BATCHES,
    INCIDENTS,
    PARSED_LOGS,
    REJECTED,
    RELEASES,
    REPLAYS,
    SCORES,
    SILENCES,
    UNASSIGNED,
    USER_SIGNALS,
    Lake,
    TableReplacedError,
    TableSpec,
    Wanted,
)
from monitor.alerts.alert_stats import ALERT_COLUMNS
from monitor.controls.silences import SILENCE_COLUMNS, Silences
from monitor.floors import ANSWER_COLUMNS, KEPT, Floors
from monitor.health.failures import FLOORS, JUDGES, REGRESSIONS, Failures
from monitor.incidents.change import INCIDENT_COLUMNS
from monitor.incidents.log import IncidentLog
from monitor.ingest.new_rows import Columns, NewRows, RowHandler
from monitor.regression import ANCHOR_COLUMNS, RELEASE_COLUMNS, JudgeDriftDetectors, Release, Releases, Streams
from monitor.settings import MonitorSettings
from monitor.snapshot import DeploymentState
from monitor.stats.collector_stats import BATCH_COLUMNS, REJECTED_COLUMNS, CollectorStats
from monitor.stats.judge_costs import JUDGE_COST_COLUMNS
from monitor.stats.ratings import RATING_COLUMNS, Ratings
from monitor.stats.replays import REPLAY_COLUMNS
from monitor.stats.requests import LOG_COLUMNS
from monitor.stats.scores import SCORE_COLUMNS

_ANCHOR_COLUMNS = tuple(dict.fromkeys((*ANCHOR_COLUMNS, *JUDGE_COST_COLUMNS)))

_MANY_DEPLOYMENTS = 20
_MOST_READERS = 4
"""Processes, at a start: one of them reads about half as fast as this one handles rows."""


class Ingest:
    """Stats and detectors in memory, made of the rows of the lake since the first one.

    A table that cannot be read, and a handler that fails, are counted in `failures` and leave the rest alone; the rows
    come again. Handlers have as their names the reasons that are counted where they fail.
    """

    def __init__(self, lake: Lake, settings: MonitorSettings, failures: Failures, now: datetime) -> None:
        self._failures = failures
        self._new_rows = NewRows(lake)
        # Only floors ask whether an answer is empty, and so not of the answers of years.
        self._new_answers = NewRows(lake, ds.field("date") >= (now - KEPT).date())
        self._ratings = Ratings(settings.regression.batch, settings.regression.grace)
        self._regression = settings.regression
        self._releases = Releases()
        self._has_scores = False
        self.streams = Streams(settings.regression)
        self.floors = Floors(settings.floors)
        self.judges = JudgeDriftDetectors(settings.regression.tolerance)
        self.silences = Silences(settings.silences)
        self.incidents = IncidentLog(lake)
        self.collector_stats = CollectorStats()
        self.deployments: dict[str, DeploymentState] = {}
        self.table_was_replaced = self.has_new_releases = False
        """Then only an `Ingest` that begins anew comes to the right sums, or readings."""

    @contextmanager
    def reading_ahead(self, deployments: Sequence[str | None]) -> Iterator[None]:
        """Where nothing of many deployments has been read yet, have other processes read ahead in the block."""
        if len(deployments) < _MANY_DEPLOYMENTS or any(map(self._new_rows.has_begun, deployments)):
            yield
            return
        tables = ((PARSED_LOGS, LOG_COLUMNS), (SCORES, SCORE_COLUMNS))
        wanted = [Wanted(spec, name, columns) for name in deployments for spec, columns in tables]
        with self._new_rows.reading_ahead(wanted, min(_MOST_READERS, os.cpu_count() or 1)):
            yield

    def read_silences(self, now: datetime) -> bool:
        """Read silences; says whether they have been read at least once."""
        self._read_one(SILENCES, None, SILENCE_COLUMNS, self.silences.add, now)
        return self._new_rows.has_read(SILENCES, [None], _reason(SILENCES))

    def read_releases(self, now: datetime) -> None:
        """Read marked releases: before the first scores; later ones are `has_new_releases`."""

        def releases(rows: pa.Table) -> None:
            self._releases = self._releases.with_rows(rows)
            self.has_new_releases = self._has_scores
            if not self._has_scores:
                self.streams = Streams(self._regression, self._releases)

        self._read_one(RELEASES, None, RELEASE_COLUMNS, releases, now)

    @property
    def releases(self) -> tuple[Release, ...]:
        """The marks that nobody took back, as they were read last."""
        return tuple(self._releases.valid.values())

    def read_collector_stats(self, now: datetime) -> None:
        """Read what became of the collector's lines."""

        def batches(rows: pa.Table) -> None:
            self.collector_stats = self.collector_stats.with_batches(rows)

        def rejected(rows: pa.Table) -> None:
            self.collector_stats = self.collector_stats.with_rejected(rows)

        self._read_one(BATCHES, None, BATCH_COLUMNS, batches, now)
        self._read_one(REJECTED, None, REJECTED_COLUMNS, rejected, now)

    def read_deployment(self, deployment: str | None, now: datetime) -> None:
        """Read requests, signals, scores, anchors and replays of a deployment."""
        self._has_scores = True
        name = UNASSIGNED if deployment is None else deployment
        logs = self._stats(PARSED_LOGS, name, DeploymentState.with_logs)
        if deployment is not None:
            logs[FLOORS] = partial(self.floors.add_logs, name, now=now)
        self._read(PARSED_LOGS, deployment, LOG_COLUMNS, logs, now)
        if deployment is not None:
            self._read_answers(deployment, now)
        signals = self._stats(USER_SIGNALS, name, DeploymentState.with_signals) | {REGRESSIONS: self._ratings.add}
        self._read(USER_SIGNALS, deployment, RATING_COLUMNS, signals, now)
        scores = self._stats(SCORES, name, DeploymentState.with_scores) | {
            FLOORS: partial(self.floors.add_scores, name, now=now),
            REGRESSIONS: partial(self.streams.add, now=now),
        }
        self._read(SCORES, deployment, SCORE_COLUMNS, scores, now)
        anchors = self._stats(ANCHORS, name, DeploymentState.with_anchors) | {JUDGES: self.judges.add}
        self._read(ANCHORS, deployment, _ANCHOR_COLUMNS, anchors, now)
        replays = self._stats(REPLAYS, name, DeploymentState.with_replays)
        self._read(REPLAYS, deployment, REPLAY_COLUMNS, replays, now)

    def settle_ratings(self, now: datetime) -> None:
        """Count and watch, as scores, the ratings whose batch is over."""
        handlers = {
            _reason(USER_SIGNALS): lambda name, rows: self._add(name, DeploymentState.with_ratings, rows),
            REGRESSIONS: lambda _, rows: self.streams.add(rows, now),
        }
        errors = self._failures.attempt(REGRESSIONS, lambda: self._ratings.settle(handlers, now)) or {}
        for (deployment, reason), error in errors.items():
            self._failures.add(reason, f"ratings of {deployment!r}", error)

    def read_alerts(self, deployments: Sequence[str | None], now: datetime) -> None:
        """Read the changes of alerts, and what came of their deliveries."""
        for deployment in deployments:
            name = UNASSIGNED if deployment is None else deployment
            handlers = self._stats(ALERTS, name, DeploymentState.with_alerts)
            self._read(ALERTS, deployment, ALERT_COLUMNS, handlers, now)

    def read_incidents(self, deployments: Sequence[str | None], now: datetime) -> None:
        """Read what was written of incidents: what follows from alerts, and what people took note of."""
        for deployment in deployments:
            if deployment is not None:
                handlers = {_reason(INCIDENTS): partial(self.incidents.add, deployment)}
                self._read(INCIDENTS, deployment, INCIDENT_COLUMNS, handlers, now)

    def is_complete(self, deployment: str) -> bool:
        """Whether stats and detectors of a deployment lack no rows: else they know too little to end an alert."""
        return not self._ratings.are_unsettled(deployment) and all(
            self._new_rows.has_read(spec, [deployment], handler)
            for spec in (SCORES, USER_SIGNALS)
            for handler in (_reason(spec), REGRESSIONS)
        )

    def has_counted(self, specs: Sequence[TableSpec], deployments: Sequence[str | None]) -> bool:
        """Whether the stats lack no rows of these tables; a table that is not there counts as read."""
        return all(
            self._new_rows.has_read(spec, deployments if spec.per_deployment else [None], _reason(spec))
            for spec in specs
        )

    def _read_answers(self, deployment: str, now: datetime) -> None:
        # What the first read of the table has just found unchanged needs no second one.
        if not self._new_answers.is_as_far_as(self._new_rows, PARSED_LOGS, deployment):
            handlers = {_reason(PARSED_LOGS): partial(self.floors.add_answers, deployment, now=now)}
            self._read(PARSED_LOGS, deployment, ANSWER_COLUMNS, handlers, now, self._new_answers)

    def _stats(
        self, spec: TableSpec, name: str, add: Callable[[DeploymentState, pa.Table], DeploymentState]
    ) -> dict[str, RowHandler]:
        return {_reason(spec): partial(self._add, name, add)}

    def _add(self, name: str, add: Callable[[DeploymentState, pa.Table], DeploymentState], rows: pa.Table) -> None:
        self.deployments[name] = add(self.deployments.get(name, DeploymentState()), rows)

    def _read_one(
        self, spec: TableSpec, deployment: str | None, columns: Columns, handler: RowHandler, now: datetime
    ) -> None:
        self._read(spec, deployment, columns, {_reason(spec): handler}, now)

    def _read(
        self,
        spec: TableSpec,
        deployment: str | None,
        columns: Columns,
        handlers: Mapping[str, RowHandler],
        now: datetime,
        new_rows: NewRows | None = None,
    ) -> None:
        def read() -> Mapping[str, Exception]:
            try:
                return (new_rows or self._new_rows).read(spec, deployment, columns, handlers, now)
            except TableReplacedError:
                self.table_was_replaced = True
                raise

        what = spec.name if deployment is None else f"{spec.name} of {deployment!r}"
        for reason, error in (self._failures.attempt(_reason(spec), read, what) or {}).items():
            self._failures.add(reason, what, error)


def _reason(spec: TableSpec) -> str:
    return f"read_{spec.name}"
