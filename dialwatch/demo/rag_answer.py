"""The prompt that DIAL RAG sends to its model with the retrieved passages, and an answer as pieces of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialwatch.demo.completion import Delta


@dataclass(frozen=True)
class RetrievedPassage:
    """A retrieved piece of a document; `reference` is its URL with the page, `files/a.pdf#page=2`."""

    text: str
    reference: str


def text_deltas(text: str) -> Iterator[Delta]:
    """Cut a text into pieces of about a token's length."""
    for piece in re.findall(r"\s*\S{1,8}|\s+$", text):
        yield {"content": piece}


def prompt_parts(question: str, retrieved: Sequence[RetrievedPassage]) -> list[dict[str, str]]:
    """Return the parts of the user message that DIAL RAG sends to its model: the question and the passages."""
    texts = [question, "<context>"]
    for number, passage in enumerate(retrieved, start=1):
        source, _, page = passage.reference.partition("#page=")
        texts += [f"<doc id='{number}' page_number='{page}' source='{source}'>\n{passage.text}\n"]
        texts += ["</doc>\n"]
    return [{"type": "text", "text": text} for text in [*texts, "</context>"]]
