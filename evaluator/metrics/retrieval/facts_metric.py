"""Decorator of the metrics of retrieval by facts, which do not depend on how texts were cut into chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from evaluator.metrics.cells import context_texts, texts
from evaluator.metrics.decorator import Decorator, FunctionMetric, made_metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.matchers.citation import AIDIAL_RAG_EVAL, CITATION, TRIMMED
from evaluator.metrics.matchers.embedding import EMBEDDING
from evaluator.metrics.matchers.exact import EXACT
from evaluator.metrics.matchers.matcher import FactMatcher, FactsFound, FindFacts, finders_of
from evaluator.metrics.matchers.statement import STATEMENT
from evaluator.metrics.options import Form, cut_name, cut_option, option, version_of
from evaluator.metrics.scores import LateDetails, Score, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

MATCHER_MEANING = (
    "who decides whether a context holds a fact: `CitationMatcher()`; `CitationMatcher(trimmed=True)` (metric name "
    "`..._trimmed`); `CitationMatcher(as_written=True)` (`..._aidial_rag_eval`); `ExactMatcher()` (`..._exact`); "
    "`StatementMatcher(threshold=85)` (`..._statement`); `EmbeddingMatcher(threshold=0.75)` (`..._embedding`). A judge "
    "decides in metrics of their own: `facts_recall_judge`, `facts_precision_judge` and `facts_f1_judge`"
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
_NO_MATCHER = (
    "matcher is an object such as StatementMatcher(), not {given!r}; by name ask for facts_recall_statement, or for "
    "facts_recall_judge, facts_precision_judge or facts_f1_judge, where a judge decides"
)
PACKAGE = "aidial-rag-eval 0.7.0"


def odd_cases(duplicates: str) -> OddCases:
    """What metrics of facts give in the odd cases; they differ in what they make of repeated contexts."""
    return OddCases(
        no_contexts="0.0 with `no_contexts` for an empty list, null with `no_contexts` for a missing cell",
        duplicate_contexts=duplicates,
        no_reference="null with `no_facts`, also where no fact has a letter or a digit; `ignored_facts` counts those",
    )


def _check_matcher(given: object) -> None:
    if isinstance(given, str):
        raise ValueError(_NO_MATCHER.format(given=given))


def ranks_of(found: FactsFound, k: int | None) -> Mapping[str, Any]:
    """Return the details `facts_ranks`: ranks from 0, -1 where absent."""
    return {"facts_ranks": list(found.first(k).ranks)}


def counts_of(found: FactsFound, k: int | None) -> Mapping[str, Any]:
    """Return the details `context_relevance`: the number of facts of each context."""
    return {"context_relevance": list(found.first(k).counts)}


@dataclass(frozen=True)
class FactsMetric(FunctionMetric):
    """A metric whose function gives a number of what a matcher found in all contexts, of which there are some.

    Facts without a letter or digit are input errors and not counted. `ignored_facts` in the details says how many there
    were; indexes and ranks are of the counted ones. `details` gives what the value stands on, `places` where the facts
    stand, which most metrics leave to `facts_recall`.

    No facts are null with `no_facts`. Nothing retrieved (an empty list) is 0.0 with `no_contexts`; contexts that are
    not known (a missing cell) are null with `no_contexts`. Thousands of facts in megabytes of contexts are null with
    `too_long`.
    """

    k: int | None = cut_option()
    _: KW_ONLY
    matcher: FactMatcher = option(CITATION, MATCHER_MEANING, *_MATCHERS, check=_check_matcher)

    details: ClassVar[Callable[[FactsFound, int | None], Mapping[str, Any]]]
    places: ClassVar[Callable[[FactsMetric, FactsFound, Sequence[str], Sequence[str]], Mapping[str, Any]] | None]
    needs = ("facts", "contexts")

    @cached_property
    def name(self) -> str:
        """Name in the registry, with the matcher and the cut: `facts_recall_statement@5`."""
        return cut_name(f"{self.title}_{self.matcher.name}".rstrip("_"), self.k)

    @property
    def judge(self) -> str:  # type: ignore[override]
        """Who says whether a context holds a fact: what the matcher goes by."""
        return self.matcher.judge

    @cached_property
    def version(self) -> str:
        """Version of the arithmetic and of the matcher, with the options that change them."""
        return version_of(self, self.matcher.version)

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `facts` and `contexts`; metrics that score the same frame share what is found."""
        find, value = finders_of(frame).of(self.matcher), self.bound
        return score_rows(self, frame, lambda facts, contexts: self._score_row(facts, contexts, find, value))

    def _score_row(
        self, facts_cell: object, contexts_cell: object, find: FindFacts, value: Callable[[FactsFound], float]
    ) -> Score:
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

        def details() -> Mapping[str, Any]:
            places_of = type(self).places
            places = {} if places_of is None else places_of(self, found, facts, contexts)
            return {**type(self).details(found, self.k), **places, "ignored_facts": len(given) - len(facts)}

        return Score(
            value(found) if contexts else 0.0, None if contexts else UnscoredReason.NO_CONTEXTS, LateDetails(details)
        )


def facts_metric(
    about: Description,
    *,
    details: Callable[[FactsFound, int | None], Mapping[str, Any]] = ranks_of,
    places: Callable[[FactsMetric, FactsFound, Sequence[str], Sequence[str]], Mapping[str, Any]] | None = None,
    listed: str | None = None,
) -> Decorator:
    """Make a metric of a function of what a matcher found; see `FactsMetric`."""
    places_of = None if places is None else staticmethod(places)
    return made_metric(FactsMetric, about, listed=listed, details=staticmethod(details), places=places_of)
