"""chrF: runs of characters that answer and reference have in common; for any script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.text.reference_metric import Compare, ReferenceMetric, odd_cases

_LONGEST = 6
_RECALL_WEIGHT = 4  # Beta is 2, and squared.

Counts = Sequence[Counter[str]]


@dataclass(frozen=True)
class Chrf(ReferenceMetric):
    """F2 of the runs of 1 to 6 characters that answer and reference share, of several references the best; 0 to 1.

    The number is sacrebleu's chrF2 / 100: spaces do not count, and lengths that one side has no run of are left out.
    A blank side is 0.0. Higher is better.
    """

    name = "chrf"
    version = "1"
    about = Description(
        asks="Do answer and reference answer share their spelling, whatever the script?",
        formula="5 · P · R / (4 · P + R), P and R the means over n = 1..6 of precision and recall of character n-grams",
        source="Popović, chrF; sacrebleu 2.6.0 (chrF2), / 100",
        odd_cases=odd_cases(),
        disagreement="Moses and NLTK smooth lengths without a match instead of leaving them out.",
    )

    def comparer(self) -> Compare:
        """Give chrF against the best reference."""
        count = cache(_ngrams)
        return lambda answer, references: max(_chrf(count(answer), count(reference)) for reference in references)


def _ngrams(text: str) -> Counts:
    line = "".join(text.split())
    return [Counter(line[i : i + n] for i in range(len(line) - n + 1)) for n in range(1, _LONGEST + 1)]


def _chrf(answer: Counts, reference: Counts) -> float:
    precisions: list[float] = []
    recalls: list[float] = []
    for said, expected in zip(answer, reference, strict=True):
        if said and expected:
            shared = sum(min(count, expected[ngram]) for ngram, count in said.items() if ngram in expected)
            precisions.append(shared / said.total())
            recalls.append(shared / expected.total())
    if not any(precisions):
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return (1 + _RECALL_WEIGHT) * precision * recall / (_RECALL_WEIGHT * precision + recall)


METRICS: tuple[Metric, ...] = (Chrf(),)
