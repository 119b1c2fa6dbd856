"""Answer correctness as token recall: how much of a reference answer does the answer say?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from evaluator.metrics.cells import text, texts
from evaluator.metrics.metric import Score, Scores, score_rows
from evaluator.metrics.tokens import TokenCounts, shared_tokens, token_counter, tokens


@dataclass(frozen=True)
class AnswerCorrectnessTokenRecall:
    """Share of a reference's tokens that the answer holds, of several references the best; 0 to 1, higher is better.

    Tokens and overlap are unitxt's ("answer_correctness"). Long answers score well. An empty answer is 0.0 with
    `no_answer`, a missing one is null with it. No references are null with `no_ground_truth`; a reference without
    a token gives 0.0, as in unitxt.
    """

    name = "answer_correctness_token_recall"
    version = "1"
    needs = ("answer", "reference_answers")
    judge = "lexical"

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer` and `reference_answers`."""
        count = token_counter()
        return score_rows(self, frame, lambda answer, references: _score_row(answer, references, count))


def _score_row(answer_cell: object, references_cell: object, count: Callable[[str], TokenCounts]) -> Score:
    answer, references = text(answer_cell, "answer"), texts(references_cell, "reference_answers")
    if not references:
        return Score(None, "no_ground_truth")
    if answer is None:
        return Score(None, "no_answer")
    if not answer.strip():
        return Score(0.0, "no_answer")
    answer_counts = Counter(tokens(answer))
    return Score(max(_recall(answer_counts, count(reference)) for reference in references))


def _recall(answer: TokenCounts, reference: TokenCounts) -> float:
    total = sum(reference.values())
    return shared_tokens(reference, answer) / total if total else 0.0
