"""Facts of a proposed case by a sentence encoder: sentences of the contexts that say in other words what it says."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluator.metrics import ABSENT, fact_ranks, sentences
from evaluator.metrics.language.marks import without_citation_marks, without_outer_marks
from evaluator.metrics.language.numbers import missing_numbers, numbers_in
from evaluator.models import Models, ModelUnavailableError, sentence_encoder, unit_vectors

logger = logging.getLogger(__name__)

EXTRACTOR = "sentence_similarity/3"
"""Name and version of facts that `SimilarSentences` found."""


@dataclass(eq=False)
class SimilarSentences:
    """Finds the sentence of the contexts that is nearest to each sentence of an answer, from a cosine of `least` on.

    Where the encoder cannot be loaded nothing is found from then on: that is logged once.
    """

    models: Models
    least: float
    _is_off: bool = field(default=False, init=False)

    def facts(self, answer: str, contexts: Sequence[str]) -> list[str]:
        """Return sentences of the contexts in their order, each once; each stands in one by the citation matcher.

        A sentence that lacks a number of the answer's is none, however near it is: encoders hardly see numbers.
        """
        said = list(dict.fromkeys(sentences(without_citation_marks(answer))))
        there = list(dict.fromkeys(without_outer_marks(one) for context in contexts for one in sentences(context)))
        there = [one for one in there if one]
        if self._is_off or not said or not there:
            return []
        try:
            encoder = sentence_encoder(self.models)
        except ModelUnavailableError as error:
            self._is_off = True
            logger.warning("sentences in other words are not facts of cases: %s", error)
            return []
        cosines = unit_vectors(encoder.vectors(said)) @ unit_vectors(encoder.vectors(there)).T
        found: set[int] = set()
        for sentence, row in zip(said, cosines, strict=True):
            numbers = numbers_in(sentence)
            near = [place for place in range(len(there)) if row[place] >= self.least]
            near = [place for place in near if not missing_numbers(numbers, numbers_in(there[place]))]
            found |= {max(near, key=lambda place: row[place])} if near else set()
        facts = [there[place] for place in sorted(found)]
        ranks = fact_ranks(facts, contexts)
        return [fact for fact, rank in zip(facts, ranks, strict=True) if rank != ABSENT]
