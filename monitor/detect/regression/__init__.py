"""Regression detection: has the quality of a deployment's answers fallen, and since when?

Pure code: no files, no network, no clock.
"""

from monitor.detect.regression.detector import Detector
from monitor.detect.regression.e_detector.betting import Interval, mean_interval
from monitor.detect.regression.e_detector.change_point import BatchHistory
from monitor.detect.regression.judge_drift.anchors import (
    ANCHOR_COLUMNS,
    AnchoredJudge,
    JudgeDriftDetectors,
    JudgeReading,
)
from monitor.detect.regression.judge_drift.verdict import judgement_of
from monitor.detect.regression.judgement import MEASURED, UNDECIDED, Judgement, Shift
from monitor.detect.regression.low_mean import LowMean
from monitor.detect.regression.new_classes import NewClass
from monitor.detect.regression.observations import Observation
from monitor.detect.regression.reading import Reading, Status, StreamKey, Transition
from monitor.detect.regression.releases import RELEASE_COLUMNS, Release, Releases
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.segments.mix import SegmentChange
from monitor.detect.regression.settings import RegressionSettings
from monitor.detect.regression.stopped import StoppedStreams
from monitor.detect.regression.stream import Stream, StreamsState
from monitor.detect.regression.streams import Streams

__all__ = [
    "ANCHOR_COLUMNS",
    "MEASURED",
    "RELEASE_COLUMNS",
    "UNDECIDED",
    "AnchoredJudge",
    "BatchHistory",
    "Detector",
    "Interval",
    "JudgeDriftDetectors",
    "JudgeReading",
    "Judgement",
    "LowMean",
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
