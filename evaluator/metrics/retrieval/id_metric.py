"""Base of the metrics of retrieval by ids: retrieved ids against gold ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from evaluator.metrics.cells import ids
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Score, ScoredBy, Scores, score_rows
from evaluator.metrics.options import CUT, checked_cut, cut_name, option, version_with
from evaluator.metrics.retrieval.id_ranking import IdRanking
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

NOTHING_RETRIEVED = (
    "Nothing retrieved is NaN in ragas and TruLens, an exception in llama-index and ranx. "
    "No gold ids are 0 in unitxt. Where ids are numbers, only ragas compares them with strings, as here."
)


def odd_cases(duplicates: str = "a gold id counts at its first rank only; a repeat fills a rank") -> OddCases:
    """What metrics of ids give in the odd cases; they differ in what they make of repeats."""
    return OddCases(
        no_contexts="0.0 with `no_contexts` for an empty list, null with `no_contexts` for a missing cell",
        duplicate_contexts=duplicates,
        no_reference="null with `no_ground_truth`",
    )


@dataclass(frozen=True)
class IdMetric(ABC):
    """A number of an `IdRanking`; ids are strings and are compared as they are.

    No gold ids are null with `no_ground_truth`. Nothing retrieved (an empty list) is 0.0 with `no_contexts`, or a dead
    retriever would lift the mean; ids that are not known (a missing cell) are null with `no_contexts`.
    """

    nothing_retrieved: Literal["zero", "null"] = field(
        default="zero",
        kw_only=True,
        metadata=option("`zero`: 0.0 where nothing was retrieved; `null`: null, as ragas and TruLens (NaN)"),
    )

    title: ClassVar[str]
    base_version: ClassVar[str] = "1"
    about: ClassVar[Description]
    needs = ("context_ids", "reference_context_ids")
    judge = ScoredBy.LEXICAL

    @property
    def name(self) -> str:
        """Name in the registry."""
        return self.title

    @property
    def version(self) -> str:
        """Version of the arithmetic, with the options that change it."""
        return version_with(self, self.base_version, "nothing_retrieved", "repeats", "denominator", "granular", "ideal")

    @abstractmethod
    def value(self, ranking: IdRanking) -> float:
        """Give the value of a ranking that has gold ids and retrieved ones."""

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `context_ids` and `reference_context_ids`."""
        return score_rows(self, frame, self._score_row)

    def _score_row(self, retrieved_cell: object, gold_cell: object) -> Score:
        retrieved, gold = ids(retrieved_cell, "context_ids"), ids(gold_cell, "reference_context_ids")
        ranking = IdRanking.of(retrieved or [], gold or [])
        if not ranking.gold:
            return Score(None, UnscoredReason.NO_GROUND_TRUTH)
        if retrieved is None:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        if not retrieved:
            return Score(0.0 if self.nothing_retrieved == "zero" else None, UnscoredReason.NO_CONTEXTS)
        return Score(self.value(ranking))


@dataclass(frozen=True)
class CutIdMetric(IdMetric, ABC):
    """An `IdMetric` that can be cut after the first k retrieved ids."""

    k: int | None = field(default=None, metadata=CUT)

    def __post_init__(self) -> None:
        checked_cut(self.k)

    @property
    def name(self) -> str:
        """Name in the registry, with the cut: `id_recall@5`."""
        return cut_name(self.title, self.k)
