"""Answers by extraction: the sentences of the first passages that fit the question best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialwatch.demo.rag.faults import GenerationFault
from dialwatch.demo.rag.passages import Passage
from dialwatch.demo.rag.words import words

REFUSAL = "I don't know. The documents do not answer this question."
PASSAGES_READ = 3
"""How many of the passages, best first, an answer is made from, as a prompt has room for no more."""
_LEAST_SHARE = 0.3
_MOST_SENTENCES = 3
_LEAST_NEXT = 0.1
_SAID_BEFORE = 0.6
_LEADS_ON = 0.3
_RANK_PENALTY = 0.1


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
        """Answer with one to three sentences of the first passages, best first.

        The first is the one that has most of the question's words. The others have words of the question that have not
        been said, or words of the sentences before, which lead on to what the question asks for. A sentence of a
        passage of a worse rank needs more of them. Refuses where the best sentence has too few. No passage is copied
        whole, so one with a single sentence gives none. With the fault, a question that is answered is answered with
        the sentence that has fewest of its words.
        """
        asked = self._weights(question)
        total = sum(asked.values()) or 1.0
        sentences = list(_sentences(retrieved[:PASSAGES_READ]))
        ranked = sorted(sentences, key=lambda found: -found.score(asked, total))
        if not ranked or ranked[0].share(asked, total) < _LEAST_SHARE:
            return Extract((), ())
        chosen = ranked[-1:] if fault == "wrong_sentences" else ranked[:1]
        while fault is None and len(chosen) < _MOST_SENTENCES:
            weights = self._weights_after(asked, chosen)
            left = [found for found in sentences if found not in chosen and not _completes(found, chosen, retrieved)]
            best = max(left, key=lambda found: found.score(weights, total), default=None)
            if best is None or best.score(weights, total) < _LEAST_NEXT:
                break
            chosen.append(best)
        return Extract(tuple(found.text for found in chosen), tuple(found.place for found in chosen))

    def _weights(self, text: str) -> dict[str, float]:
        return {word: math.log(1 + self._count / (1 + self._having[word])) for word in sorted(set(words(text)))}

    def _weights_after(self, asked: Mapping[str, float], chosen: Sequence[_Sentence]) -> dict[str, float]:
        said = self._weights(" ".join(found.text for found in chosen))
        weights = {word: _LEADS_ON * weight for word, weight in said.items()}
        return weights | {word: weight * (_SAID_BEFORE if word in said else 1.0) for word, weight in asked.items()}


@dataclass(frozen=True)
class _Sentence:
    """A sentence of the passage at `place`, and its words."""

    text: str
    place: int
    words: frozenset[str]

    def share(self, weights: Mapping[str, float], total: float) -> float:
        return sum(weight for word, weight in weights.items() if word in self.words) / total

    def score(self, weights: Mapping[str, float], total: float) -> float:
        return self.share(weights, total) - _RANK_PENALTY * self.place


def _sentences(read: Sequence[Passage]) -> Iterator[_Sentence]:
    for place, passage in enumerate(read):
        for text in passage.sentences if len(passage.sentences) > 1 else ():
            yield _Sentence(text, place, frozenset(words(text)))


def _completes(found: _Sentence, chosen: Sequence[_Sentence], retrieved: Sequence[Passage]) -> bool:
    """Whether with this sentence all of its passage were in the answer."""
    return 1 + sum(other.place == found.place for other in chosen) >= len(retrieved[found.place].sentences)
