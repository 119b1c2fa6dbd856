"""Texts of strangers for a terminal: nothing in them is a command to it, and none is longer than a screen or two."""

from __future__ import annotations

from runtime import unseen_characters

MOST_CHARACTERS = 4_000
"""Characters of one text; `--json` has the rest."""


def visible(text: str) -> str:
    """Return the text with the code point, as in `[U+001B]`, of each character one does not see; tabs as spaces."""
    return unseen_characters.visible(text.replace("\r\n", "\n").expandtabs(4))


def in_one_line(text: str, most: int = 200) -> str:
    """Return a name or an id on one line, cut to `most` characters."""
    cut = visible(text[:most].replace("\n", " "))
    return cut if len(text) <= most else f"{cut}…"


def in_lines(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text with its lines indented by two spaces, and how much was left out."""
    left = len(text) - most
    lines = visible(text[:most]).split("\n")
    if left > 0:
        lines.append(f"... and {left:,} more characters (--json has all)")
    return "\n".join(f"  {line}".rstrip() for line in lines)
