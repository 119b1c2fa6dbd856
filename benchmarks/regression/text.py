"""Real text for the regression benchmark: scores of HaluEval's right and hallucinated answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources

import numpy as np
import pandas as pd

from benchmarks.regression.streams import Floats, Kind, blend
from dialwatch.demo.questions import sentences
from evaluator.metrics import compute

METRIC = "faithfulness_kprecision"


@dataclass(frozen=True)
class RealScores:
    """Laws of the scores over the levels that occur; `kind` has conversations of one answer."""

    kind: Kind
    usual: Floats
    """Of right answers, and one in 20 that is hallucinated: no application has none."""
    hallucinated: Floats

    def worse(self, drop: float) -> Floats:
        """The law of traffic with so many more hallucinated answers that the mean is lower by `drop`."""
        return blend(self.usual, self.hallucinated, np.array(self.kind.levels), drop)


def real_scores() -> RealScores:
    """Score both answers of all 500 questions against the sentences of their knowledge."""
    text = resources.files("dialwatch.demo").joinpath("data/halueval_qa.jsonl").read_text("utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    right, hallucinated = (_scores(records, answer) for answer in ("right_answer", "hallucinated_answer"))
    levels, index = np.unique(np.concatenate([right, hallucinated]), return_inverse=True)
    good, bad = (np.bincount(part, minlength=len(levels)) / len(part) for part in np.split(index, [len(right)]))
    return RealScores(Kind(1, tuple(levels.tolist())), 0.95 * good + 0.05 * bad, bad)


def _scores(records: list[dict[str, str]], answer: str) -> Floats:
    frame = pd.DataFrame(
        {
            "question": [record["question"] for record in records],
            "contexts": [list(sentences(record["knowledge"])) for record in records],
            "answer": [record[answer] for record in records],
        }
    )
    return compute(frame, [METRIC])[METRIC].dropna().to_numpy(dtype=np.float64)
