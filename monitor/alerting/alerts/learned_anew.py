"""Open alerts whose streams were learned anew without the rows, or the state, that they were found with.

Such a stream says nothing of an alert: its reference may be of after the fall. So the alert stays until the scores of
the last days say by themselves that quality is back.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from monitor.alerting.alerts.change import AlertChange
from monitor.detect.regression import Reading, Status
from monitor.detect.stats.means import mean_of
from monitor.detect.stats.period_sums import HOUR_SECONDS
from monitor.detect.stats.scores import MetricStats

_LATEST = timedelta(days=7)
_LEAST = 50
"""Scores by whose mean quality can be said to be back."""


def kept_open(alert: AlertChange, reading: Reading, metric: MetricStats | None, now: datetime) -> Reading | None:
    """Return the reading of a stream with the regression of its open alert; None where quality is back."""
    if metric is not None and is_back(alert, metric, now):
        return None
    return with_regression_of(alert, reading)


def with_regression_of(alert: AlertChange, reading: Reading) -> Reading:
    """Return the reading with the regression that an open alert is about."""
    return replace(
        reading,
        status=Status.REGRESSED,
        reference_mean=alert.reference_mean,
        since_mean=alert.current_mean,
        since_lower=alert.current_lower,
        since_upper=alert.current_upper,
        drop=alert.details.drop,
        drop_lower=alert.details.drop_lower,
        drop_upper=alert.details.drop_upper,
        kept=True,
    )


def is_back(alert: AlertChange, metric: MetricStats, now: datetime) -> bool:
    """Whether the scores since an alert, of the last seven days, are nearer to its reference than to its fallen mean.

    That is so where the 95 % interval of the mean of 50 or more, as if they were independent, is on that side of the
    middle between the two.
    """
    if alert.reference_mean is None or alert.current_mean is None or metric.version != alert.key.metric_version:
        return False
    first, last = (int(at.timestamp()) // HOUR_SECONDS for at in (max(alert.changed_at, now - _LATEST), now))
    mean = mean_of(metric.means_by_time.total(first + 1, last))
    if mean is None or mean.number < _LEAST or mean.interval is None:
        return False
    middle = (alert.reference_mean + alert.current_mean) / 2
    lower, upper = mean.interval
    return upper < middle if alert.reference_mean < alert.current_mean else lower > middle
