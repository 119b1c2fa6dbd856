"""A judge's verdicts on the faithfulness of answers beside those of people.

    python -m benchmarks.evaluator.judge_against_people table.csv

The table has a row an answer: `source`, `label` of people (1 where the texts support all of it, else 0), `verdict` of
`faithful` and `share` of `faithfulness_claims`. Where the rows of docs/benchmarks.md are from is said there; their
licences let us publish neither texts nor labels. No two rows are of one document, so the intervals are those of a
bootstrap over rows. Prints markdown.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.regression.tables import print_table
from evaluator.calibration.agreement import agreement
from evaluator.calibration.bootstrap import Estimate, bootstrapped, divided
from evaluator.calibration.labelled import Floats, LabelledRows


def rows_of(table: pd.DataFrame, score: str) -> LabelledRows:
    """Give the labels with a column of scores, a document a row."""
    one = np.ones(len(table))
    label, scores = (table[name].to_numpy(np.float64) for name in ("label", score))
    return LabelledRows(scores, label, np.arange(len(table)), one, one)


def balanced_accuracy(rows: LabelledRows) -> Estimate:
    """Give the mean of TPR and TNR at the default threshold, with its interval."""
    right = ((rows.score >= rows.threshold) == (rows.label >= rows.threshold)).astype(np.float64)

    def of(weights: Floats) -> Floats:
        rates = [divided(weights @ (right * kind), weights @ kind) for kind in (rows.label, 1.0 - rows.label)]
        return np.asarray((rates[0] + rates[1]) / 2.0)

    return bootstrapped({"balanced": of}, rows)["balanced"]


def in_figures(one: Estimate) -> str:
    """Write a value with its interval."""
    return f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


def main(path: Path) -> None:
    """Print the agreement by source and over all rows."""
    table = pd.read_csv(path)
    shown = []
    for source, some in (*table.groupby("source"), ("all", table)):
        verdicts, shares = rows_of(some, "verdict"), rows_of(some, "share")
        found, by_share = agreement(verdicts), agreement(shares)
        figures = (balanced_accuracy(verdicts), found.tpr, found.tnr, by_share.auroc, by_share.tnr)
        shown.append((str(source), str(len(some)), *map(in_figures, figures)))
    heads = ("source", "answers", "balanced accuracy", "TPR", "TNR", "AUROC of the share", "TNR of the share at 0.5")
    print_table("Judge against people", heads, shown)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
