"""All figures that a table of scores and labels gives about a judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluator.calibration.agreement import Agreement, Difference, agreement, difference
from evaluator.calibration.best_threshold import BestThreshold, best_threshold
from evaluator.calibration.biases import Repeatability, length_bias, repeatability
from evaluator.calibration.bootstrap import Estimate
from evaluator.calibration.corrected_mean import Means, MoreLabels, means, more_labels
from evaluator.calibration.labelled import PASS_THRESHOLD, CalibrationError, Floats, LabelledRows, rows_of


@dataclass(frozen=True)
class Calibration:
    """How far a judge can be trusted.

    `means` is None where the labels are self-selected: they then say nothing of the answers that nobody rated. What
    was not measured is None. `unscored` are the labelled answers without a score, `unscored_passed` those of them that
    people pass; they are in no other number.
    """

    scored: int
    unscored: int
    unscored_passed: int
    agreement: Agreement
    best: BestThreshold | None
    means: Means | None
    more_labels: tuple[MoreLabels, ...]
    length_bias: Estimate
    repeated: Repeatability | None
    reordered: Repeatability | None
    compared: Difference | None


def calibrate(
    frame: pd.DataFrame,
    *,
    self_selected: bool = False,
    draws: Floats | None = None,
    reordered: Floats | None = None,
    other: Floats | None = None,
    threshold: float = PASS_THRESHOLD,
    seed: int = 0,
) -> Calibration:
    """Say what a table with `score` and `label` (see `rows_of`) says of whoever gave the scores.

    `self_selected` says that people chose what to label, as with likes. `draws` (answers, draws) are scores of the
    same rows drawn several times, `reordered` (answers) those with the contexts in another order, `other` (answers)
    those of another judge. A score of at least `threshold` is a yes; labels are by 0.5. Raises CalibrationError where
    there is no label.
    """
    rows = rows_of(frame, threshold)
    kept = pd.to_numeric(frame["score"], errors="coerce").notna().to_numpy()
    agreed = agreement(rows, seed)
    if not agreed.answers:
        raise CalibrationError("no answer has both a score and a label; label some of the answers that were scored")
    found = None if self_selected else means(rows, agreed)
    unscored = pd.to_numeric(frame.loc[~kept, "label"], errors="coerce").dropna()
    return Calibration(
        scored=len(rows),
        unscored=len(unscored),
        unscored_passed=int((unscored >= PASS_THRESHOLD).sum()),
        agreement=agreed,
        best=best_threshold(rows, seed),
        means=found,
        more_labels=() if found is None else tuple(more_labels(rows, found)),
        length_bias=length_bias(rows, seed),
        repeated=None if draws is None else repeatability(rows, draws[kept], seed),
        reordered=None if reordered is None else repeatability(rows, _pairs(rows, reordered[kept]), seed),
        compared=None if other is None else difference(rows, other[kept], seed),
    )


def _pairs(rows: LabelledRows, reordered: Floats) -> Floats:
    return np.column_stack([rows.score, reordered])
