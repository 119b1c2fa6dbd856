"""Characters that one does not see, or that change how the text around them is shown: written out, they do nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_MAYBE_UNSEEN = re.compile(r"[^\n\t\x20-\x7e]")
_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SEEN = re.compile("[\u200c\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
"""Joiners of letters and emoji, which are part of how words of several languages are written, and signs of Arabic,
Syriac and Kaithi, which are seen although Unicode counts them as formats."""
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
"""Letters, marks and signs without a shape of their own; not the two that choose between an emoji and a sign."""


def unseen_pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text piece by piece, and whether each is one character that nobody sees; line ends are line feeds.

    Unseen are control characters but tabs and line feeds, those that turn the direction of the text, those without a
    shape, halves of characters, and those that Unicode does not know.
    """
    text, done = text.replace("\r\n", "\n"), 0
    for found in _MAYBE_UNSEEN.finditer(text):
        if _is_unseen(found[0]):
            if done < found.start():
                yield text[done : found.start()], False
            yield found[0], True
            done = found.end()
    if done < len(text):
        yield text[done:], False


def visible(text: str) -> str:
    """Return the text with the code point, as in `[U+202E]`, of each character that one does not see."""
    return "".join(f"[U+{ord(piece):04X}]" if is_unseen else piece for piece, is_unseen in unseen_pieces(text))


def _is_unseen(character: str) -> bool:
    if unicodedata.category(character) in _CATEGORIES:
        return _SEEN.match(character) is None
    return _BLANK.match(character) is not None
