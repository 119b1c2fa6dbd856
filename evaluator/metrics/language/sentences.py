"""Sentences of a chunk or an answer, among them items of lists and rows of tables."""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(
    r"\n\s*\n"  # a paragraph
    r"|\n(?=\s*(?:[-*•|#]|\d+[.)]\s))"  # an item of a list, a row of a table, a heading
    r"|(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)\s+(?![a-z])"
    r"|(?<=[a-z0-9)\]][.!?])(?=[A-Z])"  # chunks are often joined without a space
    r"|(?<=[。！？])"
)


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, list items and table rows; a single line break does not end a sentence."""
    return [stripped for piece in _SENTENCE_END.split(text) if (stripped := piece.strip())]
