"""Takes in what is new in the lake's tables, and hands it to those who count it or watch it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
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
    RELEASES,
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
from monitor.ingest.new_rows import NewRows
from monitor.ingest.shared_rows import Into, SharedRows
from monitor.regression import ANCHOR_COLUMNS, RELEASE_COLUMNS, JudgeDriftDetectors, Releases, Streams
from monitor.settings import MonitorSettings
from monitor.snapshot import DeploymentState
from monitor.stats.collector_stats import BATCH_COLUMNS, REJECTED_COLUMNS, CollectorStats
from monitor.stats.judge_costs import JUDGE_COST_COLUMNS
from monitor.stats.ratings import RATING_COLUMNS, Ratings
from monitor.stats.requests import LOG_COLUMNS
from monitor.stats.scores import SCORE_COLUMNS

_ANCHOR_COLUMNS = tuple(dict.fromkeys((*ANCHOR_COLUMNS, *JUDGE_COST_COLUMNS)))

_MANY_DEPLOYMENTS = 20
_MOST_READERS = 4
"""Processes, at a start: one of them reads about half as fast as this one takes in."""

T = TypeVar("T")


class Ingest:
    """What the lake has told since the first row: sums and detectors, all in memory.

    What cannot be read or taken is counted in `failures`, leaves the rest alone, and comes again.
    """

    def __init__(self, lake: Lake, settings: MonitorSettings, failures: Failures, now: datetime) -> None:
        self._failures = failures
        self._new_rows = NewRows(lake)
        self._shared_rows = SharedRows(self._new_rows)
        # Whether an answer is empty is asked for floors alone, and so not of the answers of years.
        self._new_answers = NewRows(lake, ds.field("date") >= (now - KEPT).date())
        self._ratings = Ratings(settings.regression.batch, settings.regression.grace)
        self._regression = settings.regression
        self._releases = Releases()
        self.streams = Streams(settings.regression)
        self.floors = Floors(settings.floors)
        self.anchors = JudgeDriftDetectors(settings.regression.tolerance)
        self.silences = Silences(settings.silences)
        self.collector_stats = CollectorStats()
        self._has_scores = False
        self.state: dict[str, DeploymentState] = {}
        self.table_was_replaced = self.has_new_releases = False
        """Then only an intake that begins anew comes to the right sums, or readings."""

    @contextmanager
    def reading_ahead(self, deployments: Sequence[str | None]) -> Iterator[None]:
        """Where nothing of many deployments has been taken yet, have other processes read ahead in the block."""
        if len(deployments) < _MANY_DEPLOYMENTS or any(map(self._new_rows.has_begun, deployments)):
            yield
            return
        tables = ((PARSED_LOGS, LOG_COLUMNS), (SCORES, SCORE_COLUMNS))
        wanted = [Wanted(spec, name, columns) for name in deployments for spec, columns in tables]
        with self._new_rows.ahead(wanted, min(_MOST_READERS, os.cpu_count() or 1)):
            yield

    def take_silences(self) -> bool:
        """Take in silences; says whether they have been read at least once."""
        self._take(SILENCES, None, SILENCE_COLUMNS, self.silences.add)
        return self._new_rows.has_taken(SILENCES, [None])

    def take_releases(self) -> None:
        """Take in marked releases: before the first scores; later ones are `has_new_releases`."""

        def releases(rows: pa.Table) -> None:
            self._releases = self._releases.with_rows(rows)
            self.has_new_releases = self._has_scores
            if not self._has_scores:
                self.streams = Streams(self._regression, self._releases)

        self._take(RELEASES, None, RELEASE_COLUMNS, releases)

    def take_books(self) -> None:
        """Take in what the collector says of its lines."""

        def batches(rows: pa.Table) -> None:
            self.collector_stats = self.collector_stats.with_batches(rows)

        def rejected(rows: pa.Table) -> None:
            self.collector_stats = self.collector_stats.with_rejected(rows)

        self._take(BATCHES, None, BATCH_COLUMNS, batches)
        self._take(REJECTED, None, REJECTED_COLUMNS, rejected)

    def take_deployment(self, deployment: str | None, now: datetime) -> None:
        """Take in answers, signals, scores and anchors of a deployment."""
        self._has_scores = True
        name = UNASSIGNED if deployment is None else deployment
        logs: dict[str, Into] = {"read_parsed_logs": self._into(name, DeploymentState.with_logs)}
        if deployment is not None:
            logs[FLOORS] = partial(self.floors.add_logs, name, now=now)
        self._share(PARSED_LOGS, deployment, LOG_COLUMNS, logs, now)
        # What the first look at the table has just found unchanged needs no second one.
        if deployment is not None and not self._new_answers.is_as_far_as(self._new_rows, PARSED_LOGS, deployment):
            answers = partial(self.floors.add_answers, name, now=now)
            self._take(PARSED_LOGS, deployment, ANSWER_COLUMNS, answers, self._new_answers)
        signals: dict[str, Into] = {
            "read_user_signals": self._into(name, DeploymentState.with_signals),
            REGRESSIONS: self._ratings.add,
        }
        self._share(USER_SIGNALS, deployment, RATING_COLUMNS, signals, now)
        scores: dict[str, Into] = {
            "read_scores": self._into(name, DeploymentState.with_scores),
            FLOORS: partial(self.floors.add_scores, name, now=now),
            REGRESSIONS: partial(self.streams.add, now=now),
        }
        self._share(SCORES, deployment, SCORE_COLUMNS, scores, now)
        anchors: dict[str, Into] = {
            "read_anchors": self._into(name, DeploymentState.with_anchors),
            JUDGES: self.anchors.feed,
        }
        self._share(ANCHORS, deployment, _ANCHOR_COLUMNS, anchors, now)

    def hand_on_ratings(self, now: datetime) -> None:
        """Count and watch the ratings whose hour is over."""
        takers = {
            "read_user_signals": lambda name, rows: self._into(name, DeploymentState.with_ratings)(rows),
            REGRESSIONS: lambda _, rows: self.streams.add(rows, now),
        }
        refused = self._failures.attempt(REGRESSIONS, lambda: self._ratings.hand_on(takers, now)) or {}
        for (deployment, reason), error in refused.items():
            self._failures.add(reason, f"ratings of {deployment!r}", error)

    def take_alerts(self, deployments: Sequence[str | None]) -> None:
        """Take in what was told of alerts."""
        for deployment in deployments:
            name = UNASSIGNED if deployment is None else deployment
            self._take(ALERTS, deployment, ALERT_COLUMNS, self._into(name, DeploymentState.with_alerts))

    def has_all(self, name: str) -> bool:
        """Whether figures and detectors of a deployment lack nothing: else they know too little to end an alert."""
        tables, takers = (SCORES, USER_SIGNALS), ("read_{}", REGRESSIONS)
        return not self._ratings.waits(name) and all(
            self._shared_rows.has_given(spec, name, taker.format(spec.name)) for spec in tables for taker in takers
        )

    def has_given(self, specs: Sequence[TableSpec], deployments: Sequence[str | None]) -> bool:
        """Whether the figures lack no rows of these tables; one that is not there counts as read."""
        places = [(spec, place) for spec in specs for place in (deployments if spec.per_deployment else [None])]
        return all(self._shared_rows.has_given(spec, place, f"read_{spec.name}") for spec, place in places)

    def _into(self, name: str, add: Callable[[DeploymentState, pa.Table], DeploymentState]) -> Into:
        def into(rows: pa.Table) -> None:
            self.state[name] = add(self.state.get(name, DeploymentState()), rows)

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
            self._failures.add(reason, _what(spec, deployment), error)

    def _read(self, spec: TableSpec, deployment: str | None, read: Callable[[], T]) -> T | None:
        def step() -> T:
            try:
                return read()
            except TableReplacedError:
                self.table_was_replaced = True
                raise

        return self._failures.attempt(f"read_{spec.name}", step, _what(spec, deployment))


def _what(spec: TableSpec, deployment: str | None) -> str:
    return spec.name if deployment is None else f"{spec.name} of {deployment!r}"
