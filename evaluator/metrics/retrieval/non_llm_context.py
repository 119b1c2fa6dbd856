"""Context precision and recall by string similarity to reference contexts, for chunks of one splitter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from evaluator.metrics.cells import texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from evaluator.metrics.options import CUT, checked_cut, cut_name, option, version_with
from evaluator.metrics.text.string_similarity import similarity
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

_ODD_CASES = OddCases(
    no_contexts="0.0 with `no_contexts` for an empty list, null with `no_contexts` for a missing cell",
    duplicate_contexts="no difference to recall; to precision each copy of a useful context is useful",
    no_reference="null with `no_ground_truth`",
)


@dataclass(frozen=True)
class ReferenceContextsMetric(ABC):
    """A number of which retrieved contexts are alike which reference contexts, each whole against whole.

    Alike is a Levenshtein similarity of at least `threshold`. A short reference inside a long chunk is not alike to it.
    """

    k: int | None = field(default=None, metadata=CUT)
    threshold: float = field(default=0.5, kw_only=True, metadata=option("similarity from which two contexts are alike"))
    strict: bool = field(
        default=False, kw_only=True, metadata=option("`True`: the similarity must be over the threshold, not at it")
    )

    title: ClassVar[str]
    about: ClassVar[Description]
    needs = ("contexts", "reference_contexts")
    judge = ScoredBy.LEXICAL

    def __post_init__(self) -> None:
        checked_cut(self.k)

    @property
    def name(self) -> str:
        """Name in the registry, with the cut."""
        return cut_name(self.title, self.k)

    @property
    def version(self) -> str:
        """Version of the arithmetic, with the options that change it."""
        return version_with(self, "1", "threshold", "strict")

    @abstractmethod
    def value(self, contexts: Sequence[str], references: Sequence[str]) -> float:
        """Give the value of contexts and references, of which there are some."""

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
        return Score(self.value(contexts[: self.k], references))


@dataclass(frozen=True)
class NonLlmContextRecall(ReferenceContextsMetric):
    """Share of the reference contexts to which some retrieved context is alike; 0 to 1, higher is better."""

    title = "non_llm_context_recall"
    about = Description(
        asks="Which share of the reference chunks came back, give or take small edits?",
        formula="|reference contexts with a context whose Levenshtein similarity is >= .5| / |reference contexts|",
        source="ragas (NonLLMContextRecall)",
        odd_cases=_ODD_CASES,
        disagreement="ragas takes > here and >= for precision; here it is >= in both (`strict=True` for >). It raises "
        "an exception where nothing was retrieved.",
    )

    def value(self, contexts: Sequence[str], references: Sequence[str]) -> float:
        """Give recall."""
        found = sum(any(self.alike(context, reference) for context in contexts) for reference in references)
        return found / len(references)


@dataclass(frozen=True)
class NonLlmContextPrecision(ReferenceContextsMetric):
    """Mean over the useful contexts, those alike to a reference, of the share of useful ones down to their rank.

    0 to 1, higher is better; 0 if none is useful.
    """

    title = "non_llm_context_precision"
    about = Description(
        asks="Do chunks like the reference chunks stand above the others?",
        formula="Σ over useful ranks i: useful contexts among the first i / i; / |useful contexts|; 0 if none is",
        source="ragas (NonLLMContextPrecisionWithReference)",
        odd_cases=_ODD_CASES,
        disagreement="ragas adds 1e-10 to the denominator, so that a perfect value is .9999999999 there.",
    )

    def value(self, contexts: Sequence[str], references: Sequence[str]) -> float:
        """Give the average precision."""
        useful = [any(self.alike(context, reference) for reference in references) for context in contexts]
        ranks = [rank for rank, is_useful in enumerate(useful, 1) if is_useful]
        return sum(count / rank for count, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


METRICS: tuple[Metric, ...] = (
    NonLlmContextRecall(),
    NonLlmContextPrecision(),
)
