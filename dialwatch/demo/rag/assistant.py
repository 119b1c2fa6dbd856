"""The application without its protocol: a question in, an answer and what it was made from out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialwatch.demo.rag.extraction import Extract, Extractor
from dialwatch.demo.rag.faults import Faults
from dialwatch.demo.rag.passages import Passage
from dialwatch.demo.rag.retrieval import Retriever, SearchResult


@dataclass(frozen=True)
class RagAnswer:
    """An answer and what was found for it."""

    found: SearchResult
    extract: Extract

    @property
    def cited(self) -> tuple[Passage, ...]:
        """The passages that the answer cites, each once, in the order of their numbers."""
        return tuple(self.found.retrieved[place] for place in dict.fromkeys(self.extract.cited))


class RagAssistant:
    """Answers questions from passages; `faults` may be set at any time and holds from the next question on."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Index the passages; raises ValueError where there are none."""
        self.faults = Faults()
        self._retriever = Retriever(passages)
        self._extractor = Extractor(passages)

    def search(self, question: str) -> SearchResult:
        """Find what an answer can be made from."""
        return self._retriever.search(question, self.faults.retrieval)

    def extract(self, question: str, retrieved: Sequence[Passage]) -> Extract:
        """Make an answer from what was found."""
        return self._extractor.extract(question, retrieved, self.faults.generation)

    def answer(self, question: str) -> RagAnswer:
        """Search and answer."""
        found = self.search(question)
        return RagAnswer(found, self.extract(question, found.retrieved))
