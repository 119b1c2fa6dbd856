"""Base of the metrics of retrieval by facts, which do not depend on how texts were cut into chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from evaluator.metrics.cells import context_texts, texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.matchers.citation import AIDIAL_RAG_EVAL, CITATION, TRIMMED
from evaluator.metrics.matchers.embedding import EMBEDDING
from evaluator.metrics.matchers.exact import EXACT
from evaluator.metrics.matchers.matcher import FactMatcher, FactsFound, FindFacts, finders_of
from evaluator.metrics.matchers.statement import STATEMENT
from evaluator.metrics.metric import LateDetails, Score, Scores, score_rows
from evaluator.metrics.options import CUT, Form, checked_cut, cut_name, option, version_with
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

MATCHER_MEANING = (
    "who decides whether a context holds a fact: `CitationMatcher()`; `CitationMatcher(trimmed=True)` (metric name "
    "`..._trimmed`); `CitationMatcher(as_written=True)` (`..._aidial_rag_eval`); `ExactMatcher()` (`..._exact`); "
    "`StatementMatcher(threshold=85)` (`..._statement`); `EmbeddingMatcher(threshold=0.75)` (`..._embedding`)"
)
_MATCHERS = (
    Form("trimmed", TRIMMED, "facts are found without their outer spaces and marks"),
    Form(
        "aidial_rag_eval",
        AIDIAL_RAG_EVAL,
        "facts are found as aidial-rag-eval 0.7.0 finds them: character by character, numbers too",
    ),
    Form("exact", EXACT, "a fact is found where it is the whole context"),
    Form("statement", STATEMENT, "a fact is found in nearly the same words (rapidfuzz, 85 percent alike)"),
    Form("embedding", EMBEDDING, "a fact is found in other words (cosine of 0.75 with a sentence)"),
)
PACKAGE = "aidial-rag-eval 0.7.0"


def odd_cases(duplicates: str) -> OddCases:
    """What metrics of facts give in the odd cases; they differ in what they make of repeated contexts."""
    return OddCases(
        no_contexts="0.0 with `no_contexts` for an empty list, null with `no_contexts` for a missing cell",
        duplicate_contexts=duplicates,
        no_reference="null with `no_facts`, also where no fact can be looked for; `ignored_facts` counts those",
    )


@dataclass(frozen=True)
class FactsMetric(ABC):
    """A number of what a matcher found; facts without a letter or digit are input errors and not counted.

    `ignored_facts` in the details says how many there were; indexes and ranks are of the counted ones.

    No facts are null with `no_facts`. Nothing retrieved (an empty list) is 0.0 with `no_contexts`; contexts that are
    not known (a missing cell) are null with `no_contexts`. Thousands of facts in megabytes of contexts are null with
    `too_long`.
    """

    k: int | None = field(default=None, metadata=CUT)
    matcher: FactMatcher = field(default=CITATION, kw_only=True, metadata=option(MATCHER_MEANING, *_MATCHERS))

    title: ClassVar[str]
    about: ClassVar[Description]
    needs = ("facts", "contexts")

    def __post_init__(self) -> None:
        checked_cut(self.k)

    @property
    def name(self) -> str:
        """Name in the registry, with the matcher and the cut: `facts_recall_statement@5`."""
        return cut_name(f"{self.title}_{self.matcher.name}".rstrip("_"), self.k)

    @property
    def judge(self) -> str:
        """Who says whether a context holds a fact: what the matcher goes by."""
        return self.matcher.judge

    @property
    def version(self) -> str:
        """Version of the arithmetic and of the matcher, with the options that change them."""
        return version_with(self, self.matcher.version, "gain")

    @abstractmethod
    def value(self, found: FactsFound) -> float:
        """Give the value of what was found in all contexts, of which there are some."""

    def details(self, found: FactsFound) -> Mapping[str, Any]:
        """Give what the value stands on: `facts_ranks`, from 0, -1 where absent."""
        return {"facts_ranks": list(found.first(self.k).ranks)}

    def places(self, found: FactsFound, facts: Sequence[str], contexts: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002
        """Give where the facts stand, for the details; most metrics leave it to `facts_recall`."""
        return {}

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `facts` and `contexts`; metrics that score the same frame share what is found."""
        find = finders_of(frame).of(self.matcher)
        return score_rows(self, frame, lambda facts, contexts: self._score_row(facts, contexts, find))

    def _score_row(self, facts_cell: object, contexts_cell: object, find: FindFacts) -> Score:
        given = texts(facts_cell, "facts") or []
        # In the package's form contexts without text are searched, as there.
        is_package = self.matcher == AIDIAL_RAG_EVAL
        contexts = texts(contexts_cell, "contexts") if is_package else context_texts(contexts_cell)
        facts = [fact for fact in given if self.matcher.is_usable(fact)]
        if not facts:
            return Score(None, UnscoredReason.NO_FACTS)
        if contexts is None:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        found = find(facts, contexts)
        ignored = {"ignored_facts": len(given) - len(facts)}
        details = LateDetails(lambda: {**self.details(found), **self.places(found, facts, contexts), **ignored})
        return Score(self.value(found) if contexts else 0.0, None if contexts else UnscoredReason.NO_CONTEXTS, details)
