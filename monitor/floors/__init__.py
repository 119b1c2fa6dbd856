"""Plain limits for catastrophes: shares far too high, and silence. Pure code: no files, no network, no clock."""

from monitor.floors.finding import FLOORS, Finding, FloorChange, FloorName, FloorReading
from monitor.floors.floors import ANSWER_COLUMNS, REFUSAL, Floors, Last
from monitor.floors.minutes import KEPT
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
