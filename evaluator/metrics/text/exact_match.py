"""Exact match: is the answer the reference answer?"""

from __future__ import annotations

from dataclasses import dataclass, field

from evaluator.metrics.description import Description
from evaluator.metrics.language.tokens import tokens
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import option, version_with
from evaluator.metrics.text.reference_metric import Compare, ReferenceMetric, odd_cases


@dataclass(frozen=True)
class ExactMatch(ReferenceMetric):
    """1.0 if the answer is one of the references, else 0.0; higher is better.

    Texts are compared as they are, and two empty texts match. `normalised=True` compares their tokens instead, as
    SQuAD's exact match: without case, punctuation and articles.
    """

    normalised: bool = field(
        default=False, metadata=option("`True`: case, punctuation and articles do not count, as in SQuAD's exact match")
    )

    name = "exact_match"
    about = Description(
        asks="Is the answer the reference answer?",
        formula="1 if the answer equals a reference, else 0",
        source="ragas (ExactMatch)",
        odd_cases=odd_cases("1.0 if a reference is empty too, else 0.0, both with `no_answer`"),
        disagreement="SQuAD's exact match normalises both texts first (`normalised=True`).",
        binary=True,
    )

    @property
    def version(self) -> str:
        """Version of the arithmetic, with the option that changes it."""
        return version_with(self, "1", "normalised")

    def comparer(self) -> Compare:
        """Give whether some reference is the answer."""
        if self.normalised:
            return lambda answer, references: float(tokens(answer) in [tokens(reference) for reference in references])
        return lambda answer, references: float(answer in references)


METRICS: tuple[Metric, ...] = (ExactMatch(),)
