"""The classes whose objects the monitor's state holds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from lake.spec.alert_vocabulary import LimitKind, OnsetKind, Tier
from lake.spec.case_vocabulary import ReplayVerdict
from monitor.alerting.alerts.alert_stats import AlertStats
from monitor.detect.causes.daily import SettingChange, SettingChanges
from monitor.detect.limits.callers import Callers
from monitor.detect.limits.limit_counts import LimitCounts
from monitor.detect.limits.minute_counts import MinuteCounts, Usual
from monitor.detect.limits.named_minutes import NamedMinutes
from monitor.detect.limits.no_data import RequestTimes
from monitor.detect.regression.baselines import Baselines
from monitor.detect.regression.batches.batches import Batches, ScoreColumns
from monitor.detect.regression.batches.repeats import Repeats
from monitor.detect.regression.batches.worst_answers import WorstByBatch
from monitor.detect.regression.day_spread import DaySpread
from monitor.detect.regression.detector import Detector
from monitor.detect.regression.e_detector.alarm import Alarm, Mixture
from monitor.detect.regression.e_detector.betting import Interval
from monitor.detect.regression.e_detector.change_point import BatchHistory, ChangePoint
from monitor.detect.regression.e_detector.design_effect import BatchCorrelation
from monitor.detect.regression.e_detector.evidence import Evidence
from monitor.detect.regression.early_fall import EarlyFall
from monitor.detect.regression.judge_drift.anchors import AnchoredJudge
from monitor.detect.regression.judge_drift.detector import JudgeDriftDetector
from monitor.detect.regression.judgement import Shift
from monitor.detect.regression.low_mean import LowMean, LowMeanWatch
from monitor.detect.regression.new_classes import NewClass, NewClassWarning, NewValues
from monitor.detect.regression.observations import Observations
from monitor.detect.regression.outage import Outage
from monitor.detect.regression.reading import Reading, Status, StreamKey
from monitor.detect.regression.recent import Recent
from monitor.detect.regression.recovery import Recovery
from monitor.detect.regression.reference import Reference
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.segments.classes import TrafficClasses
from monitor.detect.regression.segments.mix import SegmentChange
from monitor.detect.regression.segments.partition import SegmentPartition
from monitor.detect.regression.settings import RegressionSettings
from monitor.detect.regression.stream import Stream, StreamsState
from monitor.detect.stats.client_traffic import ClientTraffic
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.judge_costs import JudgeCosts
from monitor.detect.stats.period_sums import Bins, PeriodSums
from monitor.detect.stats.replays import ReplayStats
from monitor.detect.stats.requests import RequestStats
from monitor.detect.stats.scores import ExemplarAnswer, Histogram, MetricStats, ScoreStats
from monitor.detect.stats.tools import ToolStats
from monitor.service.ingest.codec import Classes
from monitor.service.ingest.kept_state import KeptState
from monitor.service.snapshot import DeploymentState

MEANING = 2
"""To be raised where a field keeps its name and its type, and means something else. All else the format tells."""

_CLASSES = (
    Alarm,
    AlertStats,
    Baselines,
    BatchCorrelation,
    BatchHistory,
    Batches,
    Bins,
    Callers,
    ChangePoint,
    ClientTraffic,
    CollectorStats,
    LimitCounts,
    DaySpread,
    DeploymentState,
    Detector,
    EarlyFall,
    Evidence,
    ExemplarAnswer,
    LimitKind,
    Histogram,
    Interval,
    AnchoredJudge,
    JudgeCosts,
    JudgeDriftDetector,
    KeptState,
    LowMean,
    LowMeanWatch,
    MetricStats,
    MinuteCounts,
    Mixture,
    NamedMinutes,
    NewClass,
    NewClassWarning,
    NewValues,
    Observations,
    OnsetKind,
    Outage,
    PeriodSums,
    Reading,
    Recent,
    Recovery,
    Reference,
    Repeats,
    ReplayStats,
    ReplayVerdict,
    RequestStats,
    RequestTimes,
    Scale,
    ScoreColumns,
    ScoreStats,
    SegmentChange,
    SegmentPartition,
    SettingChange,
    SettingChanges,
    Shift,
    Status,
    Stream,
    StreamKey,
    StreamsState,
    Tier,
    ToolStats,
    TrafficClasses,
    Usual,
    WorstByBatch,
)


def state_classes(settings: RegressionSettings) -> Classes:
    """Return the classes; the settings of the detectors are those of now, not part of the state."""
    return Classes(_CLASSES, {RegressionSettings: settings})


def format_of(classes: Sequence[type], meaning: int) -> int:
    """Return the number, in 31 bits, of a state's format: a hash of all names, fields, types and members of enums."""
    shapes = sorted(_shape(one) for one in classes)
    return int.from_bytes(hashlib.sha256(repr((meaning, shapes)).encode()).digest()[:4], "big") >> 1


def _shape(kind: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    if issubclass(kind, Enum):
        return kind.__name__, tuple((one.name, repr(one.value)) for one in kind)
    hints = get_type_hints(kind)
    return kind.__name__, tuple((field.name, _words(hints[field.name])) for field in fields(kind))


def _words(hint: Any) -> str:
    """Return a type in words: the same in all versions of Python and NumPy, wherever its classes are defined."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is np.ndarray:
        return f"array[{_words(get_args(arguments[1])[0])}]"
    if origin in (Union, UnionType):
        return " | ".join(sorted(map(_words, arguments)))
    if origin is not None:
        return f"{_words(origin)}[{', '.join(map(_words, arguments))}]"
    return getattr(hint, "__name__", repr(hint))


FORMAT = format_of(_CLASSES, MEANING)
"""The format of a state of this version. One of another format is learned anew from the rows."""
