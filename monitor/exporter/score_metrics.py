"""Metrics of scores and of the evaluator that made them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from prometheus_client.core import HistogramMetricFamily, InfoMetricFamily, Metric
from prometheus_client.samples import Exemplar

from lake.queries.affected import GroupKind
from lake.spec.case_vocabulary import FailedPart
from lake.spec.vocabulary import one_of
from monitor.detect.stats.scores import BUCKETS, DAY, Histogram
from monitor.detect.stats.sums import PER_UNIT
from monitor.exporter.metric_families import by_label, counter, gauge
from monitor.service.snapshot import DeploymentState, Snapshot
from monitor.service.totals import FleetTotals

_BOUNDS = (*map(str, BUCKETS), "+Inf")
_AFFECTED = (
    ("dialwatch_incident_requests", "requests", "Requests"),
    ("dialwatch_incident_conversations", "conversations", "Conversations"),
    ("dialwatch_incident_people", "people", "People who asked"),
)
_Deployments = Mapping[str, DeploymentState]


def score_metrics(snapshot: Snapshot, *, with_details: bool) -> Iterator[Metric]:
    """Yield histograms of scores, counts of evaluations, the costs of judges, and what made the newest scores."""
    yield _all_scores(snapshot.deployments, snapshot.totals)
    yield from _evaluations(snapshot.deployments, snapshot.totals)
    if with_details:
        yield _scores(snapshot.deployments)
        yield _match_shares(snapshot)
    yield _failed_parts(snapshot)
    yield from _affected(snapshot.deployments, with_details=with_details)
    yield from _judge_costs(snapshot.totals, snapshot.judge_budgets_left)
    yield _versions(snapshot.deployments)


def _all_scores(deployments: _Deployments, totals: FleetTotals) -> Metric:
    """All scores: the numbers are the totals', which never fall, the worst answers those of the deployments."""
    family = HistogramMetricFamily(
        "dialwatch_all_scores",
        "Scores of new answers of all deployments together, as dialwatch_score has them by deployment.",
        labels=("metric",),
    )
    sums: dict[str, Histogram] = {}
    for state in deployments.values():
        for metric, scores in state.scores.metrics.items():
            sums[metric] = scores.histogram + sums.get(metric, Histogram())
    for metric, histogram in totals.histogram_of_each().items():
        worst = sums.get(metric, Histogram()).worst
        family.add_metric((metric,), _buckets(replace(histogram, worst=worst)), histogram.total)
    return family


def _scores(deployments: _Deployments) -> Metric:
    family = HistogramMetricFamily(
        "dialwatch_score",
        "Scores of new answers, a ratio mostly from 0 to 1; those of a backfill, and those made a day or more "
        "after their answer, are left out. The exemplar names the worst of the latest answers of its bucket.",
        labels=("deployment", "metric"),
    )
    for name, state in deployments.items():
        for metric, scores in state.scores.metrics.items():
            family.add_metric((name, metric), _buckets(scores.histogram), scores.histogram.total)
    return family


def _buckets(histogram: Histogram) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    buckets: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
    for bound, number, worst in zip(_BOUNDS, histogram.cumulative, histogram.worst, strict=True):
        if worst is None:
            buckets.append((bound, number))
        else:
            buckets.append((bound, number, Exemplar({"response_id": worst.response_id}, worst.value)))
    return buckets


def _evaluations(deployments: _Deployments, totals: FleetTotals) -> Iterator[Metric]:
    scores = {name: state.scores for name, state in deployments.items()}
    yield counter(
        "dialwatch_evaluations_total",
        "Answers that a metric was applied to, one each, with or without a score; without those of backfills.",
        (((), number) for number in totals.evaluations.values()),
    )
    yield counter(
        "dialwatch_evaluation_skips_total",
        "Evaluations that gave no score, by the reason why it could not be computed.",
        by_label(totals.skips),
        "reason",
    )
    yield gauge(
        "dialwatch_evaluation_last_success_timestamp_seconds",
        "When the evaluator last scored an answer of the deployment, in seconds since 1970.",
        (((name,), one.last_scored_at.timestamp()) for name, one in scores.items() if one.last_scored_at),
        "deployment",
    )


def _match_shares(snapshot: Snapshot) -> Metric:
    shares = {name: state.scores.match_shares(snapshot.taken_at) for name, state in snapshot.deployments.items()}
    return gauge(
        "dialwatch_reference_match_share",
        "Share of the answers scored by the service, of those asked for within the last 24 hours, that were compared "
        "with a case of ground truth, by how it was found: exact, normalised or embedding.",
        (((name, kind), share) for name, of_kind in shares.items() for kind, share in of_kind.items()),
        "deployment",
        "kind",
    )


def _failed_parts(snapshot: Snapshot) -> Metric:
    since, until = snapshot.taken_at - DAY, snapshot.taken_at
    failed = {name: state.scores.failed_parts(since, until) for name, state in snapshot.deployments.items()}
    return gauge(
        "dialwatch_failed_answers",
        "Answers of the last 24 hours that do not agree with their case of ground truth, by the part of the "
        f"application that failed: {one_of(FailedPart)}.",
        (((name, part), float(count)) for name, of_part in failed.items() for part, count in of_part.items()),
        "deployment",
        "part",
    )


def _affected(deployments: _Deployments, *, with_details: bool) -> Iterator[Metric]:
    """Yield who asked while quality was bad, by the alerts of the incident that is open; no user is named."""
    counts = {
        name: [
            one.details.affected
            for incident in state.incidents
            for one in incident.alerts
            if incident.ended_at is None and one.details.affected is not None
        ]
        for name, state in deployments.items()
    }
    for metric, field, what in _AFFECTED:
        yield gauge(
            metric,
            f"{what} from the onset of the incident that is open until its latest alert of a metric, of 7 days at "
            "most; absent while none is open, or it was not counted.",
            (((name,), max((getattr(one, field) for one in mine), default=None)) for name, mine in counts.items()),
            "deployment",
        )
    yield gauge(
        "dialwatch_incident_worst_share",
        "Share of the worst answers of the incident that is open that have a project, a client, a language or one "
        "document which stands out; absent where none does. A language has its `name`, a project and a client have it "
        "with details, a document never.",
        (
            # Pages show names of projects and clients to readers of texts alone, and a scrape has no reader.
            (
                (name, one.kind, one.name if with_details or one.kind == GroupKind.LANGUAGE else ""),
                one.worst / one.of_worst,
            )
            for name, mine in counts.items()
            for one in {group.kind: group for each in reversed(mine) for group in each.stands_out}.values()
        ),
        "deployment",
        "kind",
        "name",
    )


def _judge_costs(totals: FleetTotals, budgets_left: Mapping[str, float]) -> Iterator[Metric]:
    yield counter(
        "dialwatch_judge_cost_total",
        "Price of each judge's calls by the costs in the tables, for backfills and anchors too, in the currency of its "
        "prices; calls that gave no row are not in it, and of an ensemble's each judge has an equal part.",
        (((judge,), amount / PER_UNIT) for judge, amount in totals.judge_amounts.items()),
        "judge",
    )
    yield gauge(
        "dialwatch_judge_budget_remaining",
        "What is left of the judge's budget of the day (UTC) by the costs in the tables, in its prices' currency; "
        "calls that gave no row are not in them, and of an ensemble's each judge has an equal part.",
        (((judge,), left) for judge, left in budgets_left.items()),
        "judge",
    )


def _versions(deployments: _Deployments) -> Metric:
    info = InfoMetricFamily(
        "dialwatch_evaluator", "Version and judge behind each metric's newest scores; the value is always 1."
    )
    in_use = {(m, s.version, s.judge or "") for state in deployments.values() for m, s in state.scores.metrics.items()}
    for metric, metric_version, judge in sorted(in_use):
        info.add_metric([], {"metric": metric, "version": metric_version, "judge": judge})
    return info
