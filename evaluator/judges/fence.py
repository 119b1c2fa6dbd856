"""Text of users in a prompt: between marks that it cannot contain."""

from __future__ import annotations

import hashlib

_DIGITS = 16


def fenced(name: str, *texts: str) -> str:
    """Give texts between marks such as `<chunk 1 5f0e...>` and `</chunk 1 5f0e...>`, numbered from 1.

    The digits come from the texts' SHA-256, so that equal texts make equal prompts, which caches need, and none of the
    texts holds them. A text can still ask the judge for something; where it ends it cannot pretend.
    """
    mark = _mark(texts)
    return "\n".join(f"<{name} {i} {mark}>\n{text}\n</{name} {i} {mark}>" for i, text in enumerate(texts, 1))


def _mark(texts: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass"))
    mark = digest.hexdigest()[:_DIGITS]
    while any(mark in text for text in texts):
        digest.update(b"another")
        mark = digest.hexdigest()[:_DIGITS]
    return mark
