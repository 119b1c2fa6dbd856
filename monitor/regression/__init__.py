"""Regression detection: has the quality of a deployment's answers fallen, and since when?

Pure code: no files, no network, no clock.
"""

from monitor.regression.detector import Detector
from monitor.regression.e_detector.betting import Interval, mean_interval
from monitor.regression.judge_drift.anchors import ANCHOR_COLUMNS, Judge, JudgeDriftDetectors, JudgeReading
from monitor.regression.judge_drift.verdict import judgement_of
from monitor.regression.judgement import MEASURED, UNDECIDED, Judgement, Shift
from monitor.regression.new_classes import NewClass
from monitor.regression.observations import Observation
from monitor.regression.reading import Reading, Status, StreamKey, Transition
from monitor.regression.releases import RELEASE_COLUMNS, Release, Releases
from monitor.regression.scale import Scale
from monitor.regression.segments.mix import SegmentChange
from monitor.regression.settings import RegressionSettings
from monitor.regression.stopped import StoppedStreams
from monitor.regression.stream import Stream, StreamsState
from monitor.regression.streams import Streams

__all__ = [
    "ANCHOR_COLUMNS",
    "MEASURED",
    "RELEASE_COLUMNS",
    "UNDECIDED",
    "Detector",
    "Interval",
    "Judge",
    "JudgeDriftDetectors",
    "JudgeReading",
    "Judgement",
    "NewClass",
    "Observation",
    "Reading",
    "RegressionSettings",
    "Release",
    "Releases",
    "Scale",
    "SegmentChange",
    "Shift",
    "Status",
    "StoppedStreams",
    "Stream",
    "StreamKey",
    "Streams",
    "StreamsState",
    "Transition",
    "judgement_of",
    "mean_interval",
]
