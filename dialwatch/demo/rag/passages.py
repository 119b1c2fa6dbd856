"""The texts as documents with pages, and the passages that they are searched by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TEXTS_A_PAGE = 3
_CHARACTERS = 600
_LEAST_SENTENCES = 3


@dataclass(frozen=True)
class Passage:
    """A piece of one page of a document, in sentences; `document` and `chunk` number it, `page` counts from 1."""

    sentences: tuple[str, ...]
    url: str
    page: int
    document: int
    chunk: int

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences)

    @property
    def name(self) -> str:
        """The document's name, the last part of its URL."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def reference(self) -> str:
        """The document's URL with the page, as DIAL RAG writes it."""
        return f"{self.url}#page={self.page}"


def passages_of(texts: Sequence[Sequence[str]], documents: Sequence[str]) -> tuple[Passage, ...]:
    """Lay texts, each in sentences, on the pages of documents with these URLs, and cut the pages into passages.

    Each document gets the next part of the texts. A passage has at least three sentences where its page has as many.
    """
    found = []
    for document, url in enumerate(documents):
        own = texts[len(texts) * document // len(documents) : len(texts) * (document + 1) // len(documents)]
        chunk = 0
        for page, first in enumerate(range(0, len(own), _TEXTS_A_PAGE), start=1):
            sentences = [sentence for text in own[first : first + _TEXTS_A_PAGE] for sentence in text]
            for part in _parts(sentences):
                found.append(Passage(part, url, page, document, chunk))
                chunk += 1
    return tuple(found)


def _parts(sentences: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Cut a page after a sentence, so that no part is much longer than wanted and the last is not too short."""
    begin = length = 0
    for end, sentence in enumerate(sentences, start=1):
        length += len(sentence)
        enough = length >= _CHARACTERS and end - begin >= _LEAST_SENTENCES
        if enough and len(sentences) - end >= _LEAST_SENTENCES:
            yield tuple(sentences[begin:end])
            begin, length = end, 0
    if begin < len(sentences):
        yield tuple(sentences[begin:])
