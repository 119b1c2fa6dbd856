"""Metrics of detectors and limits: readings of each stream, judges, verdicts, regressions and limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import Metric

from lake.spec.alert_vocabulary import AlertVerdict, Tier
from monitor.detect.regression import Reading, Status
from monitor.exporter.metric_families import counter, gauge
from monitor.notify.texts.incident import tier_of
from monitor.service.snapshot import DeploymentState

_OF_LIMIT = ("deployment", "floor")
_Readings = tuple[tuple[str, str, Callable[[Reading], float | None]], ...]


def _rounded(mean: float | None) -> float | None:
    """Six digits of a mean: it is of some hundred scores, and all digits take as many bytes as a label."""
    return None if mean is None else float(f"{mean:.6g}")


_READINGS: _Readings = (
    (
        "dialwatch_score_mean",
        "Weighted mean score of the latest conversations, in the metric's own units.",
        lambda reading: _rounded(reading.mean),
    ),
    (
        "dialwatch_score_reference_mean",
        "Mean score of the reference that a regression is measured against, in the metric's own units.",
        lambda reading: _rounded(reading.reference_mean),
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
        "dialwatch_regression_since_timestamp_seconds",
        "Most likely start of the regression that is active, in seconds since 1970; absent while there is none.",
        lambda reading: reading.since.timestamp() if reading.since and reading.status is Status.REGRESSED else None,
    ),
    (
        "dialwatch_regression_mean",
        "Mean score since the most likely start of the regression that is active, in the metric's own units; absent "
        "while there is none.",
        lambda reading: _rounded(reading.since_mean) if reading.status is Status.REGRESSED else None,
    ),
)
_ELSE = "else 0 with monitor.exporter.detail: all, and absent without."
_STATES: tuple[tuple[str, str, Callable[[Reading], bool]], ...] = (
    (
        "dialwatch_regression_active",
        f"1 while the mean score is taken to be worse than its reference, {_ELSE}",
        lambda reading: reading.status is Status.REGRESSED,
    ),
    (
        "dialwatch_regression_page",
        f"1 while a regression is active whose evidence is enough to wake someone, {_ELSE}",
        lambda reading: reading.tier == Tier.PAGE,
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


def detector_metrics(deployments: Mapping[str, DeploymentState], *, with_details: bool) -> Iterator[Metric]:
    """Yield what detectors and limits have found of each deployment; with details also how they come to it.

    Without details a state has a sample only while it holds: of nearly all streams it does not.
    """
    yield from _readings(deployments, with_details=with_details)
    yield _stopped(deployments)
    yield from _judges(deployments, with_details=with_details)
    yield from _alerts(deployments, with_details=with_details)
    yield from _limits(deployments, with_details=with_details)


def _readings(deployments: Mapping[str, DeploymentState], *, with_details: bool) -> Iterator[Metric]:
    readings = [
        ((name, metric), reading) for name, state in deployments.items() for metric, reading in state.readings.items()
    ]
    for family, text, number in (*_READINGS, *_DETAILS) if with_details else _READINGS:
        yield gauge(family, text, ((labels, number(r)) for labels, r in readings), "deployment", "metric")
    for family, text, holds in _STATES:
        states = ((labels, holds(r)) for labels, r in readings)
        yield gauge(
            family,
            text,
            ((labels, float(is_on)) for labels, is_on in states if is_on or with_details),
            "deployment",
            "metric",
        )


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


def _judges(deployments: Mapping[str, DeploymentState], *, with_details: bool) -> Iterator[Metric]:
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
        "What is held to have changed where a regression is active: judge, both or undecided, and with "
        "monitor.exporter.detail: all also system, which it is without a series. The value is 1.",
        (
            ((name, metric, judgement.verdict), 1.0)
            for name, one in deployments.items()
            for metric, judgement in one.judgements.items()
            if with_details or judgement.verdict != AlertVerdict.SYSTEM
        ),
        "deployment",
        "metric",
        "verdict",
    )


def _alerts(deployments: Mapping[str, DeploymentState], *, with_details: bool) -> Iterator[Metric]:
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
    yield _fired(deployments, by_metric=with_details)


def _fired(deployments: Mapping[str, DeploymentState], *, by_metric: bool) -> Metric:
    text = (
        "Regressions that fired, by what is held to have changed: system, judge, both or undecided; with "
        "monitor.exporter.detail: all also by metric."
    )
    fired = {name: state.alerts.regressions for name, state in deployments.items()}
    if by_metric:
        samples = (((name, *key), number) for name, one in fired.items() for key, number in one.items())
        return counter("dialwatch_regressions_total", text, samples, "deployment", "metric", "verdict")
    sums: Counter[tuple[str, str]] = Counter()
    for name, one in fired.items():
        for (_, verdict), number in one.items():
            sums[name, verdict] += number
    return counter("dialwatch_regressions_total", text, sums.items(), "deployment", "verdict")


def _limits(deployments: Mapping[str, DeploymentState], *, with_details: bool) -> Iterator[Metric]:
    limits = [
        ((name, kind), reading)
        for name, state in deployments.items()
        # Anybody can ask for names that no deployment has: those have no limits.
        if state.requests.has_answered
        for kind, reading in state.limits.items()
    ]
    judged = [(labels, reading) for labels, reading in limits if reading.unjudged is None]
    yield gauge(
        "dialwatch_floor_active",
        f"1 while a fixed limit is exceeded (errors, empty answers, tool errors, refusals, unscored, no data), {_ELSE}",
        ((labels, float(reading.active)) for labels, reading in limits if reading.active or with_details),
        *_OF_LIMIT,
    )
    yield gauge(
        "dialwatch_floor_share",
        "Share of the latest requests, answers, calls of tools or evaluations that are bad; absent while it is not "
        "judged.",
        ((labels, reading.share) for labels, reading in judged),
        *_OF_LIMIT,
    )
    yield gauge(
        "dialwatch_floor_limit",
        "Share at which the limit fires; without monitor.exporter.detail: all absent while it is not judged.",
        ((labels, reading.limit) for labels, reading in (limits if with_details else judged)),
        *_OF_LIMIT,
    )
    if with_details:
        yield gauge(
            "dialwatch_floor_judged",
            "1 while a fixed limit can be exceeded, 0 while too little is known, as with too few requests; the page "
            "of the deployment says why.",
            ((labels, float(reading.unjudged is None)) for labels, reading in limits),
            *_OF_LIMIT,
        )
    unjudged = Counter(kind for (_, kind), reading in limits if reading.unjudged is not None)
    yield gauge(
        "dialwatch_unjudged_floors",
        "Deployments for which a fixed limit cannot be exceeded, as too little is known, for example with too few "
        "requests; the pages of these say why.",
        (((kind,), float(unjudged[kind])) for kind in sorted({kind for (_, kind), _ in limits})),
        "floor",
    )
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
