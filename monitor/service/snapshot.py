"""Snapshot of all that the monitor knows at one moment; exporter and pages show nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lake.queries.answer_rows import IS_PRODUCTION
from lake.queries.application_classes import DecidedClass
from lake.spec.alert_vocabulary import AlertEvent, LimitKind
from monitor.alerting.alerts.alert_stats import AlertStats
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.controls.silences import Silence, SilencedSpan
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.related import RECENT, Related, RelatedIncidents
from monitor.alerting.incidents.shared_cause import Callers
from monitor.detect.causes.daily import SettingChanges
from monitor.detect.limits import LimitReading
from monitor.detect.regression import Judgement, JudgeReading, Reading, Release, StreamKey
from monitor.detect.stats.client_traffic import ClientTraffic
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.judge_costs import JudgeCosts
from monitor.detect.stats.replays import ReplayStats
from monitor.detect.stats.requests import RequestStats, production
from monitor.detect.stats.scores import MetricStats, ScoreStats
from monitor.detect.stats.unjoined_signals import UnjoinedCounts
from monitor.service.totals import FleetTotals

T = TypeVar("T")


@dataclass(frozen=True)
class DeploymentState:
    """All that is known of one deployment.

    `requests` are those of production, `other_requests` those of other origins, by `parsed_logs.origin`.

    `readings`, `judges` and `judgements` are of each metric's version that was scored last: `judges` has the metrics
    with anchors, `judgements` those with an active regression. A metric that is not watched is in `stopped` with the
    error in words, or in `idle` with when its last score was made, `IDLE` ago or longer, or before the application got
    a class of which it is not; `stopped_judges` and
    `stopped_limits` have the errors of judges and limits. `ratings` are people's likes and dislikes as scores.
    `changes` are those of its alerts that fired or are over, newest first, and `incidents` are what these alerts belong
    to, newest first. `judge_costs` include those of anchors. `setting_changes` are what the application asked otherwise
    of its models, whether anything got worse or not.
    """

    requests: RequestStats = field(default_factory=RequestStats)
    other_requests: Mapping[str, RequestStats] = field(default_factory=dict)
    scores: ScoreStats = field(default_factory=ScoreStats)
    judge_costs: JudgeCosts = field(default_factory=JudgeCosts)
    alerts: AlertStats = field(default_factory=AlertStats)
    readings: Mapping[str, Reading] = field(default_factory=dict)
    judges: Mapping[str, JudgeReading] = field(default_factory=dict)
    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    stopped: Mapping[str, str] = field(default_factory=dict)
    stopped_judges: Mapping[str, str] = field(default_factory=dict)
    stopped_limits: Mapping[str, str] = field(default_factory=dict)
    idle: Mapping[str, datetime] = field(default_factory=dict)
    ratings: ScoreStats = field(default_factory=ScoreStats)
    client_traffic: ClientTraffic = field(default_factory=ClientTraffic)
    setting_changes: SettingChanges = field(default_factory=SettingChanges)
    replays: ReplayStats = field(default_factory=ReplayStats)
    limits: Mapping[LimitKind, LimitReading] = field(default_factory=dict)
    changes: tuple[AlertChange, ...] = ()
    incidents: tuple[Incident, ...] = ()

    def with_logs(self, rows: pa.Table) -> DeploymentState:
        """Add rows of `parsed_logs` (columns LOG_COLUMNS)."""
        own = production(rows)
        state = replace(self, requests=self.requests.with_logs(own))
        if own.num_rows == rows.num_rows:
            return state
        others = dict(self.other_requests)
        for origin in rows.filter(~IS_PRODUCTION)["origin"].unique().to_pylist():
            mine = rows.filter(pc.equal(rows["origin"], origin))
            others[origin] = others.get(origin, RequestStats()).with_logs(mine)
        return replace(state, other_requests={origin: others[origin] for origin in sorted(others)})

    def with_clients(self, rows: pa.Table) -> DeploymentState:
        """Add rows of `parsed_logs` (columns CLIENT_COLUMNS)."""
        return replace(self, client_traffic=self.client_traffic.with_logs(rows))

    def with_signals(self, rows: pa.Table) -> DeploymentState:
        """Add rows of `user_signals` (columns RATING_COLUMNS)."""
        return replace(self, requests=self.requests.with_signals(rows))

    def with_scores(self, rows: pa.Table) -> DeploymentState:
        """Add rows of `scores` (columns SCORE_COLUMNS)."""
        return replace(self, scores=self.scores.with_scores(rows), judge_costs=self.judge_costs.with_rows(rows))

    def with_anchors(self, rows: pa.Table) -> DeploymentState:
        """Add rows of `anchors` (columns JUDGE_COST_COLUMNS)."""
        return replace(self, judge_costs=self.judge_costs.with_rows(rows))

    def with_replays(self, rows: pa.Table) -> DeploymentState:
        """Add rows of `replays` (columns REPLAY_COLUMNS)."""
        return replace(self, replays=self.replays.with_replays(rows))

    def with_ratings(self, rows: pa.Table) -> DeploymentState:
        """Add ratings as rows of scores (columns SCORE_COLUMNS)."""
        return replace(self, ratings=self.ratings.with_scores(rows))

    def with_alerts(self, rows: pa.Table) -> DeploymentState:
        """Add rows of `alerts` (columns ALERT_COLUMNS)."""
        return replace(self, alerts=self.alerts.with_alerts(rows))

    @property
    def watched(self) -> Mapping[str, MetricStats]:
        """All metrics that have values: the evaluator's, and people's ratings."""
        return {**self.scores.metrics, **self.ratings.metrics}

    @property
    def silent_since(self) -> datetime | None:
        """When the last request came, if that is longer ago than usual; None where the limit `no_data` is off."""
        heard = self.limits.get(LimitKind.NO_DATA)
        return heard.silent_since if heard else None

    @property
    def firing(self) -> tuple[AlertChange, ...]:
        """The newest changes of the alerts that fire, latest first."""
        newest = {change.key: change for change in reversed(self.changes)}
        fires = (change for change in self.changes if change.change == AlertEvent.FIRING)
        return tuple(change for change in fires if newest[change.key] is change)

    @property
    def exceeded(self) -> tuple[AlertChange, ...]:
        """The limits that fire, latest first, but for judges that changed: `judges` says that of each metric."""
        return tuple(change for change in self.firing if change.is_limit and not change.is_judge_drift)


@dataclass(frozen=True)
class Snapshot:
    """All that is known; never changed once it is published.

    `deployments` is keyed by DIAL's name, `_unassigned` for rows that name none. `failed_deliveries` counts the
    attempts at a webhook that did not deliver since the process began. `disabled_webhooks` says by name which receivers
    want no more messages, `failing_webhooks` for which receivers messages wait. `without_receiver` are the deployments
    that no receiver is for, `unsent` is how many alerts that fire go to nobody for that reason. `refresh_seconds` is
    how long the last refresh took. `judge_budgets_left` is what is left of each judge's budget of the day by the costs
    in rows of scores and anchors. `totals` are sums over all deployments, those that have been erased since included.
    `silences` are those that hold back now, `silenced` those of the last 90 days, and `releases` the marks that nobody
    took back. `unfit_limits` says which limits of means are compared with nothing. `unjoined` are the signals of the
    last 7 days that are joined with no answer, by deployment, where they have been counted. `classes` say by deployment
    what it does, and which metrics are scored for that. `callers` are by deployment those that called it lately.
    """

    taken_at: datetime
    deployments: Mapping[str, DeploymentState]
    collector_stats: CollectorStats
    failed_deliveries: int
    refresh_seconds: float
    disabled_webhooks: Mapping[str, bool] = field(default_factory=dict)
    failing_webhooks: Mapping[str, bool] = field(default_factory=dict)
    """By name, whether messages wait for the receiver, as it did not take the last one."""
    without_receiver: frozenset[str] = frozenset()
    unsent: int = 0
    judge_budgets_left: Mapping[str, float] = field(default_factory=dict)
    totals: FleetTotals = field(default_factory=FleetTotals)
    silences: tuple[Silence, ...] = ()
    silenced: tuple[SilencedSpan, ...] = ()
    releases: tuple[Release, ...] = ()
    unfit_limits: tuple[str, ...] = ()
    unjoined: Mapping[str, UnjoinedCounts] = field(default_factory=dict)
    classes: Mapping[str, DecidedClass] = field(default_factory=dict)
    callers: Callers = field(default_factory=dict)

    @property
    def recent_incidents(self) -> list[Incident]:
        """The incidents that are open, and those that ended in the last two days."""
        return self._incidents_since(self.taken_at - RECENT)

    def related_to(self, incident: Incident) -> tuple[Related, ...]:
        """Return the incidents that may have the same cause as one of them."""
        return RelatedIncidents(self._incidents_since(incident.opened_at - RECENT), self.callers).of(incident)

    def _incidents_since(self, at: datetime) -> list[Incident]:
        every = (one for state in self.deployments.values() for one in state.incidents)
        return [one for one in every if one.ended_at is None or one.ended_at >= at]

    @property
    def open_incidents(self) -> list[Incident]:
        """The incidents of all deployments that are open."""
        return [one for state in self.deployments.values() for one in state.incidents if one.ended_at is None]

    def with_state(self, deployment: str, state: DeploymentState) -> Snapshot:
        """Return the snapshot with another state of a deployment."""
        return replace(self, deployments={**self.deployments, deployment: state})


def watched_streams(
    deployments: Mapping[str, DeploymentState],
    streams: Mapping[StreamKey, T],
    now: datetime,
    replaced: Collection[str],
) -> Mapping[str, Mapping[str, T]]:
    """By deployment and metric, of the version that was scored last, and lately: all else is over.

    `replaced` are deployments of which another version is in use.
    """
    chosen: dict[str, dict[str, T]] = {}
    for key, found in streams.items():
        state = deployments.get(key.deployment)
        metric = state.watched.get(key.metric) if state else None
        if metric is None or metric.version != key.metric_version:
            continue
        if not metric.is_idle(now, is_replaced=key.deployment in replaced):
            chosen.setdefault(key.deployment, {})[key.metric] = found
    return chosen
