"""The embedding matcher: a fact in other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.metrics.citation import is_usable
from evaluator.metrics.matching import FactsFound, FindFacts, Span
from evaluator.metrics.sentence_split import sentences
from evaluator.models import DEFAULT_MODELS, Models, SentenceEncoder, sentence_encoder

DEFAULT_THRESHOLD = 0.75


@dataclass(frozen=True)
class EmbeddingMatcher:
    """A fact is held by a context that has a sentence whose embedding's cosine with the fact's is `threshold` or more.

    It finds paraphrases. A sentence that denies the fact, or says it of another year, is mostly similar too: where that
    matters, use citations. A fact that two sentences say together is not found.

    `finder` raises ModelUnavailableError where the encoder is not on this machine.
    """

    threshold: float = DEFAULT_THRESHOLD
    models: Models = DEFAULT_MODELS

    judge = "embedding"

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
        return f"1-{self.models.version('sentence_encoder')}{chosen}"

    def finder(self) -> FindFacts:
        """Give a function that compares the facts with each sentence of each context."""
        encoder = sentence_encoder(self.models)
        return lambda facts, contexts: self._find(facts, contexts, encoder)

    def _find(self, facts: Sequence[str], contexts: Sequence[str], encoder: SentenceEncoder) -> FactsFound:
        cut = [sentences(context) for context in contexts]
        said = list(dict.fromkeys(sentence for of_context in cut for sentence in of_context))
        vectors = _units(encoder.vectors([*facts, *said]))
        alike = vectors[: len(facts)] @ vectors[len(facts) :].T >= self.threshold
        column = {sentence: index for index, sentence in enumerate(said)}
        held = [_any(alike[:, [column[sentence] for sentence in of_context]]) for of_context in cut]
        return FactsFound.of(held, len(facts))

    def span(self, fact: str, context: str) -> Span | None:
        """Give the sentence of the context that is most alike, where it is alike enough."""
        said = sentences(context)
        if not said:
            return None
        vectors = _units(sentence_encoder(self.models).vectors([fact, *said]))
        cosines = vectors[1:] @ vectors[0]
        best = int(cosines.argmax())
        if cosines[best] < self.threshold:
            return None
        start = context.find(said[best])
        return start, start + len(said[best])

    def is_usable(self, fact: str) -> bool:
        """Whether it has a letter or digit."""
        return is_usable(fact)


def _any(alike: npt.NDArray[np.bool_]) -> list[int]:
    return [int(index) for index in np.flatnonzero(alike.any(axis=1))]


def _units(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    return exact / np.where(lengths == 0, 1, lengths)


EMBEDDING = EmbeddingMatcher()
