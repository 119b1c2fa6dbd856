"""The page of a deployment: all that it shows, made from a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from lake.queries.application_classes import DecidedClass
from lake.queries.signals_by_answer import UnjoinedReason
from lake.spec.alert_vocabulary import AlertEvent, LimitKind
from lake.spec.vocabulary import REFUSAL, Signal, asks_llm
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.controls.silences import Silence
from monitor.detect.regression import StreamKey
from monitor.detect.stats.client_traffic import Burst
from monitor.detect.stats.sums import ROUGH_PER_UNIT
from monitor.detect.stats.unjoined_signals import UnjoinedCounts
from monitor.pages.charts import Drawing, Point, TimeChart, draw
from monitor.pages.deployment.failures import FailuresView, failures_of
from monitor.pages.deployment.judges import Judges, judges_of
from monitor.pages.deployment.metrics import MetricView, metrics_of
from monitor.pages.deployment.tools import ToolCount, tools_of
from monitor.pages.news import EndedIncident, WorseDeployment, just_ended, worse_deployments
from monitor.pages.period import Days, PagePeriod
from monitor.service.snapshot import DeploymentState, Snapshot

_WHY_UNJOINED = {
    UnjoinedReason.UNKNOWN_ID: "no answer in the log has the id",
    UnjoinedReason.SHARED_ID: "several answers have the id, and none of them is of the conversation or person",
    UnjoinedReason.NO_ID: "no id was sent, and no answer without one is of the conversation or person",
}


@dataclass(frozen=True)
class DeploymentQuery:
    """What the address says: which deployment, over which period."""

    name: str
    days: Days = Days.WEEK

    def address(self, path: str = "/deployment") -> str:
        """Return the address that says this; the usual period is not in it."""
        days = {} if self.days is Days.WEEK else {"days": str(self.days.value)}
        return f"{path}?{urlencode({'name': self.name} | days, safe='/', errors='replace')}"

    def over(self, days: Days) -> str:
        """Return the address of another period."""
        return replace(self, days=days).address()


@dataclass(frozen=True)
class Totals:
    """Counts and costs of a period."""

    requests: int
    answers: int
    failed: int
    tokens: int
    own_cost: float
    entry_cost: float
    likes: int
    dislikes: int


@dataclass(frozen=True)
class DeploymentView:
    """One deployment over a period; `unjoined` are the signals of the last 7 days, None where they are not counted.

    `decided` is what it does, None as long as that is not known.
    """

    query: DeploymentQuery
    period: PagePeriod
    state: DeploymentState
    silences: tuple[Silence, ...]
    """Those that hold back now."""
    totals: Totals
    traffic: Drawing
    decided: DecidedClass | None
    metrics: tuple[MetricView, ...]
    failures: FailuresView
    tools: tuple[ToolCount, ...]
    judges: Judges
    unjoined: UnjoinedCounts | None
    bursts: tuple[Burst, ...]
    """Clients that send many times their usual; without a name for who may not know it."""

    @property
    def name(self) -> str:
        """Name of the deployment."""
        return self.query.name

    @property
    def worse(self) -> tuple[WorseDeployment, ...]:
        """The deployment with its regressions that have not ended; empty where there are none."""
        return tuple(worse_deployments(self.name, self.state))

    @property
    def ended(self) -> EndedIncident | None:
        """The incident that ended last, within the last day, where none is open."""
        return just_ended(self.state, self.period.end)

    @property
    def worst(self) -> Sequence[AlertChange]:
        """The newest change of each alert that fires and names answers."""
        newest: dict[StreamKey, AlertChange] = {}
        for change in self.state.changes:
            newest.setdefault(change.key, change)
        return [one for one in newest.values() if one.change == AlertEvent.FIRING and one.details.worst]

    @property
    def not_measured(self) -> Mapping[LimitKind, str]:
        """Limits of what nothing measures, and why."""
        metrics = self.state.scores.metrics
        found: dict[LimitKind, str] = {}
        if REFUSAL not in metrics:
            found[LimitKind.REFUSALS] = f"as the metric {REFUSAL} is not scored"
        if not any(asks_llm(scores.judge) for scores in metrics.values()):
            found[LimitKind.UNSCORED] = "as no judge scores"
        return found

    @property
    def why_unjoined(self) -> Mapping[str, int]:
        """Numbers of the signals that are joined with no answer, by the reason in words."""
        counts = self.unjoined.by_reason if self.unjoined else {}
        return {_WHY_UNJOINED[reason]: number for reason, number in counts.items() if number}

    @property
    def other_signals(self) -> Mapping[str, int]:
        """All signals since the lake began that are neither a like nor a dislike."""
        signals = self.state.requests.signals
        return {name: number for name, number in signals.items() if name not in (Signal.LIKE, Signal.DISLIKE)}


def view_of(query: DeploymentQuery, snapshot: Snapshot, may_name_clients: bool = False) -> DeploymentView | None:
    """Work out the page of a deployment; None where the snapshot has no such deployment."""
    state, period = snapshot.deployments.get(query.name), PagePeriod(query.days, snapshot.taken_at)
    if state is None:
        return None
    return DeploymentView(
        query=query,
        period=period,
        state=state,
        silences=tuple(one for one in snapshot.silences if one.deployment in (None, query.name)),
        totals=_totals(state, period),
        traffic=draw(_traffic(state, period)),
        decided=snapshot.classes.get(query.name),
        metrics=metrics_of(query.name, snapshot, period),
        failures=failures_of(query.name, snapshot, period),
        tools=tools_of(query.name, state, period),
        judges=judges_of(state, period),
        unjoined=snapshot.unjoined.get(query.name),
        bursts=tuple(
            one if may_name_clients else replace(one, client="")
            for one in state.client_traffic.bursts(snapshot.taken_at)
        ),
    )


def _totals(state: DeploymentState, period: PagePeriod) -> Totals:
    first, last = period.first, period.last
    requests, answers, tokens, own, entry = state.requests.by_time.total(first, last) or (0.0,) * 5
    likes, dislikes = state.requests.rated_by_time.total(first, last) or (0.0, 0.0)
    failed = sum(number for sums in state.requests.failed_by_time.values() for number in sums.total(first, last))
    return Totals(
        int(requests),
        int(answers),
        int(failed),
        int(tokens),
        own / ROUGH_PER_UNIT,
        entry / ROUGH_PER_UNIT,
        int(likes),
        int(dislikes),
    )


def _traffic(state: DeploymentState, period: PagePeriod) -> TimeChart:
    slots = state.requests.by_time.by_slot(period.first, period.last, period.slot_hours).tolist()
    return TimeChart(
        key="traffic",
        name="Answers",
        begin=period.begin,
        slot=period.slot,
        points=[Point(row[1] if row else 0.0, number=int(row[0]) if row else 0) for row in slots],
        quantity="answers",
        counted="requests",
        is_bars=True,
        is_whole=True,
        decimals=0,
    )
