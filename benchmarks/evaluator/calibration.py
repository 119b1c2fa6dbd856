"""Benchmark of calibration: the share of confidence intervals that contain the true mean (coverage).

    python -m benchmarks.evaluator.calibration [data sets]

Each data set has 2,000 answers, of which people would pass 70 %; the judge passes those that people pass with the
probability TPR and fails the others with TNR. Some answers, drawn at random, have people's labels. Shown is, for
intervals of 95 %: the judge's mean and how often its interval holds 0.7, how wide the labels' own interval is, and how
often the corrected one (PPI++) holds it and how wide that is. The last lines have four answers a question, of one
conversation: all of them good or bad together.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluator.calibration import Agreement, Estimate, means, rows_of

_ANSWERS, _TRUTH = 2000, 0.7
_NOTHING = Estimate(None)
_UNKNOWN = Agreement(0, 0, _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING)
_CASES = (
    (0.95, 0.90, 100, 1),
    (0.95, 0.70, 100, 1),
    (0.80, 0.60, 100, 1),
    (0.95, 0.90, 300, 1),
    (0.95, 0.90, 30, 1),
    (0.95, 0.70, 100, 4),
    (0.95, 0.90, 300, 4),
)


@dataclass
class _Tally:
    mean: float = 0.0
    judge: float = 0.0
    labels_width: float = 0.0
    corrected: float = 0.0
    corrected_width: float = 0.0


def main(data_sets: int) -> None:
    """Print a line a case."""
    print("TPR  TNR  labels  per question | judge: mean  holds | labels: width | corrected: holds  width")
    for tpr, tnr, labels, per_question in _CASES:
        chance = np.random.default_rng(1)
        tally = _Tally()
        for _ in range(data_sets):
            found = means(rows_of(_data(chance, tpr, tnr, labels, per_question)), _UNKNOWN)
            tally.mean += (found.judge.value or 0.0) / data_sets
            tally.judge += _holds(found.judge) / data_sets
            tally.labels_width += (found.labels.width or 0.0) / data_sets
            tally.corrected += _holds(found.corrected) / data_sets
            tally.corrected_width += (found.corrected.width or 0.0) / data_sets
        print(
            f"{tpr:.2f} {tnr:.2f} {labels:6} {per_question:12}   | {tally.mean:11.3f} {tally.judge:6.1%} | "
            f"{tally.labels_width:13.3f} | {tally.corrected:16.1%} {tally.corrected_width:6.3f}"
        )


def _data(chance: np.random.Generator, tpr: float, tnr: float, labels: int, per_question: int) -> pd.DataFrame:
    questions = np.repeat(np.arange(_ANSWERS // per_question), per_question)
    good = (chance.random(_ANSWERS // per_question) < _TRUTH)[questions]
    score = np.where(good, chance.random(_ANSWERS) < tpr, chance.random(_ANSWERS) >= tnr)
    labelled = np.arange(_ANSWERS) < labels
    return pd.DataFrame(
        {"score": score.astype(float), "label": np.where(labelled, good, np.nan), "question": questions}
    )


def _holds(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= _TRUTH <= estimate.high


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
