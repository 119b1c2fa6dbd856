"""Context precision and recall by string similarity to reference contexts, for chunks of one splitter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import texts
from evaluator.metrics.decorator import Decorator, FunctionMetric, made_metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.options import cut_option, option
from evaluator.metrics.scores import Score, Scores, score_rows
from evaluator.metrics.text.overlap import similarity
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

_ODD_CASES = OddCases(
    no_contexts="0.0 with `no_contexts` for an empty list, null with `no_contexts` for a missing cell",
    duplicate_contexts="no difference to recall; to precision each copy of a useful context is useful",
    no_reference="null with `no_ground_truth`",
)

Alike = Callable[[str, str], bool]
"""Whether a context is as good as a reference context."""


@dataclass(frozen=True)
class ReferenceContextsMetric(FunctionMetric):
    """A metric whose function gives a number of which retrieved contexts are alike which reference contexts.

    Each is compared whole with whole. Alike is a Levenshtein similarity of at least `threshold`. A short reference
    inside a long chunk is not alike to it.
    """

    k: int | None = cut_option()
    _: KW_ONLY
    threshold: float = option(0.5, "similarity from which two contexts are alike", is_in_version=True)
    strict: bool = option(False, "`True`: the similarity must be over the threshold, not at it", is_in_version=True)

    needs = ("contexts", "reference_contexts")

    def alike(self, context: str, reference: str) -> bool:
        """Whether a context is as good as a reference context."""
        found = similarity(context, reference)
        return found > self.threshold if self.strict else found >= self.threshold

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `contexts` and `reference_contexts`."""
        return score_rows(self, frame, self._score_row)

    def _score_row(self, contexts_cell: object, references_cell: object) -> Score:
        contexts, references = texts(contexts_cell, "contexts"), texts(references_cell, "reference_contexts")
        if not references:
            return Score(None, UnscoredReason.NO_GROUND_TRUTH)
        if contexts is None:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        if not contexts:
            return Score(0.0, UnscoredReason.NO_CONTEXTS)
        return Score(self.bound(contexts[: self.k], references, self.alike))


def reference_contexts_metric(about: Description) -> Decorator:
    """Make a metric of a function of contexts, reference contexts, and which are alike."""
    return made_metric(ReferenceContextsMetric, about, listed="non_llm_context")


@reference_contexts_metric(
    Description(
        asks="Which share of the reference chunks came back, give or take small edits?",
        formula="|reference contexts with a context whose Levenshtein similarity is >= .5| / |reference contexts|",
        source="ragas (NonLLMContextRecall)",
        odd_cases=_ODD_CASES,
        disagreement="ragas takes > here and >= for precision; here it is >= in both (`strict=True` for >). It raises "
        "an exception where nothing was retrieved.",
    )
)
def non_llm_context_recall(contexts: Sequence[str], references: Sequence[str], alike: Alike) -> float:
    """Share of the reference contexts to which some retrieved context is alike; 0 to 1, higher is better."""
    found = sum(any(alike(context, reference) for context in contexts) for reference in references)
    return found / len(references)


@reference_contexts_metric(
    Description(
        asks="Do chunks like the reference chunks stand above the others?",
        formula="Σ over useful ranks i: useful contexts among the first i / i; / |useful contexts|; 0 if none is",
        source="ragas (NonLLMContextPrecisionWithReference)",
        odd_cases=_ODD_CASES,
        disagreement="ragas adds 1e-10 to the denominator, so that a perfect value is .9999999999 there.",
    )
)
def non_llm_context_precision(contexts: Sequence[str], references: Sequence[str], alike: Alike) -> float:
    """Mean over the useful contexts, those alike to a reference, of the share of useful ones down to their rank.

    0 to 1, higher is better; 0 if none is useful.
    """
    useful = [any(alike(context, reference) for reference in references) for context in contexts]
    ranks = [rank for rank, is_useful in enumerate(useful, 1) if is_useful]
    return sum(count / rank for count, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0
