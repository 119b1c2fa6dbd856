"""Reader of all tables of the monitor: it hands their new rows to the stats and the detectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.delta_log.change import TableReplacedError
from lake.spec.alert_vocabulary import LimitKind
from lake.spec.case_tables import REPLAYS
from lake.spec.root_tables import BATCHES, REJECTED, RELEASES, SILENCES
from lake.spec.schemas import ALERTS, ANCHORS, INCIDENTS, PARSED_LOGS, SCORES, UNASSIGNED, USER_SIGNALS
from lake.spec.table_spec import TableSpec
from lake.spec.vocabulary import DISLIKES
from lake.tables.open_tables import TableSource
from monitor.alerting.alerts.alert_stats import ALERT_COLUMNS
from monitor.alerting.controls.silences import SILENCE_COLUMNS, Silences
from monitor.alerting.incidents.change import INCIDENT_COLUMNS
from monitor.alerting.incidents.log import IncidentLog
from monitor.detect.limits import ANSWER_COLUMNS, KEPT, Limits
from monitor.detect.regression import ANCHOR_COLUMNS, RELEASE_COLUMNS, JudgeDriftDetectors, Release, Releases, Streams
from monitor.detect.stats.client_traffic import CLIENT_COLUMNS
from monitor.detect.stats.collector_stats import BATCH_COLUMNS, REJECTED_COLUMNS, CollectorStats
from monitor.detect.stats.judge_costs import JUDGE_COST_COLUMNS
from monitor.detect.stats.ratings import RATING_COLUMNS, Ratings
from monitor.detect.stats.replays import REPLAY_COLUMNS
from monitor.detect.stats.requests import LOG_EXPRESSIONS
from monitor.detect.stats.scores import SCORE_COLUMNS, ScoreStats
from monitor.service.health.failures import JUDGES, LIMITS, REGRESSIONS, Failures
from monitor.service.ingest.new_rows import MOST_ROWS, Columns, NewRows, RowHandler, portions
from monitor.service.ingest.relearning import Relearning, RelearningKind
from monitor.service.snapshot import DeploymentState
from monitor.settings import MonitorSettings

_ANCHOR_COLUMNS = tuple(dict.fromkeys((*ANCHOR_COLUMNS, *JUDGE_COST_COLUMNS)))
_RECENT_COLUMNS = ANSWER_COLUMNS | {name: pc.field(name) for name in CLIENT_COLUMNS}
_IN_PORTIONS = (PARSED_LOGS, USER_SIGNALS, SCORES)
"""Tables of which a year may be too much to be read at once."""
READ_OF_DEPLOYMENTS = (*_IN_PORTIONS, ANCHORS, REPLAYS, ALERTS, INCIDENTS)
"""Tables of each deployment that are read."""
_READS_A_ROUND = 4
"""Full portions, of all deployments together, that are read before batches are closed."""


class Ingest:
    """Stats and detectors in memory, made of the rows of the lake.

    A table that cannot be read, and a handler that fails, are counted in `failures` and leave the rest alone; the rows
    come again. Handlers have as their names the reasons that are counted where they fail.
    """

    def __init__(self, lake: TableSource, settings: MonitorSettings, failures: Failures, now: datetime) -> None:
        self._failures = failures
        self.new_rows = NewRows(lake)
        # Whether an answer is empty, and whose it was, is not asked of the answers of years.
        self._kept_since = (now - KEPT).date()
        self.new_answers = NewRows(lake, ds.field("date") >= self._kept_since, self._kept_since)
        self.ratings = Ratings(settings.regression.batch, settings.regression.grace)
        self._settings = settings
        self._releases = Releases()
        self._has_scores = False
        self._relearning = Relearning("relearn_streams")
        self._relearning_judges = Relearning("relearn_judges")
        self._relearning_limits = Relearning("relearn_floors")
        self.relearned_at: dict[tuple[str, str], datetime] = {}
        """When the streams of a deployment's metric, alone, last began to learn anew after an error."""
        self.streams = self._new_streams()
        self.limits = Limits(settings.limits, settings.families)
        self.judges = JudgeDriftDetectors(settings.regression.tolerance)
        self.silences = Silences(settings.silences)
        self.incidents = IncidentLog(lake)
        self.collector_stats = CollectorStats()
        self.deployments: dict[str, DeploymentState] = {}
        self.replaced: set[str | None] = set()
        """Deployments one of whose tables was replaced; None is of the root."""
        self.has_new_releases = False
        """Then only an `Ingest` that begins anew comes to the right readings."""

    def _new_streams(self) -> Streams:
        settings = self._settings
        return Streams(settings.regression, self._releases, settings.families, settings.limits.limit_of)

    def open(self, deployments: Iterable[str | None]) -> None:
        """Open the tables of deployments, so that all of them can be looked at together."""
        for deployment in deployments:
            for spec in READ_OF_DEPLOYMENTS:
                if deployment is not None or spec is not INCIDENTS:
                    self.new_rows.open(spec, deployment)

    def read_history(
        self, deployments: Sequence[str | None], now: datetime, is_stopping: Callable[[], bool] = lambda: False
    ) -> None:
        """Read all but the last portion of what deployments have that were never read, if that is too much at once.

        All of them day by day together: how much evidence pages depends on the streams of that time.
        """
        sizes: Counter[date] = Counter()
        for deployment in deployments:
            for spec in _IN_PORTIONS:
                # What cannot be read is met again by who reads it, and counted there.
                with suppress(Exception):
                    sizes += self.new_rows.days(spec, deployment)
        for until in list(portions(dict(sorted(sizes.items())), _READS_A_ROUND * MOST_ROWS))[:-1]:
            for deployment in deployments:
                if is_stopping():
                    return
                self.read_deployment(deployment, now, until)
            self.settle_ratings(now)
            self._failures.attempt(REGRESSIONS, self.streams.close_batches)

    def relearn(self, deployment: str, metrics: Mapping[str, datetime | None], now: datetime) -> None:
        """Have the streams of some metrics, which are forgotten, learn from their rows from a time on, or from all."""
        if DISLIKES in metrics:
            self._relearn_ratings(deployment, now)
        scored = {metric: since for metric, since in metrics.items() if metric != DISLIKES}
        if not scored:
            return
        every = self._relearning.begin(deployment, scored.keys())
        self.streams.forget_metrics(deployment, every)
        times = [since for since in scored.values() if since is not None]
        begin = min(times).date() if len(times) == len(every) else None
        self.new_rows.begin_late(SCORES, deployment, self._relearning.handler, now, begin)

    def note_relearned(self) -> None:
        """Note what has learned anew from all of its rows without an error."""
        for kind in self.kinds().values():
            for deployment, names in kind.stopped.learning().items():
                reading = kind.relearning.of(deployment)
                if self.new_rows.is_late(USER_SIGNALS, deployment, REGRESSIONS):
                    reading |= {DISLIKES}
                kind.stopped.note_working(deployment, names - reading)

    def kinds(self) -> Mapping[str, RelearningKind]:
        """Return by name what an error may stop."""
        return {
            "streams": RelearningKind(self.streams.stopped, self._relearning, self._relearn_streams),
            "judges": RelearningKind(self.judges.stopped, self._relearning_judges, self._relearn_judges),
            "limits": RelearningKind(self.limits.stopped, self._relearning_limits, self._relearn_limits),
        }

    def _relearn_streams(self, deployment: str, metrics: Set[str], now: datetime) -> None:
        self.relearn(deployment, dict.fromkeys(metrics), now)
        self.relearned_at |= {(deployment, metric): now for metric in metrics}

    def _relearn_judges(self, deployment: str, metrics: Set[str], now: datetime) -> None:
        self.judges.forget_metrics(deployment, self._relearning_judges.begin(deployment, metrics))
        self.new_rows.begin_late(ANCHORS, deployment, self._relearning_judges.handler, now)

    def _relearn_limits(self, deployment: str, limits: Set[str], now: datetime) -> None:
        every, handler = self._relearning_limits.begin(deployment, limits), self._relearning_limits.handler
        self.limits.forget_limits(deployment, every)
        if every & {LimitKind.ERRORS, LimitKind.NO_DATA, LimitKind.TOOL_ERRORS}:
            self.new_rows.begin_late(PARSED_LOGS, deployment, handler, now)
        if every & {LimitKind.EMPTY_ANSWERS, LimitKind.CHILD_ERRORS}:
            self.new_answers.begin_late(PARSED_LOGS, deployment, handler, now, self._kept_since)
        if every & {LimitKind.REFUSALS, LimitKind.UNSCORED}:
            self.new_rows.begin_late(SCORES, deployment, handler, now)

    def relearn_all(self, deployment: str, now: datetime) -> None:
        """Have all streams of a deployment, which are forgotten, learn from all rows that there are."""
        self._relearn_ratings(deployment, now)
        self.new_rows.begin_late(SCORES, deployment, REGRESSIONS, now)

    def forget(self, deployment: str | None) -> None:
        """Forget all of a deployment but its alerts' rows in the lake; it can then be read or restored as a new one."""
        name = UNASSIGNED if deployment is None else deployment
        self.deployments.pop(name, None)
        for relearning in (self._relearning, self._relearning_judges, self._relearning_limits):
            relearning.end(name)
        self.relearned_at = {stream: at for stream, at in self.relearned_at.items() if stream[0] != name}
        for part in (self.streams, self.limits, self.judges, self.ratings):
            part.forget(name)
        for reader in (self.new_rows, self.new_answers):
            reader.forget(deployment)

    def read_silences(self, now: datetime) -> bool:
        """Read silences; says whether they have been read at least once."""
        self._read_one(SILENCES, None, SILENCE_COLUMNS, self.silences.add, now)
        return self.new_rows.has_read(SILENCES, [None], _reason(SILENCES))

    def read_releases(self, now: datetime) -> None:
        """Read marked releases: before the first scores; later ones are `has_new_releases`."""

        def releases(rows: pa.Table) -> None:
            self._releases = self._releases.with_rows(rows)
            self.has_new_releases = self._has_scores
            if not self._has_scores:
                self.streams = self._new_streams()

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

    def read_deployment(self, deployment: str | None, now: datetime, until: date | None = None) -> None:
        """Read requests, signals, scores, anchors and replays of a deployment.

        With `until` only requests, signals and scores that were there when the reading began, up to that day.
        """
        self._has_scores = True
        name = UNASSIGNED if deployment is None else deployment
        logs = self._stats(PARSED_LOGS, name, DeploymentState.with_logs)
        if deployment is not None:
            logs |= self._by_relearning(
                self._relearning_limits, name, LIMITS, partial(self.limits.add_logs, name, now=now)
            )
        self._read(PARSED_LOGS, deployment, LOG_EXPRESSIONS, logs, now, until=until)
        if deployment is not None and until is None:
            self._read_answers(deployment, now)
        signals = self._stats(USER_SIGNALS, name, DeploymentState.with_signals) | {REGRESSIONS: self.ratings.add}
        self._read(USER_SIGNALS, deployment, RATING_COLUMNS, signals, now, until=until)
        self._read_scores(deployment, name, now, until)
        if until is not None:
            return
        anchors = self._stats(ANCHORS, name, DeploymentState.with_anchors)
        anchors |= self._by_relearning(self._relearning_judges, name, JUDGES, self.judges.add)
        self._read(ANCHORS, deployment, _ANCHOR_COLUMNS, anchors, now)
        replays = self._stats(REPLAYS, name, DeploymentState.with_replays)
        self._read(REPLAYS, deployment, REPLAY_COLUMNS, replays, now)
        self._end_relearning(deployment, name)

    def _read_scores(self, deployment: str | None, name: str, now: datetime, until: date | None) -> None:
        scores = self._stats(SCORES, name, DeploymentState.with_scores)
        limits, streams = partial(self.limits.add_scores, name, now=now), partial(self.streams.add, now=now)
        scores |= self._by_relearning(self._relearning_limits, name, LIMITS, limits)
        scores |= self._by_relearning(self._relearning, name, REGRESSIONS, streams)
        self._read(SCORES, deployment, SCORE_COLUMNS, scores, now, until=until)

    def _by_relearning(
        self, relearning: Relearning, name: str, reason: str, add: Callable[..., None]
    ) -> dict[str, RowHandler]:
        """Return the handler of a reason, and that of what learns anew, which the first one leaves out."""
        mine = relearning.of(name)
        handlers: dict[str, RowHandler] = {reason: partial(add, without=mine) if mine else add}
        return handlers | ({relearning.handler: partial(add, only=mine)} if mine else {})

    def _end_relearning(self, deployment: str | None, name: str) -> None:
        """Have the other handlers take all rows again where that of what learns anew has as many."""
        tables = (self.new_rows, (PARSED_LOGS, SCORES, ANCHORS)), (self.new_answers, (PARSED_LOGS,))
        for relearning in (self._relearning, self._relearning_judges, self._relearning_limits):
            if not any(rows.is_late(spec, deployment, relearning.handler) for rows, specs in tables for spec in specs):
                relearning.end(name)

    def _relearn_ratings(self, deployment: str, now: datetime) -> None:
        self.ratings.forget(deployment)
        state = self.deployments.get(deployment)
        if state is not None:
            self.deployments[deployment] = replace(state, ratings=ScoreStats())
        self.new_rows.begin_late(USER_SIGNALS, deployment, REGRESSIONS, now)

    def settle_ratings(self, now: datetime) -> None:
        """Count and watch, as scores, the ratings whose batch is over."""
        handlers = {
            _reason(USER_SIGNALS): lambda name, rows: self._add(name, DeploymentState.with_ratings, rows),
            REGRESSIONS: lambda _, rows: self.streams.add(rows, now),
        }
        errors = self._failures.attempt(REGRESSIONS, lambda: self.ratings.settle(handlers, now)) or {}
        for (deployment, reason), error in errors.items():
            self._failures.add(reason, f"ratings of {deployment!r}", error)

    def read_alerts(self, deployments: Iterable[str | None], now: datetime) -> None:
        """Read the changes of alerts, and what came of their deliveries."""
        for deployment in deployments:
            name = UNASSIGNED if deployment is None else deployment
            handlers = self._stats(ALERTS, name, DeploymentState.with_alerts)
            self._read(ALERTS, deployment, ALERT_COLUMNS, handlers, now)

    def read_incidents(self, deployments: Iterable[str | None], now: datetime) -> None:
        """Read what was written of incidents: what follows from alerts, and what people took note of."""
        for deployment in deployments:
            if deployment is not None:
                handlers = {_reason(INCIDENTS): partial(self.incidents.add, deployment)}
                self._read(INCIDENTS, deployment, INCIDENT_COLUMNS, handlers, now)

    def is_complete(self, deployment: str) -> bool:
        """Whether stats and detectors of a deployment lack no rows: else they know too little to end an alert."""
        return not self.ratings.are_unsettled(deployment) and all(
            self.new_rows.has_read(spec, [deployment], handler)
            for spec in (SCORES, USER_SIGNALS)
            for handler in (_reason(spec), REGRESSIONS, self._relearning.handler)
        )

    def knows_judges(self, deployment: str) -> bool:
        """Whether no row of the anchors of a deployment is missing."""
        handlers = JUDGES, self._relearning_judges.handler
        return all(self.new_rows.has_read(ANCHORS, [deployment], one) for one in handlers)

    def has_counted(self, specs: Sequence[TableSpec], deployments: Sequence[str | None]) -> bool:
        """Whether the stats lack no rows of these tables; a table that is not there counts as read."""
        return all(
            self.new_rows.has_read(spec, deployments if spec.per_deployment else [None], _reason(spec))
            for spec in specs
        )

    def _read_answers(self, deployment: str, now: datetime) -> None:
        # What the first read of the table has just found unchanged needs no second one.
        if not self.new_answers.is_as_far_as(self.new_rows, PARSED_LOGS, deployment):
            answers = partial(self.limits.add_answers, deployment, now=now)
            handlers = self._by_relearning(self._relearning_limits, deployment, LIMITS, answers)
            handlers |= self._stats(PARSED_LOGS, deployment, DeploymentState.with_clients)
            self._read(PARSED_LOGS, deployment, _RECENT_COLUMNS, handlers, now, self.new_answers)

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
        until: date | None = None,
    ) -> None:
        def read() -> Mapping[str, Exception]:
            try:
                return (new_rows or self.new_rows).read(spec, deployment, columns, handlers, now, until)
            except TableReplacedError:
                self.replaced.add(deployment)
                raise

        what = _title(spec, deployment)
        for reason, error in (self._failures.attempt(_reason(spec), read, what) or {}).items():
            self._failures.add(reason, what, error)


def _title(spec: TableSpec, deployment: str | None) -> str:
    return spec.name if deployment is None else f"{spec.name} of {deployment!r}"


def _reason(spec: TableSpec) -> str:
    return f"read_{spec.name}"
