"""Embedding matcher: a context holds a fact if a sentence of it says the fact in other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.metrics.cells import checked_size
from evaluator.metrics.language.sentences import sentences
from evaluator.metrics.matchers.canonical import is_usable
from evaluator.metrics.matchers.matcher import FactsFound, FindFacts, Span, Spans, checked_work
from evaluator.metrics.scores import ScoredBy
from evaluator.models import DEFAULT_MODELS, Models, sentence_encoder, unit_vectors

DEFAULT_THRESHOLD = 0.75
_MOST = 100_000_000  # Steps, as for the other matchers.
_MOST_CHARACTERS = 500_000
"""Characters of a row's facts and contexts that are encoded; more take minutes."""


@dataclass(frozen=True)
class EmbeddingMatcher:
    """A fact is held by a context that has a sentence whose embedding's cosine with the fact's is `threshold` or more.

    It finds paraphrases. A sentence that denies the fact, or says it of another year, is mostly similar too: where that
    matters, use citations. A fact that two sentences say together is not found. Facts and contexts of more than 500,000
    characters in a row are null with `too_long`.

    `finder` raises ModelUnavailableError where the encoder is not on this machine.
    """

    threshold: float = DEFAULT_THRESHOLD
    models: Models = DEFAULT_MODELS

    judge = ScoredBy.EMBEDDING

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold is a cosine over 0 and up to 1, not {self.threshold!r}")

    @property
    def name(self) -> str:
        """`embedding`."""
        return "embedding"

    @property
    def version(self) -> str:
        """Version of the rule, the model, and the threshold if another was chosen."""
        chosen = "" if self.threshold == DEFAULT_THRESHOLD else f"-threshold={self.threshold:g}"
        return f"3-{self.models.version('sentence_encoder')}{chosen}"

    def finder(self) -> FindFacts:
        """Return a function that compares the facts with each sentence of each context."""
        sentence_encoder(self.models)  # A missing model is reported before the first row, not as that row's error.
        return lambda facts, contexts: FactsFound.of(
            [[index for index, _ in of_context] for of_context in self.spans(facts, contexts)], len(facts)
        )

    def spans(self, facts: Sequence[str], contexts: Sequence[str]) -> Spans:
        """Return the sentence of each context that is most like a fact, where it is alike enough."""
        checked_work(facts, contexts, _MOST)
        checked_size(sum(map(len, facts)) + sum(map(len, contexts)), _MOST_CHARACTERS)
        cut = [sentences(context) for context in contexts]
        said = list(dict.fromkeys(sentence for of_context in cut for sentence in of_context))
        vectors = unit_vectors(sentence_encoder(self.models).vectors([*facts, *said]).astype(np.float64))
        cosines = vectors[: len(facts)] @ vectors[len(facts) :].T
        column = {sentence: index for index, sentence in enumerate(said)}
        return [
            self._held(cosines[:, [column[sentence] for sentence in of_context]], of_context, context)
            for of_context, context in zip(cut, contexts, strict=True)
        ]

    def _held(self, cosines: npt.NDArray[np.float64], said: Sequence[str], context: str) -> list[tuple[int, Span]]:
        if not said:
            return []
        best = cosines.argmax(axis=1).tolist()
        held: list[int] = np.flatnonzero(cosines.max(axis=1) >= self.threshold).tolist()
        starts = {fact: context.find(said[best[fact]]) for fact in held}
        return [(fact, (start, start + len(said[best[fact]]))) for fact, start in starts.items()]

    def is_usable(self, fact: str) -> bool:
        """Whether it has a letter or digit."""
        return is_usable(fact)


EMBEDDING = EmbeddingMatcher()
"""Finds a fact in other words: by the cosine with a sentence of the context."""
