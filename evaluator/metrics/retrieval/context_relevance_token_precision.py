"""Context relevance by tokens: how much of the question stands in the best context?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evaluator.metrics.cells import context_texts, text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.token_overlap import Compared, overlaps
from evaluator.metrics.language.tokens import Tokenisation
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_together
from evaluator.metrics.options import CUT, TOKENISATION, checked_cut, cut_name, tokenised_name
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ContextRelevanceTokenPrecision:
    """Share of the question's tokens that occur in the best single context, from 0 to 1, higher is better.

    Tokens and overlap are unitxt's, but for scripts without spaces between words, which are cut into small tokens.

    Nothing retrieved (an empty list) is 0.0 with `no_contexts`, contexts that are not known (a missing
    cell) are null with it; no question (a missing cell, or no token in it) is null with `no_question`, but for an empty
    text, which is 0.0 with it, as in unitxt.
    """

    k: int | None = field(default=None, metadata=CUT)
    tokenisation: Tokenisation = field(default="any_script", kw_only=True, metadata=TOKENISATION)

    version = "3"
    needs = ("question", "contexts")
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="Which share of the question's words stands in the best chunk?",
        formula="max over contexts: Σ over tokens: min(count in question, count in context) / tokens of the question",
        source="unitxt (context_relevance.token_precision)",
        odd_cases=OddCases(
            no_contexts="0.0 with `no_contexts` for an empty list, null with `no_contexts` for a missing cell",
            duplicate_contexts="no difference",
        ),
        disagreement="unitxt raises an exception without contexts, and counts a Chinese or Thai question as one token "
        "(the form `..._squad`).",
        former_names=("context_relevance_token_precision_any_script",),
    )

    def __post_init__(self) -> None:
        checked_cut(self.k)

    @property
    def name(self) -> str:
        """Name in the registry, with the tokenisation and the cut."""
        return cut_name(tokenised_name("context_relevance_token_precision", self.tokenisation), self.k)

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `question` and `contexts`."""
        return score_together(self, frame, self._read_row, self._score_all)

    def _read_row(self, question_cell: object, contexts_cell: object) -> Score | Compared:
        question, contexts = text(question_cell, "question"), context_texts(contexts_cell)
        if question is None:
            return Score(None, UnscoredReason.NO_QUESTION)
        if contexts is None:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        return Compared(question, contexts[: self.k])

    def _score_all(self, rows: Sequence[Compared]) -> Iterator[Score]:
        for overlap in overlaps(rows, self.tokenisation):
            if not overlap.total:
                yield Score(0.0, UnscoredReason.NO_QUESTION)
            elif not overlap.shared:
                yield Score(0.0, UnscoredReason.NO_CONTEXTS)
            else:
                yield Score(max(overlap.shared) / overlap.total)


METRICS: tuple[Metric, ...] = (ContextRelevanceTokenPrecision(),)
