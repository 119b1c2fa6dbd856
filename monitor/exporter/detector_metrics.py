"""Metrics of detectors and limits: readings of each stream, judges, verdicts, regressions and limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import Metric

from lake.spec.alert_vocabulary import Tier
from monitor.detect.limits import LimitReading
from monitor.detect.regression import Reading, Status
from monitor.exporter.metric_families import counter, gauge
from monitor.notify.texts.incident import tier_of
from monitor.service.snapshot import DeploymentState

_Readings = tuple[tuple[str, str, Callable[[Reading], float | None]], ...]
_READINGS: _Readings = (
    (
        "dialwatch_score_mean",
        "Weighted mean score of the latest conversations, in the metric's own units.",
        lambda reading: reading.mean,
    ),
    (
        "dialwatch_score_reference_mean",
        "Mean score of the reference that a regression is measured against, in the metric's own units.",
        lambda reading: reading.reference_mean,
    ),
    (
        "dialwatch_score_mean_limit",
        "Worst mean score that somebody has set as the limit, in the metric's own units; absent where nobody has.",
        lambda reading: reading.low_mean.limit if reading.low_mean else None,
    ),
    (
        "dialwatch_score_mean_limit_exceeded",
        "1 while the mean score is taken to be worse than the limit that somebody has set, else 0; absent without one.",
        lambda reading: float(reading.low_mean.is_on) if reading.low_mean else None,
    ),
    (
        "dialwatch_regression_active",
        "1 while the mean score is taken to be worse than its reference, else 0.",
        lambda reading: float(reading.status is Status.REGRESSED),
    ),
    (
        "dialwatch_regression_page",
        "1 while a regression is active whose evidence is enough to wake someone, else 0.",
        lambda reading: float(reading.tier == Tier.PAGE),
    ),
    (
        "dialwatch_regression_since_timestamp_seconds",
        "Most likely start of the regression that is active, in seconds since 1970; absent while there is none.",
        lambda reading: reading.since.timestamp() if reading.since and reading.status is Status.REGRESSED else None,
    ),
    (
        "dialwatch_regression_mean",
        "Mean score since the most likely start of the regression that is active, in the metric's own units; absent "
        "while there is none.",
        lambda reading: reading.since_mean if reading.status is Status.REGRESSED else None,
    ),
)
_DETAILS: _Readings = (
    (
        "dialwatch_score_mean_lower",
        "Lower end of the 95 % confidence interval of the mean score, in the metric's own units.",
        lambda reading: reading.mean_lower,
    ),
    (
        "dialwatch_score_mean_upper",
        "Upper end of the 95 % confidence interval of the mean score, in the metric's own units.",
        lambda reading: reading.mean_upper,
    ),
    (
        "dialwatch_score_window_observations",
        "Conversations behind the mean score.",
        lambda reading: reading.observations,
    ),
    (
        "dialwatch_score_mix_change",
        "Change of the mean score against the reference that comes from another mix of traffic, in its own units; no "
        "regression is found by it.",
        lambda reading: reading.mix,
    ),
    (
        "dialwatch_regression_recovering",
        "1 while a regression is active of whose fall two thirds or more are gone, else 0.",
        lambda reading: float(reading.recovering_since is not None),
    ),
    (
        "dialwatch_improvement_active",
        "1 while the mean score is taken to be better than its reference, else 0.",
        lambda reading: float(reading.improved),
    ),
    (
        "dialwatch_regression_smallest_drop",
        "Smallest drop of the mean score that would be found within a week at the traffic of now, in its own units.",
        lambda reading: reading.smallest_drop,
    ),
    (
        "dialwatch_regression_delay_seconds",
        "Seconds after which a drop by a tenth of the metric's range would be found at the traffic of now.",
        lambda reading: None if reading.delay is None else reading.delay.total_seconds(),
    ),
    (
        "dialwatch_regression_log_evidence",
        "Natural logarithm of the evidence that the mean score has got worse.",
        lambda reading: reading.log_evidence if math.isfinite(reading.log_evidence) else None,
    ),
    (
        "dialwatch_regression_log_threshold",
        "Natural logarithm of the evidence at which a regression fires.",
        lambda reading: reading.log_threshold,
    ),
    (
        "dialwatch_regression_log_page_threshold",
        "Natural logarithm of the evidence at which a regression pages; it grows with the number of streams.",
        lambda reading: reading.log_page_threshold,
    ),
)


_LIMITS: tuple[tuple[str, str, Callable[[LimitReading], float | None]], ...] = (
    (
        "dialwatch_floor_active",
        "1 while a fixed limit is exceeded (errors, empty answers, tool errors, refusals, unscored, no data), else 0.",
        lambda reading: float(reading.active),
    ),
    (
        "dialwatch_floor_share",
        "Share of the latest requests, answers, calls of tools or evaluations that are bad; absent while it is not "
        "judged.",
        lambda reading: reading.share if reading.unjudged is None else None,
    ),
    (
        "dialwatch_floor_judged",
        "1 while a fixed limit can be exceeded, 0 while too little is known, as with too few requests; the page of the "
        "deployment says why.",
        lambda reading: float(reading.unjudged is None),
    ),
    (
        "dialwatch_floor_limit",
        "Share at which the limit fires.",
        lambda reading: reading.limit,
    ),
)


def detector_metrics(deployments: Mapping[str, DeploymentState], *, with_details: bool) -> Iterator[Metric]:
    """Yield what detectors and limits have found of each deployment; with details also how they come to it."""
    yield from _readings(deployments, (*_READINGS, *_DETAILS) if with_details else _READINGS)
    yield _stopped(deployments)
    yield from _judges(deployments)
    yield from _alerts(deployments)
    yield from _limits(deployments)


def _readings(deployments: Mapping[str, DeploymentState], families: _Readings) -> Iterator[Metric]:
    readings = [
        ((name, metric), reading) for name, state in deployments.items() for metric, reading in state.readings.items()
    ]
    for family, text, number in families:
        yield gauge(family, text, ((labels, number(r)) for labels, r in readings), "deployment", "metric")


def _stopped(deployments: Mapping[str, DeploymentState]) -> Metric:
    return gauge(
        "dialwatch_stream_stopped",
        "1 while nothing is found of a metric or limit, as an error has stopped it and it has not learned anew yet, by "
        "kind: regression, judge or floor, which is a limit. Absent while it works.",
        (
            ((name, metric, kind), 1.0)
            for name, state in deployments.items()
            for kind, stopped in (
                ("regression", state.stopped),
                ("judge", state.stopped_judges),
                ("floor", state.stopped_limits),
            )
            for metric in stopped
        ),
        "deployment",
        "metric",
        "kind",
    )


def _judges(deployments: Mapping[str, DeploymentState]) -> Iterator[Metric]:
    judges = [((name, metric), judge) for name, one in deployments.items() for metric, judge in one.judges.items()]
    yield gauge(
        "dialwatch_judge_drift",
        "By how much the judge scores its anchors higher than at first, in the metric's own units: since it changed, "
        "else in its latest scorings.",
        ((labels, judge.shift.mean if judge.shift else None) for labels, judge in judges),
        "deployment",
        "metric",
    )
    yield gauge(
        "dialwatch_judge_drift_active",
        "1 while the judge is taken to have changed, as it scores its anchors otherwise than at first, else 0.",
        ((labels, float(judge.active)) for labels, judge in judges),
        "deployment",
        "metric",
    )
    yield gauge(
        "dialwatch_judge_drift_since_timestamp_seconds",
        "Since when the judge is taken to have changed, in seconds since 1970; absent while it is not.",
        ((labels, judge.since.timestamp() if judge.since and judge.active else None) for labels, judge in judges),
        "deployment",
        "metric",
    )
    yield gauge(
        "dialwatch_judge_offset",
        "By how much the metric's version scores the same answers higher than the version before, in its own units.",
        ((labels, judge.offset.mean if judge.offset else None) for labels, judge in judges),
        "deployment",
        "metric",
    )
    yield gauge(
        "dialwatch_regression_verdict",
        "What is held to have changed where a regression is active: system, judge, both or undecided; the value is 1.",
        (
            ((name, metric, judgement.verdict), 1.0)
            for name, one in deployments.items()
            for metric, judgement in one.judgements.items()
        ),
        "deployment",
        "metric",
        "verdict",
    )


def _alerts(deployments: Mapping[str, DeploymentState]) -> Iterator[Metric]:
    yield gauge(
        "dialwatch_alert_firing",
        "An alert that fires on a metric or limit, by the tier at which receivers know it, page or warning, and the "
        "incident that it belongs to; the value is 1. A regression of a metric with a judge may wait as a warning "
        "while dialwatch_regression_page is 1.",
        # A set: alerts of two versions of a metric may fire at once.
        (
            ((name, *labels), 1.0)
            for name, state in deployments.items()
            for labels in sorted({(one.key.metric, tier_of(one), one.incident_id or "") for one in state.firing})
        ),
        "deployment",
        "metric",
        "tier",
        "incident",
    )
    alerts = {name: state.alerts for name, state in deployments.items()}
    yield counter(
        "dialwatch_regressions_total",
        "Regressions that fired, by what is held to have changed: system, judge, both or undecided.",
        (((name, *key), number) for name, one in alerts.items() for key, number in one.regressions.items()),
        "deployment",
        "metric",
        "verdict",
    )


def _limits(deployments: Mapping[str, DeploymentState]) -> Iterator[Metric]:
    limits = [
        ((name, kind), reading)
        for name, state in deployments.items()
        # Anybody can ask for names that no deployment has: those have no limits.
        if state.requests.has_answered
        for kind, reading in state.limits.items()
    ]
    for family, text, number in _LIMITS:
        yield gauge(family, text, ((labels, number(reading)) for labels, reading in limits), "deployment", "floor")
    yield gauge(
        "dialwatch_floor_since_timestamp_seconds",
        "Since when a fixed limit is exceeded, in seconds since 1970; absent while it is not.",
        (
            ((name, change.key.metric), change.since.timestamp() if change.since else None)
            for name, state in deployments.items()
            for change in state.exceeded
        ),
        "deployment",
        "floor",
    )
