"""Calibration of a judge against people's labels: its agreement with them, and a mean that is corrected by them."""

from evaluator.calibration.agreement import Agreement, Difference, agreement, difference
from evaluator.calibration.best_threshold import BestThreshold, best_threshold
from evaluator.calibration.biases import Repeatability, length_bias, repeatability
from evaluator.calibration.bootstrap import Estimate
from evaluator.calibration.calibration import Calibration, calibrate
from evaluator.calibration.corrected_mean import Means, MoreLabels, means, more_labels
from evaluator.calibration.labelled import PASS_THRESHOLD, CalibrationError, LabelledRows, rows_of
from evaluator.calibration.repeated_scores import AskedJudge, RepeatedScores, ask
from evaluator.calibration.scored_answers import (
    scored_answers,
    who_scored,
    with_labels,
    with_labels_of_lake,
    with_likes,
)

__all__ = [
    "PASS_THRESHOLD",
    "Agreement",
    "AskedJudge",
    "BestThreshold",
    "Calibration",
    "CalibrationError",
    "Difference",
    "Estimate",
    "LabelledRows",
    "Means",
    "MoreLabels",
    "Repeatability",
    "RepeatedScores",
    "agreement",
    "ask",
    "best_threshold",
    "calibrate",
    "difference",
    "length_bias",
    "means",
    "more_labels",
    "repeatability",
    "rows_of",
    "scored_answers",
    "who_scored",
    "with_labels",
    "with_labels_of_lake",
    "with_likes",
]
