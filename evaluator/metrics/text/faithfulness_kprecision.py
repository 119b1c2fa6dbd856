"""Faithfulness as K-precision: how much of the answer stands in what was retrieved?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from evaluator.metrics.cells import context_texts, text, texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.absent_words import absent_numbers, absent_words, joined_places, with_numbers_of
from evaluator.metrics.language.token_overlap import Compared, Overlap, overlaps
from evaluator.metrics.language.tokens import Tokenisation
from evaluator.metrics.language.unicode_forms import UnicodeForm, in_one_form
from evaluator.metrics.metric import LateDetails, Metric, Score, ScoredBy, Scores, score_together
from evaluator.metrics.options import TOKENISATION, option, tokenised_name
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

_MOST_PLACES = 200
"""Places that the details of a score name."""
_MOST_CHARACTERS = 1_000_000
"""Characters of answer and contexts in which absent words are looked for."""


@dataclass(frozen=True)
class FaithfulnessKPrecision:
    """Share of the answer's tokens that occur in the contexts, from 0 to 1, higher is better.

    Tokens and overlap are unitxt's ("faithfulness"), but for scripts without spaces between words: their texts are cut
    into small tokens, where unitxt takes a text for one. `aggregation="join"` takes all contexts as one text, as the
    paper does (Adlakha et al., "Evaluating Correctness and Faithfulness of Instruction-Following Models"); "max" takes
    the best single context, which with `tokenisation="squad"` is unitxt's number.

    An empty answer is 0.0 with `no_answer`. Nothing retrieved (an empty list) is 0.0 with `no_contexts`, or a dead
    retriever would lift the mean; with "max" there is no best context, and it is null. Contexts that are not known
    (a missing cell) are null with `no_contexts`, a missing answer is null with `no_answer`.

    But for "max", texts are compared in one Unicode form and numbers by value, with their units: 35 is not in a context
    that says 3,5, and 1000 is in one that says 1 000.

    `unsupported` in the details has the words of the answer that stand in no context, and the numbers that are equal to
    none there, as start and end in its characters: the first 200 places, and in `more_unsupported` how many follow.
    """

    aggregation: Literal["join", "max"] = field(
        default="join", metadata=option("`join`: all contexts as one text; `max`: the best context, as unitxt")
    )

    tokenisation: Tokenisation = field(default="any_script", metadata=TOKENISATION)

    needs = ("answer", "contexts")
    judge = ScoredBy.LEXICAL
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
        "contexts cover a three-word answer to 1/3 and to 1. unitxt raises an exception without contexts, and counts a "
        "Chinese or Thai text as one token (`faithfulness_kprecision_squad`).",
        aliases=("faithfulness", "faithfulness_k_precision", "k_precision", "knowledge_precision"),
        former_names=("faithfulness_kprecision_any_script",),
    )

    @property
    def name(self) -> str:
        """Name in the registry, with the tokenisation."""
        return tokenised_name("faithfulness_kprecision", self.tokenisation)

    @property
    def version(self) -> str:
        """Version of the arithmetic; the two aggregations are not comparable."""
        return "4" if self.aggregation == "join" else "2-max"

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer` and `contexts`."""
        return score_together(self, frame, self._read_row, self._score_all)

    def _read_row(self, answer_cell: object, contexts_cell: object) -> Score | _Row:
        answer = text(answer_cell, "answer")
        contexts = texts(contexts_cell, "contexts") if self.aggregation == "max" else context_texts(contexts_cell)
        if answer is None:
            return Score(None, UnscoredReason.NO_ANSWER)
        if contexts is None:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        if not contexts:
            return Score(0.0 if self.aggregation == "join" else None, UnscoredReason.NO_CONTEXTS)
        if self.aggregation == "max":
            return _Row(UnicodeForm(answer, answer), contexts)
        return _Row(UnicodeForm.of(answer), [in_one_form(" ".join(contexts))])

    def _score_all(self, rows: Sequence[_Row]) -> Iterator[Score]:
        compared = [Compared(self._compared(row), row.contexts) for row in rows]
        for row, overlap in zip(rows, overlaps(compared, self.tokenisation), strict=True):
            if overlap.total:
                details = LateDetails(partial(self._details, row, overlap))
                yield Score(max(overlap.shared) / overlap.total, None, details)
            else:
                yield Score(0.0, None if row.answer.text.strip() else UnscoredReason.NO_ANSWER)

    def _compared(self, row: _Row) -> str:
        answer = row.answer.text
        if self.aggregation == "max" or len(answer) + len(row.contexts[0]) > _MOST_CHARACTERS:
            return answer
        return with_numbers_of(row.contexts[0], answer)

    def _details(self, row: _Row, overlap: Overlap) -> dict[str, Any]:
        answer = row.answer.text
        if len(answer) + sum(map(len, row.contexts)) > _MOST_CHARACTERS:
            return {}
        is_covered = max(overlap.shared) == overlap.total
        words = [] if is_covered else absent_words(answer, row.contexts, self.tokenisation)
        numbers = absent_numbers(answer, row.contexts)
        places = [row.answer.span(*place) for place in joined_places(answer, [*words, *numbers])]
        left = len(places) - _MOST_PLACES
        found = {"unsupported": places[:_MOST_PLACES]} if places else {}
        return found | ({"more_unsupported": left} if left > 0 else {})


@dataclass(frozen=True)
class _Row:
    answer: UnicodeForm
    contexts: Sequence[str]


METRICS: tuple[Metric, ...] = (FaithfulnessKPrecision(),)
