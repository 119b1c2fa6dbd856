"""An answer as DIAL RAG gives it: its stages with what was retrieved, its text, and what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dialwatch.demo.completion import Delta


@dataclass(frozen=True)
class Passage:
    """A piece of a document: `document` and `chunk` number it, `page` counts from 1."""

    text: str
    name: str
    url: str
    page: int
    document: int
    chunk: int

    def attachment(self, index: int, title: str) -> dict[str, Any]:
        """Give the attachment that shows this passage at place `index` of its array."""
        return {
            "index": index,
            "type": "text/markdown",
            "title": title,
            "data": self.text,
            "reference_url": f"{self.url}#page={self.page}",
            "reference_type": "application/pdf",
        }


def rag_deltas(
    answer: str, retrieved: Sequence[Passage], candidates: Sequence[Passage], cited: int, seconds: float
) -> tuple[Delta, ...]:
    """Give the pieces of an answer that cites passage `cited` of `retrieved`, as ` [1]`.

    `Combined search` is opened before the searches that it waits for, so it has the lowest index;
    `candidates` is what these found. `seconds` is how long retrieval took.
    """
    opened = {"index": 0, "name": "Combined search", "status": None}
    citation = retrieved[cited].attachment(0, f"[1] {retrieved[cited].name}")
    return (
        {"role": "assistant"},
        _stages(opened),
        *_search(1, "Embeddings search", candidates, seconds * 0.6),
        *_search(2, "Keywords search", candidates[: len(candidates) // 2], seconds * 0.2),
        *_found(0, retrieved, seconds),
        *text_deltas(f"{answer} [1]"),
        {"custom_content": {"attachments": [citation]}},
    )


def text_deltas(text: str) -> Iterator[Delta]:
    """Cut a text into pieces of about a token's length."""
    for piece in re.findall(r"\s*\S{1,8}|\s+$", text):
        yield {"content": piece}


def prompt_parts(question: str, retrieved: Sequence[Passage]) -> list[dict[str, str]]:
    """Give the parts of the user message in which DIAL RAG hands its model the question and the passages."""
    texts = [question, "<context>"]
    for number, passage in enumerate(retrieved, start=1):
        texts += [f"<doc id='{number}' page_number='{passage.page}' source='{passage.url}'>\n{passage.text}\n"]
        texts += ["</doc>\n"]
    return [{"type": "text", "text": text} for text in [*texts, "</context>"]]


def _search(index: int, name: str, found: Sequence[Passage], seconds: float) -> Iterator[Delta]:
    yield _stages({"index": index, "name": name, "status": None})
    yield from _found(index, found, seconds)


def _found(index: int, found: Sequence[Passage], seconds: float) -> Iterator[Delta]:
    for rank, passage in enumerate(found):
        title = f"[{passage.document}.{passage.chunk}] '{passage.name}'"
        yield _stages({"index": index, "attachments": [passage.attachment(rank, title)]})
    yield _stages({"index": index, "name": f" [{seconds:.2f}s]"})
    yield _stages({"index": index, "status": "completed"})


def _stages(stage: dict[str, Any]) -> Delta:
    return {"custom_content": {"stages": [stage]}}
