"""Which cases answers may be compared with, and how questions in other words are found."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluator.answers.question_differences import ask_the_same
from evaluator.models import Models, ModelUnavailableError, sentence_encoder, unit_vectors
from lake import USABLE_STATUS, CaseStatus

logger = logging.getLogger(__name__)

_AT_ONCE = 256
_MOST_TRIED = 50
"""The most similar questions of one that are looked at."""


@dataclass(eq=False)
class SimilarByEncoder:
    """Finds questions whose vectors by the sentence encoder have a cosine of at least `threshold`.

    A pair that differs in a number, a name, a negation or the like is left out (`ask_the_same`). Where the encoder
    cannot be loaded nothing is found from then on: that is logged once.
    """

    models: Models
    threshold: float
    _is_off: bool = field(default=False, init=False)

    def similar(self, asked: Sequence[str], known: Sequence[str]) -> Sequence[Sequence[tuple[int, float]]]:
        """Give, for each question that was asked, the places of the known ones that ask the same, and the cosine."""
        if self._is_off or not asked or not known:
            return [()] * len(asked)
        try:
            encoder = sentence_encoder(self.models)
        except ModelUnavailableError as error:
            self._is_off = True
            logger.warning("questions in other words are not compared with cases: %s", error)
            return [()] * len(asked)
        there = unit_vectors(encoder.vectors(known))
        found: list[Sequence[tuple[int, float]]] = []
        for begin in range(0, len(asked), _AT_ONCE):
            some = asked[begin : begin + _AT_ONCE]
            cosines = unit_vectors(encoder.vectors(some)) @ there.T
            found += [self._of_one(question, row, known) for question, row in zip(some, cosines, strict=True)]
        return found

    def _of_one(self, question: str, cosines: Any, known: Sequence[str]) -> Sequence[tuple[int, float]]:
        (near,) = np.nonzero(cosines >= self.threshold)
        ordered = near[np.argsort(-cosines[near], kind="stable")][:_MOST_TRIED].tolist()
        return [(place, float(cosines[place])) for place in ordered if ask_the_same(question, known[place])]


@dataclass(frozen=True)
class CaseMatching:
    """Statuses of the cases that answers are compared with, and what finds questions in other words, if anything."""

    status: Sequence[CaseStatus] = USABLE_STATUS
    similar: SimilarByEncoder | None = None
