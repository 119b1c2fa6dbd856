"""Fences around users' texts in a prompt: marks that nobody who writes a text can know."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence

_DIGITS = 6
"""Marks are paid for, and it is not their length that keeps a text from holding them."""
_OPEN = re.compile("\0([0-9a-f]+)\0")


def fenced(name: str, *texts: str) -> str:
    """Return texts, each after a mark such as `<chunk 1 ...>`, numbered from 1, and after the last `</chunk ...>`.

    What the marks hold is left open until `with_marks`: a digest of the texts between characters that no text has, so
    that equal texts make equal prompts, which caches need. A text can still ask the judge for something; where it ends
    it cannot pretend. Of no text there are no marks, but `(no chunk)`.
    """
    if not texts:
        return f"(no {name})"
    return _marked(name, [(f"{name} {i}", text) for i, text in enumerate(texts, 1)])


def fenced_parts(name: str, *parts: tuple[str, str]) -> str:
    """Return texts as `fenced` does, each after a mark with a label of its own, such as `<user 1 ...>`."""
    return _marked(name, parts)


def _marked(name: str, parts: Sequence[tuple[str, str]]) -> str:
    labelled = [(label, text.replace("\0", "\ufffd")) for label, text in parts]
    texts = (text for _, text in labelled)
    digest = hashlib.sha256("\0".join((name, *texts)).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    mark = f"\0{digest}\0"
    return "\n".join((*(f"<{label} {mark}>\n{text}" for label, text in labelled), f"</{name} {mark}>"))


def with_marks(prompt: str, secret: bytes) -> str:
    """Return a prompt as it is sent, with marks such as `<chunk 1 5f0e3a>`: digits by the digest and a secret.

    None of the texts holds them, not by chance either.
    """
    marks: dict[str, str] = {}
    for digest in _OPEN.findall(prompt):
        mark = hmac.new(secret, digest.encode(), hashlib.sha256).hexdigest()
        digits = next(digits for digits in range(_DIGITS, len(mark) + 1) if mark[:digits] not in prompt)
        marks[digest] = mark[:digits]
    return _OPEN.sub(lambda found: marks[found[1]], prompt)
