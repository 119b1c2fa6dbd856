"""Lexical retrieval: the passages that share most with a question, by BM25."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass

import bm25s
import numpy as np

from dialwatch.demo.rag.faults import RetrievalFault
from dialwatch.demo.rag.passages import Passage
from dialwatch.demo.rag.words import words

RETRIEVED = 8
CANDIDATES = 8
_OLD_INDEX_EVERY = 4

# It sets its own logger to DEBUG.
logging.getLogger(bm25s.__name__).setLevel(logging.WARNING)


@dataclass(frozen=True)
class SearchResult:
    """What a search found, best first: `retrieved` is what the application hands on, of `candidates`."""

    retrieved: tuple[Passage, ...]
    candidates: tuple[Passage, ...]


class Retriever:
    """Searches passages; equal questions find equal passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Index the passages; raises ValueError where there are none."""
        if not passages:
            raise ValueError("there are no passages to search; give at least one")
        self._index = _Index(passages)
        self._old_index = _Index(passages[::_OLD_INDEX_EVERY])

    def search(self, question: str, fault: RetrievalFault | None = None) -> SearchResult:
        """Find what shares a word with the question, with a fault where one is given."""
        if fault == "other_index":
            return _best(self._old_index.ranked(question, CANDIDATES))
        if fault == "shuffled_ranks":
            ranked = self._index.ranked(question, RETRIEVED)
            random.Random(question).shuffle(ranked)  # noqa: S311 - the same order each time is the point
            return _best(ranked)
        ranked = self._index.ranked(question, CANDIDATES)
        return _best(ranked, 1 if fault == "fewer_chunks" else RETRIEVED)


class _Index:
    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._scores = bm25s.BM25()
        self._scores.index([words(passage.text) or [""] for passage in passages], show_progress=False)
        self._known = frozenset(self._scores.vocab_dict)

    def ranked(self, question: str, count: int) -> list[Passage]:
        asked = sorted(self._known.intersection(words(question)))
        if not asked:
            return []
        scores = self._scores.get_scores(asked)
        order = np.argsort(-scores, kind="stable")[:count]
        return [self._passages[place] for place in order if scores[place] > 0]


def _best(ranked: Sequence[Passage], count: int = RETRIEVED) -> SearchResult:
    return SearchResult(tuple(ranked[:count]), tuple(ranked))
