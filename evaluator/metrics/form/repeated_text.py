"""Repeated text: how much of the answer has the answer already said?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evaluator.metrics.cells import text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.words import words
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from evaluator.metrics.options import option, version_with
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RepeatedText:
    """Share of the answer's runs of n words that stood in it before, from 0 to below 1, lower is better.

    This is seq-rep-n of Welleck et al., "Neural Text Generation with Unlikelihood Training". An answer that cannot
    repeat itself, because it has fewer than n words, is null with `too_short`, an empty one with `no_answer`: silence
    is no virtue here.
    """

    n: int = field(default=4, metadata=option("words of a run; 4 as in the paper"))

    name = "repeated_text"
    needs = ("answer",)
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="How much of the answer has the answer already said?",
        formula="1 - distinct runs of n words / runs of n words, n = 4, words in lower case",
        source="Welleck et al., Neural Text Generation with Unlikelihood Training (seq-rep-n)",
        odd_cases=OddCases(empty_answer="null with `no_answer`; null with `too_short` below n words"),
        direction="down",
        aliases=("seq_rep_4",),
    )

    def __post_init__(self) -> None:
        """Raise ValueError where n is not a whole number of 1 or more."""
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise ValueError(f"n is a whole number of 1 or more, not {self.n!r}")

    @property
    def version(self) -> str:
        """Version of the arithmetic with n."""
        return version_with(self, "1", "n")

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer`."""
        return score_rows(self, frame, self._score_row)

    def _score_row(self, cell: object) -> Score:
        answer = text(cell, "answer")
        if answer is None or not answer.strip():
            return Score(None, UnscoredReason.NO_ANSWER)
        said = words(answer)
        runs = list(zip(*(said[start:] for start in range(self.n)), strict=False))
        return Score(1 - len(set(runs)) / len(runs)) if runs else Score(None, UnscoredReason.TOO_SHORT)


METRICS: tuple[Metric, ...] = (RepeatedText(),)
