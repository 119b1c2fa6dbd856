"""Cases that answers are compared with, and a search for known questions that ask the same in other words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluator.answers.question_differences import ask_the_same
from evaluator.models import Models, ModelUnavailableError, sentence_encoder, unit_vectors
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus

logger = logging.getLogger(__name__)

_AT_ONCE = 256
_MOST_TRIED = 50
"""The most similar questions of one that are looked at."""


@dataclass(eq=False)
class SimilarByEncoder:
    """Finds questions that are alike: the cosine of their vectors is `threshold` or more.

    The vectors are those of the sentence encoder. Questions that differ in a number, a name, a negation or the like
    are not alike (`ask_the_same`). If the encoder cannot be loaded, this is logged once, and nothing is found.
    """

    models: Models
    threshold: float
    _is_off: bool = field(default=False, init=False)

    def similar(self, asked: Sequence[str], known: Sequence[str]) -> Sequence[Sequence[tuple[int, float]]]:
        """Return for each asked question the known ones that ask the same: the place in `known`, and the cosine."""
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
    """The statuses of the cases that count, and the search for questions in other words; None: no such search."""

    status: Sequence[CaseStatus] = USABLE_STATUS
    similar: SimilarByEncoder | None = None
