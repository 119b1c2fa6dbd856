"""Quotes of a judge: a sentence holds one that has its words, numbers and signs in its order, whatever the marks.

A judge copies nearly: it adds a full stop, a capital or quotation marks, writes other dashes and apostrophes, and
leaves out the bars of a table. What would change the meaning must be the same: words, digits, signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_SIGNS = "<>≤≥±~+-"
_TOKEN = re.compile(
    r"[<>≤≥](?=\s?[$€£¥]?\d)"
    r"|(?<![\w)])[-−–+±~](?=[$€£¥]?\d)"
    r"|\d+(?:[.,'’\u00a0\u202f]\d+)*"
    # Scripts that put no blanks between words: a quote may begin at any of their characters.
    r"|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W\d_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
    r"|[%‰°$€£¥#]"
)
_UNITS = frozenset("%‰°")
_OMISSION = re.compile(r"\[?\(?(?:\.\.\.|…)\)?\]?")
_LIST_MARK = re.compile(r"\s*(?:[-*•·–]|\(?(?:\d{1,3}|[a-z])[.)])\s+", re.IGNORECASE)
_ONE_WAY = str.maketrans({"−": "-", "–": "-", "’": "'", "\u00a0": " ", "\u202f": " "})


@dataclass(frozen=True)
class _Token:
    """A word, number or sign as it is compared, and where it stands."""

    said: str
    start: int
    end: int


def place_of(quote: str, sentence: str) -> tuple[int, int] | None:
    """Return from where to where a sentence holds a quote; None where it does not.

    An omission (`...`) in the quote stands for any words: what it leaves out is in the place.
    """
    tokens = _tokens(sentence)
    for written in (quote, _LIST_MARK.sub("", quote, count=1)):
        parts = [part for part in map(_tokens, _OMISSION.split(written)) if part]
        if parts and (place := _place(parts, tokens)):
            return place
    return None


def _tokens(text: str) -> list[_Token]:
    return [
        _Token(unicodedata.normalize("NFKC", found[0].translate(_ONE_WAY)).casefold(), *found.span())
        for found in _TOKEN.finditer(text)
    ]


def _place(parts: Sequence[Sequence[_Token]], tokens: Sequence[_Token]) -> tuple[int, int] | None:
    """Find the parts one after the other, the first and the last with what belongs to their numbers."""
    first: int | None = None
    at = 0
    for part in parts:
        found = _next(part, tokens, at)
        if found is None:
            return None
        first = found if first is None else first
        at = found + len(part)
    if first is None:
        return None
    if at < len(tokens) and tokens[at].said in _UNITS and tokens[at - 1].said[-1:].isdigit():
        at += 1
    return tokens[first].start, tokens[at - 1].end


def _next(part: Sequence[_Token], tokens: Sequence[_Token], begin: int) -> int | None:
    said = [token.said for token in part]
    for at in range(begin, len(tokens) - len(said) + 1):
        lost_sign = at > 0 and tokens[at - 1].said in _SIGNS and tokens[at].said[:1].isdigit()
        if not lost_sign and said == [token.said for token in tokens[at : at + len(said)]]:
            return at
    return None
