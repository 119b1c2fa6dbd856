"""Limits: fixed limits on the shares of bad requests, answers and evaluations, and on silence.

Pure code: no files, no network, no clock.
"""

from monitor.detect.limits.limit_counts import LimitCounts
from monitor.detect.limits.limits import ANSWER_COLUMNS, LastChanges, Limits
from monitor.detect.limits.minute_counts import KEPT
from monitor.detect.limits.results import (
    FailedCallee,
    FailedTool,
    LastChange,
    LimitChange,
    LimitDetails,
    LimitReading,
    MeanBeyondLimit,
)
from monitor.detect.limits.settings import DeploymentLimits, LimitSettings
from monitor.detect.limits.shares import FAILURES
from monitor.detect.limits.tool_minutes import MOST_OF_TOOL

__all__ = [
    "ANSWER_COLUMNS",
    "FAILURES",
    "KEPT",
    "MOST_OF_TOOL",
    "DeploymentLimits",
    "FailedCallee",
    "FailedTool",
    "LastChange",
    "LastChanges",
    "LimitChange",
    "LimitCounts",
    "LimitDetails",
    "LimitReading",
    "LimitSettings",
    "Limits",
    "MeanBeyondLimit",
]
