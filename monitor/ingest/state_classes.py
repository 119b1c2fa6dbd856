"""The classes whose objects the monitor's state holds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from lake.case_vocabulary import ReplayVerdict
from lake.vocabulary import Floor, OnsetKind, Tier
from monitor.alerts.alert_stats import AlertStats
from monitor.changes.daily import SettingChange, SettingChanges
from monitor.floors.callers import Callers
from monitor.floors.floors import Counts
from monitor.floors.minute_counts import MinuteCounts, Usual
from monitor.floors.no_data import RequestTimes
from monitor.ingest.codec import Classes
from monitor.ingest.kept_state import KeptState
from monitor.regression.baselines import Baselines
from monitor.regression.batches.batches import Batches, ScoreColumns
from monitor.regression.batches.worst_answers import WorstByBatch
from monitor.regression.day_spread import DaySpread
from monitor.regression.detector import Detector
from monitor.regression.e_detector.alarm import Alarm, Mixture
from monitor.regression.e_detector.betting import Interval
from monitor.regression.e_detector.change_point import BatchHistory, ChangePoint
from monitor.regression.e_detector.evidence import Evidence
from monitor.regression.judge_drift.anchors import Judge
from monitor.regression.judge_drift.detector import JudgeDriftDetector
from monitor.regression.judgement import Shift
from monitor.regression.new_classes import NewClass, NewClassWarning, NewValues
from monitor.regression.observations import Observations
from monitor.regression.reading import Reading, Status, StreamKey
from monitor.regression.recovery import Recovery
from monitor.regression.reference import Reference
from monitor.regression.scale import Scale
from monitor.regression.segments.classes import TrafficClasses
from monitor.regression.segments.mix import SegmentChange
from monitor.regression.segments.partition import SegmentPartition
from monitor.regression.settings import RegressionSettings
from monitor.regression.stream import Stream, StreamsState
from monitor.snapshot import DeploymentState
from monitor.stats.client_traffic import ClientTraffic
from monitor.stats.collector_stats import CollectorStats
from monitor.stats.judge_costs import JudgeCosts
from monitor.stats.period_sums import Bins, PeriodSums
from monitor.stats.replays import ReplayStats
from monitor.stats.requests import RequestStats
from monitor.stats.scores import ExemplarAnswer, Histogram, MetricStats, ScoreStats

MEANING = 1
"""To be raised where a field keeps its name and its type, and means something else. All else the format tells."""

_CLASSES = (
    Alarm,
    AlertStats,
    Baselines,
    BatchHistory,
    Batches,
    Bins,
    Callers,
    ChangePoint,
    ClientTraffic,
    CollectorStats,
    Counts,
    DaySpread,
    DeploymentState,
    Detector,
    Evidence,
    ExemplarAnswer,
    Floor,
    Histogram,
    Interval,
    Judge,
    JudgeCosts,
    JudgeDriftDetector,
    KeptState,
    MetricStats,
    MinuteCounts,
    Mixture,
    NewClass,
    NewClassWarning,
    NewValues,
    Observations,
    OnsetKind,
    PeriodSums,
    Reading,
    Recovery,
    Reference,
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
    TrafficClasses,
    Usual,
    WorstByBatch,
)


def state_classes(settings: RegressionSettings) -> Classes:
    """Give the classes; the settings of the detectors are those of now, not part of the state."""
    return Classes(_CLASSES, {RegressionSettings: settings})


def format_of(classes: Sequence[type], meaning: int) -> int:
    """Give the number, in 31 bits, of a state's format: a hash of all names, fields, types and members of enums."""
    shapes = sorted(_shape(one) for one in classes)
    return int.from_bytes(hashlib.sha256(repr((meaning, shapes)).encode()).digest()[:4], "big") >> 1


def _shape(kind: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    if issubclass(kind, Enum):
        return kind.__name__, tuple((one.name, repr(one.value)) for one in kind)
    hints = get_type_hints(kind)
    return kind.__name__, tuple((field.name, _words(hints[field.name])) for field in fields(kind))


def _words(hint: Any) -> str:
    """Give a type in words that are the same in all versions of Python and NumPy, wherever its classes are defined."""
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
