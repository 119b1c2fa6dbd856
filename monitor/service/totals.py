"""Totals over all deployments, for the counters without a label `deployment`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import add

from lake.spec.alert_vocabulary import DELIVERY_EVENTS
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import ALERTS, ANCHORS, SCORES
from lake.spec.table_spec import TableSpec
from monitor.alerting.alerts.alert_stats import AlertStats
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.judge_costs import JudgeCosts, of_each_judge
from monitor.detect.stats.scores import Histogram, ScoreStats
from monitor.detect.stats.sums import add_counts

Counts = Mapping[str, int]
"""Numbers by the value of their label, "" where there is none; empty while they are not known."""


@dataclass(frozen=True)
class FleetTotals:
    """Sums over all deployments; `judge_amounts`, by judge, is in 10^-12 units of the evaluator's currency."""

    evaluations: Counts = field(default_factory=dict)
    skips: Counts = field(default_factory=dict)
    judge_amounts: Counts = field(default_factory=dict)
    deliveries: Counts = field(default_factory=dict)
    lines: Counts = field(default_factory=dict)
    rejected: Counts = field(default_factory=dict)
    histograms: Counts = field(default_factory=dict)
    """The numbers of each metric's histogram of scores, by the metric and their place in it: its buckets, its sum."""

    def histogram_of_each(self) -> dict[str, Histogram]:
        """Return the histogram of each metric's scores, without worst answers."""
        numbers: dict[str, dict[int, int]] = {}
        for label, number in self.histograms.items():
            metric, _, place = label.rpartition(" ")
            numbers.setdefault(metric, {})[int(place)] = number
        in_order = {metric: [of[place] for place in sorted(of)] for metric, of in numbers.items()}
        return {metric: Histogram(tuple(counts), amount) for metric, (*counts, amount) in in_order.items()}


SUMMED_TABLES: Mapping[str, Sequence[TableSpec]] = {
    "evaluations": (SCORES,),
    "skips": (SCORES,),
    "judge_amounts": (SCORES, ANCHORS),
    "deliveries": (ALERTS,),
    "lines": (BATCHES,),
    "rejected": (REJECTED,),
    "histograms": (SCORES,),
}
"""The tables whose rows each field of `FleetTotals` counts."""


def totals_of(
    scores: Collection[ScoreStats],
    costs: Iterable[JudgeCosts],
    alerts: Iterable[AlertStats],
    collector_stats: CollectorStats,
) -> FleetTotals:
    """Return the totals of what each deployment has."""
    skips: dict[str, int] = {}
    for one in scores:
        skips = add_counts(skips, one.skips)
    judge_amounts: dict[str, int] = {}
    for cost in costs:
        judge_amounts = add_counts(judge_amounts, cost.amounts)
    deliveries: dict[str, int] = dict.fromkeys(DELIVERY_EVENTS, 0)
    for totals in alerts:
        deliveries = add_counts(deliveries, dict(totals.deliveries))
    return FleetTotals(
        evaluations={"": sum(one.evaluations for one in scores)},
        skips=skips,
        judge_amounts=of_each_judge(judge_amounts),
        deliveries=deliveries,
        lines=collector_stats.lines,
        rejected=collector_stats.rejected,
        histograms=_histograms(scores),
    )


def _histograms(scores: Iterable[ScoreStats]) -> dict[str, int]:
    sums: dict[str, list[int]] = {}
    for one in scores:
        for metric, stats in one.metrics.items():
            numbers = [*stats.histogram.counts, stats.histogram.amount]
            before = sums.get(metric)
            sums[metric] = numbers if before is None else list(map(add, before, numbers))
    return {f"{metric} {place}": number for metric, numbers in sums.items() for place, number in enumerate(numbers)}


class MonotonicTotals:
    """Totals that never go down while the process lives, although a deployment and its counts may be erased.

    Prometheus takes a smaller counter for one that began again at zero, and so all of it for new.
    """

    def __init__(self) -> None:
        self._shown = asdict(FleetTotals())
        self._lost: dict[str, dict[str, int]] = {name: {} for name in self._shown}
        self._begun_again: set[str] = set()

    def start_over(self) -> None:
        """Expect totals that are counted from the first row again."""
        self._begun_again = set(self._shown)

    def update(self, counted: FleetTotals, known: Collection[str]) -> FleetTotals:
        """Return the totals to show, from what is counted now; fields that are not in `known` stay as they were."""
        for name, counts in asdict(counted).items():
            if name not in known:
                continue
            if name in self._begun_again:
                shown = self._shown[name]
                self._lost[name] = {label: max(0, number - counts.get(label, 0)) for label, number in shown.items()}
                self._begun_again.discard(name)
            self._shown[name] = add_counts(self._lost[name], counts)
        return FleetTotals(**self._shown)
