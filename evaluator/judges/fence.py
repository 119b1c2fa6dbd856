"""Fences around users' texts in a prompt: marks that the texts cannot contain."""

from __future__ import annotations

import hashlib

_DIGITS = 6
"""Marks are paid for, and it is not their length that keeps a text from holding them."""


def fenced(name: str, *texts: str) -> str:
    """Give texts, each after a mark such as `<chunk 1 5f0e3a>`, numbered from 1, and after the last `</chunk 5f0e3a>`.

    The digits come from the texts' SHA-256, so that equal texts make equal prompts, which caches need, and none of the
    texts holds them. A text can still ask the judge for something; where it ends it cannot pretend. Of no text there
    are no marks, but `(no chunk)`.
    """
    if not texts:
        return f"(no {name})"
    mark = _mark(texts)
    return "\n".join((*(f"<{name} {i} {mark}>\n{text}" for i, text in enumerate(texts, 1)), f"</{name} {mark}>"))


def _mark(texts: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass"))
    digits = _DIGITS
    mark = digest.hexdigest()[:digits]
    while any(mark in text for text in texts):
        digest.update(b"another")
        digits += 1  # a text may hold all short ones
        mark = digest.hexdigest()[:digits]
    return mark
