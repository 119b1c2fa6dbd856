"""String presence: does the answer hold the reference answer?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.text.reference_metric import Compare, ReferenceMetric, odd_cases


@dataclass(frozen=True)
class StringPresence(ReferenceMetric):
    """1.0 if the answer holds one of the references as it is, else 0.0; higher is better.

    An empty reference is in everything and says nothing: it is left out, and none other is null with `no_ground_truth`.
    """

    name = "string_presence"
    version = "1"
    about = Description(
        asks="Does the answer hold the reference answer?",
        formula="1 if a reference is a substring of the answer, else 0",
        source="ragas (StringPresence)",
        odd_cases=odd_cases(),
        disagreement="An empty reference is 1.0 in ragas; here it is no reference.",
        binary=True,
    )

    def references(self, given: Sequence[str]) -> Sequence[str]:
        """Leave out empty references."""
        return [reference for reference in given if reference]

    def comparer(self) -> Compare:
        """Give whether the answer holds some reference."""
        return lambda answer, references: float(any(reference in answer for reference in references))


METRICS: tuple[Metric, ...] = (StringPresence(),)
