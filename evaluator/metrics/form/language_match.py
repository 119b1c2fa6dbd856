"""Language match: is the answer in the language of the question?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.detection import language_of
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LanguageMatch:
    """1.0 if question and answer are in one language, 0.0 if not, higher is better.

    The language is recognised by `language_of`. Texts in two scripts do not match, whatever their languages. A text of
    fewer than three words is null with `too_short`, one whose language cannot be recognised with `unknown_language`.

    The details name the two languages, as far as known: `{"question": "en", "answer": "de"}`.
    """

    name = "language_match"
    version = "1"
    needs = ("question", "answer")
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="Is the answer in the language of the question?",
        formula="1 if the two languages are one, else 0; a language is recognised by its script and its most frequent "
        "words, a word of n languages being 1/n of a sign of each, where the signs are 1.3 and a tenth of the words or "
        "more, and 1.5 times those of any other language; code, addresses and file names are left out",
        source="dialwatch",
        odd_cases=OddCases(
            empty_answer="0.0 with `no_answer`, null with it for a missing cell; null with `too_short` below three "
            "words, with `unknown_language` where it cannot be recognised"
        ),
        binary=True,
    )

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `question` and `answer`."""
        return score_rows(self, frame, _score_row)


def _score_row(question_cell: object, answer_cell: object) -> Score:
    question, answer = text(question_cell, "question"), text(answer_cell, "answer")
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if question is None or not question.strip():
        return Score(None, UnscoredReason.NO_QUESTION)
    if not answer.strip():
        return Score(0.0, UnscoredReason.NO_ANSWER)
    asked, answered = language_of(question), language_of(answer)
    if asked.script is None or answered.script is None:
        return Score(None, UnscoredReason.TOO_SHORT)
    details = {"question": asked.code or asked.script, "answer": answered.code or answered.script}
    differs = asked.differs(answered)
    if differs is None:
        return Score(None, UnscoredReason.UNKNOWN_LANGUAGE, details)
    return Score(float(not differs), None, details)


METRICS: tuple[Metric, ...] = (LanguageMatch(),)
