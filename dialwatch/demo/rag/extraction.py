"""Answers by extraction: the sentences of the retrieved passages that fit the question best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialwatch.demo.rag.faults import GenerationFault
from dialwatch.demo.rag.passages import Passage
from dialwatch.demo.rag.words import words

REFUSAL = "I don't know. The documents do not answer this question."
_LEAST_SHARE = 0.3
_MOST_SENTENCES = 3
_NEXT_SHARE = 0.3
_RANK_PENALTY = 0.15


@dataclass(frozen=True)
class Extract:
    """An answer with the places, in what was retrieved, of the passages that it cites in order; none for a refusal."""

    sentences: tuple[str, ...]
    cited: tuple[int, ...]

    @property
    def text(self) -> str:
        """The answer, each sentence with the number of its citation; a refusal where there is none."""
        marks = {place: number for number, place in enumerate(dict.fromkeys(self.cited), start=1)}
        parts = [f"{text} [{marks[place]}]" for text, place in zip(self.sentences, self.cited, strict=True)]
        return " ".join(parts) or REFUSAL


class Extractor:
    """Chooses sentences; a word weighs more the fewer passages have it."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Learn how many of the passages have a word."""
        self._having = Counter(word for passage in passages for word in set(words(passage.text)))
        self._count = len(passages)

    def extract(self, question: str, retrieved: Sequence[Passage], fault: GenerationFault | None = None) -> Extract:
        """Answer with the one to three sentences that have most of the question's words, best first.

        A sentence of a passage of a worse rank needs more of them. Refuses where the best sentence has too few.
        No passage is copied whole, so one with a single sentence gives none. With the fault, a question that is
        answered is answered with the sentence that has fewest of its words.
        """
        weights = {word: self._weight(word) for word in words(question)}
        ranked = sorted(_sentences(weights, retrieved), key=lambda found: -found.score)
        if not ranked or ranked[0].share < _LEAST_SHARE:
            return Extract((), ())
        if fault == "wrong_sentences":
            return Extract((ranked[-1].text,), (ranked[-1].place,))
        chosen = ranked[:1]
        for found in ranked[1:]:
            enough = len(chosen) == _MOST_SENTENCES or found.score < _NEXT_SHARE * ranked[0].score
            if not enough and not _completes(found, chosen, retrieved):
                chosen.append(found)
        return Extract(tuple(found.text for found in chosen), tuple(found.place for found in chosen))

    def _weight(self, word: str) -> float:
        return math.log(1 + self._count / (1 + self._having[word]))


@dataclass(frozen=True)
class _Sentence:
    """A sentence of the passage at `place`; `share` is that of the question's weight whose words it has, in [0, 1]."""

    text: str
    place: int
    share: float

    @property
    def score(self) -> float:
        return self.share - _RANK_PENALTY * self.place


def _sentences(weights: Mapping[str, float], retrieved: Sequence[Passage]) -> Iterator[_Sentence]:
    total = sum(weights.values()) or 1.0
    for place, passage in enumerate(retrieved):
        for text in passage.sentences if len(passage.sentences) > 1 else ():
            has = frozenset(words(text))
            yield _Sentence(text, place, sum(weight for word, weight in weights.items() if word in has) / total)


def _completes(found: _Sentence, chosen: Sequence[_Sentence], retrieved: Sequence[Passage]) -> bool:
    """Whether with this sentence all of its passage were in the answer."""
    return 1 + sum(other.place == found.place for other in chosen) >= len(retrieved[found.place].sentences)
