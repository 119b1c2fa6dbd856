"""Faithfulness as K-precision: how much of the answer stands in what was retrieved?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from evaluator.metrics.cells import text, texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Score, Scores, score_rows
from evaluator.metrics.options import option
from evaluator.metrics.tokens import (
    TOKENISATION_MEANING,
    TokenCounts,
    Tokenisation,
    shared_tokens,
    token_counter,
    tokenised_name,
    tokeniser,
)


@dataclass(frozen=True)
class FaithfulnessKPrecision:
    """Share of the answer's tokens that occur in the contexts, from 0 to 1, higher is better.

    Tokens and overlap are unitxt's ("faithfulness"). `aggregation="join"` takes all contexts as one text, as the
    paper does (Adlakha et al., "Evaluating Correctness and Faithfulness of Instruction-Following Models"); "max" takes
    the best single context, which is unitxt's number.

    An empty answer is 0.0 with `no_answer`. Nothing retrieved (an empty list) is 0.0 with `no_contexts`, or a dead
    retriever would lift the mean; with "max" there is no best context, and it is null. Contexts that are not known
    (a missing cell) are null with `no_contexts`, a missing answer is null with `no_answer`.
    """

    aggregation: Literal["join", "max"] = field(
        default="join", metadata=option("`join`: all contexts as one text; `max`: the best context, as unitxt")
    )

    tokenisation: Tokenisation = field(default="squad", metadata=option(TOKENISATION_MEANING))

    needs = ("answer", "contexts")
    judge = "lexical"
    about = Description(
        asks="Which share of the answer's words stands in what was retrieved?",
        formula="Σ over tokens: min(count in the answer, count in the contexts) / tokens of the answer",
        source="unitxt (faithfulness); Adlakha et al., Evaluating Correctness and Faithfulness of "
        "Instruction-Following Models (K-Precision)",
        odd_cases=OddCases(
            empty_answer="0.0 with `no_answer`, null with it for a missing cell",
            no_contexts="0.0 with `no_contexts` for an empty list (null with `max`, which has no best context), null "
            "with it for a missing cell",
            duplicate_contexts="joined, a word that comes twice in the answer is covered by two copies",
        ),
        disagreement="unitxt takes the best single context, the paper all as one text, as here: three one-word "
        "contexts cover a three-word answer to 1/3 and to 1. unitxt raises an exception without contexts.",
        aliases=("faithfulness", "faithfulness_k_precision", "k_precision", "knowledge_precision"),
    )

    @property
    def name(self) -> str:
        """Name in the registry, with the tokenisation."""
        return tokenised_name("faithfulness_kprecision", self.tokenisation)

    @property
    def version(self) -> str:
        """Version of the arithmetic; the two aggregations are not comparable."""
        return "1" if self.aggregation == "join" else "1-max"

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer` and `contexts`."""
        count = token_counter(self.tokenisation)
        return score_rows(self, frame, lambda answer, contexts: self._score_row(answer, contexts, count))

    def _score_row(self, answer_cell: object, contexts_cell: object, count: Callable[[str], TokenCounts]) -> Score:
        answer, contexts = text(answer_cell, "answer"), texts(contexts_cell, "contexts")
        if answer is None:
            return Score(None, "no_answer")
        if contexts is None:
            return Score(None, "no_contexts")
        if not contexts:
            return Score(0.0 if self.aggregation == "join" else None, "no_contexts")
        answer_counts = Counter(tokeniser(self.tokenisation)(answer))
        total = sum(answer_counts.values())
        if not total:
            return Score(0.0, None if answer.strip() else "no_answer")
        return Score(self._shared(answer_counts, [count(context) for context in contexts]) / total)

    def _shared(self, answer: TokenCounts, contexts: Sequence[TokenCounts]) -> int:
        if self.aggregation == "join":
            return shared_tokens(answer, *contexts)
        return max(shared_tokens(answer, context) for context in contexts)
