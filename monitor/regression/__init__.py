"""Has the quality of a deployment's answers fallen, and since when? Pure code: no files, no network, no clock."""

from monitor.regression.betting import Interval, mean_interval
from monitor.regression.detector import Detector
from monitor.regression.mix import SegmentChange
from monitor.regression.reading import Observation, Reading, Status, StreamKey, Tier, Transition
from monitor.regression.scale import Scale
from monitor.regression.settings import RegressionSettings
from monitor.regression.streams import Streams

__all__ = [
    "Detector",
    "Interval",
    "Observation",
    "Reading",
    "RegressionSettings",
    "Scale",
    "SegmentChange",
    "Status",
    "StreamKey",
    "Streams",
    "Tier",
    "Transition",
    "mean_interval",
]
