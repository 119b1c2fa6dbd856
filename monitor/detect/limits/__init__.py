"""Limits: fixed limits on the shares of bad requests, answers and evaluations, and on silence.

Pure code: no files, no network, no clock.
"""

from monitor.detect.limits.limits import ANSWER_COLUMNS, Counts, LastChanges, Limits
from monitor.detect.limits.minute_counts import KEPT
from monitor.detect.limits.results import LimitChange, LimitDetails, LimitReading
from monitor.detect.limits.settings import DeploymentLimits, LimitSettings

__all__ = [
    "ANSWER_COLUMNS",
    "KEPT",
    "Counts",
    "DeploymentLimits",
    "LastChanges",
    "LimitChange",
    "LimitDetails",
    "LimitReading",
    "LimitSettings",
    "Limits",
]
