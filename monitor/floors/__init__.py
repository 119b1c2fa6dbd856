"""Plain limits for catastrophes: shares far too high, and silence. Pure code: no files, no network, no clock."""

from monitor.floors.floors import ANSWER_COLUMNS, REFUSAL, Floors, Last
from monitor.floors.minute_counts import KEPT
from monitor.floors.results import FLOORS, Finding, FloorChange, FloorName, FloorReading
from monitor.floors.settings import FloorLimits, FloorSettings

__all__ = [
    "ANSWER_COLUMNS",
    "FLOORS",
    "KEPT",
    "REFUSAL",
    "Finding",
    "FloorChange",
    "FloorLimits",
    "FloorName",
    "FloorReading",
    "FloorSettings",
    "Floors",
    "Last",
]
