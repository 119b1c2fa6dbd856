"""Floors: fixed limits on the shares of bad requests, answers and evaluations, and on silence.

Pure code: no files, no network, no clock.
"""

from monitor.floors.floors import ANSWER_COLUMNS, Counts, Floors, LastChanges
from monitor.floors.minute_counts import KEPT
from monitor.floors.results import FloorChange, FloorDetails, FloorReading
from monitor.floors.settings import FloorLimits, FloorSettings

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
