"""Texts of strangers for a terminal: nothing in them is a command to it, and none is longer than a screen or two."""

from __future__ import annotations

import re
import unicodedata

MOST_CHARACTERS = 4_000
"""Characters of one text; `--json` has the rest."""

_MAYBE_UNSEEN = re.compile(r"[^\n\x20-\x7e]")
_SEEN_JOINERS = frozenset("\u200c\u200d")
"""Joiners of letters and emoji: invisible, but part of how words of several languages are written."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """Give the text with the code point, as in `[U+001B]`, of each character that a terminal does not just show.

    These are control characters but line feeds, those that turn the direction of the text or that nobody sees, and
    those that Unicode does not know. Tabs become spaces.
    """
    return _MAYBE_UNSEEN.sub(_written, text.replace("\r\n", "\n").expandtabs(4))


def in_one_line(text: str, most: int = 200) -> str:
    """Give a name or an id on one line, cut to `most` characters."""
    cut = visible(text[:most].replace("\n", " "))
    return cut if len(text) <= most else f"{cut}…"


def in_lines(text: str, most: int = MOST_CHARACTERS) -> str:
    """Give a text with its lines indented by two spaces, and how much was left out."""
    left = len(text) - most
    lines = visible(text[:most]).split("\n")
    if left > 0:
        lines.append(f"... and {left:,} more characters (--json has all)")
    return "\n".join(f"  {line}".rstrip() for line in lines)


def _written(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SEEN_JOINERS or unicodedata.category(character) not in _UNSEEN:
        return character
    return f"[U+{ord(character):04X}]"
