"""Floors: fixed limits on the shares of bad requests, answers and evaluations, and on silence.

Pure code: no files, no network, no clock.
"""

from monitor.detect.limits.limits import ANSWER_COLUMNS, Counts, Floors, LastChanges
from monitor.detect.limits.minute_counts import KEPT
from monitor.detect.limits.results import FloorChange, FloorDetails, FloorReading
from monitor.detect.limits.settings import FloorLimits, FloorSettings

__all__ = [
    "ANSWER_COLUMNS",
    "KEPT",
    "Counts",
    "FloorChange",
    "FloorDetails",
    "FloorLimits",
    "FloorReading",
    "FloorSettings",
    "Floors",
    "LastChanges",
]
