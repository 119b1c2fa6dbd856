"""Questions in a form in which spelling does not matter: case, white space, punctuation, forms of Unicode."""

from __future__ import annotations

import re
import unicodedata

_SAME = str.maketrans("‘’ʼ‛´`“”„‟«»‐‑‒–—−", "''''''" + '"' * 6 + "-" * 6, "\u00ad\u200b\u2060\ufeff")
_OPENING = "\"'([{¿¡"
_CLOSING = "\"')]}.,;:!?…。、，！？；：؟،।"
_BETWEEN = re.compile(r"(?<=[^\W\d_])[-,;:!?…。、，！？；：؟،।]+(?=[^\W\d_])")
_IS_MARK = re.compile(r"\W+")
CAPITALS_MATTER = frozenset({"IT", "US", "WHO"})
"""Names that without their capitals are common words."""


def normalised_question(text: str) -> str:
    """Give a question so that others are the same text if they differ in spelling alone; empty if it has no word.

    Case, white space, and the marks of a sentence around and between words are left out, and forms of one character
    are made one (Unicode NFKC). What a number, a year, a name or a negation is made of stays: signs, decimal points,
    the dash between two numbers, `%`, `#`, `+`, powers and fractions, `ß` against `ss`, the capitals of `US` and `IT`.
    """
    whole = unicodedata.normalize("NFKC", "".join(map(_kept_apart, text.translate(_SAME)))).translate(_SAME)
    tokens = _BETWEEN.sub(" ", whole).split()
    bare = [_bare(token) for token in tokens]
    keeps_capitals = any(character.islower() for character in whole)
    return " ".join(
        token if keeps_capitals and token in CAPITALS_MATTER else _folded(token)
        for place, token in enumerate(bare)
        if token and not _separates(place, bare)
    )


def _kept_apart(character: str) -> str:
    """Keep 10² from becoming 102, and 1½ from becoming 11/2."""
    kind = unicodedata.decomposition(character).partition(">")[0]
    if kind in ("<super", "<sub") and unicodedata.decimal(character, None) is None and character.isdigit():
        return ("^" if kind == "<super" else "_") + character
    return " " + character if kind == "<fraction" else character


def _bare(token: str) -> str:
    """Leave out the marks of a sentence around a word, unless they may belong to a number: 5', (5), 5!."""
    stripped = token.lstrip(_OPENING)
    bare = stripped.rstrip(_CLOSING)
    if not any(map(str.isdigit, token)):
        return bare
    return token.rstrip(".,;:?…。、，？；：؟،।")


def _separates(place: int, tokens: list[str]) -> bool:
    """Whether a token is a mark between words, such as a dash, and not one between numbers."""
    if _IS_MARK.fullmatch(tokens[place]) is None or set(tokens[place]) - set("-/|•·*"):
        return False
    return not any(map(str.isdigit, "".join(tokens[max(0, place - 1) : place + 2])))


def _folded(token: str) -> str:
    # Case folding makes ß to ss, which is another letter: Maße are no Masse.
    return "ß".join(part.casefold() for part in token.replace("ẞ", "ß").split("ß"))
