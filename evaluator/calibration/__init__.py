"""How far a judge can be trusted: its agreement with people, and the mean that its scores and their labels give."""

from evaluator.calibration.agreement import Agreement, Difference, agreement, difference
from evaluator.calibration.asking import Asked, ask
from evaluator.calibration.biases import Repeatability, length_bias, repeatability
from evaluator.calibration.bootstrap import Estimate
from evaluator.calibration.calibration import Calibration, calibrate
from evaluator.calibration.corrected_mean import Means, MoreLabels, means, more_labels
from evaluator.calibration.labelled import PASSES, CalibrationError, Rows, rows_of
from evaluator.calibration.scored_answers import scored_answers, with_labels, with_likes

__all__ = [
    "PASSES",
    "Agreement",
    "Asked",
    "Calibration",
    "CalibrationError",
    "Difference",
    "Estimate",
    "Means",
    "MoreLabels",
    "Repeatability",
    "Rows",
    "agreement",
    "ask",
    "calibrate",
    "difference",
    "length_bias",
    "means",
    "more_labels",
    "repeatability",
    "rows_of",
    "scored_answers",
    "with_labels",
    "with_likes",
]
