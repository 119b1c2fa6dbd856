"""Quotes of a judge: a sentence holds one that has its words, numbers and signs in its order, whatever the marks.

A judge copies nearly: it adds a full stop, a capital or quotation marks, writes other dashes and apostrophes, and
leaves out the bars of a table. What would change the meaning must be the same: words, digits, signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass

from runtime.words import LETTER_MARKS

_SIGNS = "<>≤≥±~≈+-("
_NO_BLANKS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts that put no blanks between words: a quote may begin at any of their characters."""
_RAISED = "⁰¹²³⁴-⁹₀-₉"
_TOKEN = re.compile(
    r"(?P<unsaid>\]\([^()\s]*\)|&[a-z]{2,6};|</?[a-z][a-z0-9]*\s?/?>)"
    r"|[<>≤≥±~≈](?=\s?[$€£¥]?\d)"
    r"|(?<![\w)])[-−–+](?=[$€£¥]?\d)"
    rf"|[⁻⁺](?=[{_RAISED}])"
    # Bookkeeping's way to write that a number is negative.
    r"|\((?=\d[\d.,]*\)\s?%)|(?<=[$€£¥])\((?=\d)"
    r"|\d+(?:[.,'’٫٬\u00a0\u202f]\d+)*"
    rf"|[{_RAISED}]+"
    rf"|[{_NO_BLANKS}]"
    rf"|(?:[^\W\d_{_RAISED}{_NO_BLANKS}](?:\u00ad|(?!\d)[{LETTER_MARKS}])*)+"
    r"|[%‰٪°$€£¥#]",
    re.IGNORECASE,
)
_UNITS = frozenset("%‰٪°")
_NEGATIONS = (
    "not no never neither nor without cannot nicht kein keine keinen keinem keiner nie niemals ohne "
    "pas jamais sans aucun aucune nunca jamás sin ningún ninguna não sem non mai senza bez żaden żadna "
    "не ни нет никогда без ні немає ніколи niet geen nooit inte ikke δεν δε μην χωρίς "
    "لم لن لا ليس ليست غير بدون دون לא אין אינו אינה בלי नहीं न मत बिना"
)
_NEGATED = re.compile(
    rf"(?:(?<![\w{LETTER_MARKS}])(?:{'|'.join(_NEGATIONS.split())})|n['’]t|[不没沒未无無勿])[\s-]*\Z|[没沒]有\Z",
    re.IGNORECASE,
)
"""Before a quote that says the opposite without it."""
_DENIED = re.compile(
    r"[\s-]*(?:(?:not|nicht|pas|niet|inte|ikke|değil\w*|नहीं|않\w*|못\w*|아니\w*)(?!\w)|ません|せん|ない|なかっ)",
    re.IGNORECASE,
)
"""Behind one."""
_OMISSION = re.compile(r"\[?\(?(?:\.\.\.|…)\)?\]?")
_LIST_MARK = re.compile(r"\s*(?:[-*•·–]|\(?(?:\d{1,3}|[a-z])[.)])\s+", re.IGNORECASE)
_UNSAID_MARKS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7\u064b-\u0652\u0670\u0640]")
"""Points of Hebrew and Arabic, which most texts leave out."""
_ONE_WAY = str.maketrans({"−": "-", "–": "-", "’": "'", "\u00a0": " ", "\u202f": " ", "\u00ad": "", "İ": "I"})


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
    negated = {
        number for number, one in enumerate(tokens) if _NEGATED.search(sentence, max(0, one.start - 20), one.start)
    }
    for written in (quote, _LIST_MARK.sub("", quote, count=1)):
        parts = [part for part in map(_tokens, _OMISSION.split(written)) if part]
        if parts and (place := _place(parts, tokens, negated)) and not _DENIED.match(sentence, place[1]):
            return place
    return None


def _tokens(text: str) -> list[_Token]:
    return [
        _Token(_in_one_way(found[0]), *found.span())
        for found in _TOKEN.finditer(text)
        if found["unsaid"] is None  # the address of a link, and a character's reference
    ]


def _in_one_way(word: str) -> str:
    plain = unicodedata.normalize("NFKC", _UNSAID_MARKS.sub("", word.translate(_ONE_WAY)))
    return plain.translate(_ONE_WAY).casefold()


def _place(parts: Sequence[Sequence[_Token]], tokens: Sequence[_Token], negated: Set[int]) -> tuple[int, int] | None:
    """Find the parts one after the other, the first and the last with what belongs to their numbers.

    The first does not begin at a word that is negated, so that it would say the opposite.
    """
    first: int | None = None
    at = 0
    for part in parts:
        found = _next(part, tokens, at, negated if first is None else frozenset())
        if found is None:
            return None
        first = found if first is None else first
        at = found + len(part)
    if first is None:
        return None
    if at < len(tokens) and tokens[at].said in _UNITS and tokens[at - 1].said[-1:].isdigit():
        at += 1
    return tokens[first].start, tokens[at - 1].end


def _next(part: Sequence[_Token], tokens: Sequence[_Token], begin: int, negated: Set[int]) -> int | None:
    said = [token.said for token in part]
    for at in range(begin, len(tokens) - len(said) + 1):
        lost_sign = at > 0 and tokens[at - 1].said in _SIGNS and tokens[at].said[:1].isdigit()
        if not lost_sign and at not in negated and said == [token.said for token in tokens[at : at + len(said)]]:
            return at
    return None
