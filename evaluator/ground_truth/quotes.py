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
_APART = r"[ ,'’\u00a0\u202f]"
"""What may stand between the thousands of a number, which may as well be written without. A full stop may not:
1.250 is another number in English than in German."""
_RAISED = "⁰¹²³⁴-⁹₀-₉"
_TOKEN = re.compile(
    r"(?P<and>(?<=\s)&(?:amp;)?(?=\s))"
    r"|(?P<unsaid>\]\([^()\s]*\)|&[a-z]{2,6};|</?[a-z][a-z0-9]*\s?/?>)"
    r"|[<>≤≥±~≈](?=\s?[$€£¥]?\d)"
    r"|(?<![\w)])[-−–+](?=[$€£¥]?\d)"
    rf"|[⁻⁺](?=[{_RAISED}])"
    # Bookkeeping's way to write that a number is negative.
    r"|\((?=\d[\d.,]*\)\s?%)|(?<=[$€£¥])\((?=\d)"
    rf"|(?<![\d.,'’])[1-9]\d{{0,2}}(?P<apart>{_APART})\d{{3}}(?:(?P=apart)\d{{3}})*(?!(?P=apart)?\d)(?:[.,]\d+)*"
    r"|\d+(?:[.,'’٫٬\u00a0\u202f]\d+)*"
    r"|(?<![\w.])\.\d+"
    r"|×(?=\s?\d)"
    r"|°\s?[CFK](?!\w)|[℃℉\u3380-\u33df]"
    rf"|[{_RAISED}]+"
    rf"|[{_NO_BLANKS}]"
    rf"|(?:[^\W\d_{_RAISED}{_NO_BLANKS}](?:\u00ad|(?!\d)[{LETTER_MARKS}])*)+"
    r"|[%‰٪°$€£¥#]",
    re.IGNORECASE,
)
_UNITS = frozenset(("%", "‰", "٪", "°", "°c", "°f", "°k"))
_NEGATIONS = (
    "not no never neither nor without cannot none nobody nothing nowhere hardly scarcely barely rarely seldom unable "
    "unlikely fail fails failed refuse refuses refused lack lacks lacked lacking except "
    "nicht kein keine keinen keinem keiner nie niemals niemand nichts kaum ohne außer "
    "pas jamais sans aucun aucune rien sauf nunca jamás sin ningún ninguna nadie nada salvo "
    "não ninguém sem non mai nessuno niente senza bez żaden żadna nikt nic "
    "не ни нет никогда никто ничто едва без ні немає ніколи ніхто ніщо niet geen nooit inte ikke δεν δε μην χωρίς "
    "لم لن لا ليس ليست غير بدون دون לא אין אינו אינה בלי नहीं न मत बिना"
)
_NEGATED = re.compile(
    rf"(?:(?<![\w{LETTER_MARKS}])(?:{'|'.join(_NEGATIONS.split())})|n['’]t|[不没沒未无無勿])"
    r"(?:\s+(?:of|to)(?:\s+(?:the|these|those|all|its))?)?[\s-]*\Z|[没沒]有\Z",
    re.IGNORECASE,
)
"""Before a quote that says the opposite without it."""
_DENIED = re.compile(
    r"[\s-]*(?:(?:not|nicht|pas|niet|inte|ikke|değil\w*|नहीं|않\w*|못\w*|아니\w*)(?!\w)|ません|せん|ない|なかっ)",
    re.IGNORECASE,
)
"""Behind one."""
_OMISSION = re.compile(r"\[?\(?(?:\.\.\.|…)\)?\]?")
_NUMBERED = r"(?:sentence|chunk|source|context|document)s?\s*\d{1,3}"
_BEFORE = re.compile(
    rf"\A\s*(?:[-*•·–]|\(?(?:\d{{1,3}}|[a-z])[.):]|\[(?:{_NUMBERED}|\d{{1,3}})\]:?|{_NUMBERED}:)\s+", re.IGNORECASE
)
"""A list's mark, or the number of a sentence, before a quote."""
_BEHIND = re.compile(rf"\s*[\[(](?:{_NUMBERED}|\d{{1,3}})[\])]\W*\Z", re.IGNORECASE)
_HYPHEN = re.compile(r"[-‐](?:\s*\n\s*)?")
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
    for cut in (_tokens, _words_without_hyphens):
        tokens = cut(sentence)
        negated = {
            number for number, one in enumerate(tokens) if _NEGATED.search(sentence, max(0, one.start - 30), one.start)
        }
        for written in (quote, _BEHIND.sub("", _BEFORE.sub("", quote))):
            parts = [part for part in map(cut, _OMISSION.split(written)) if part]
            if parts and (place := _place(parts, tokens, negated)) and not _DENIED.match(sentence, place[1]):
                return place
    return None


def _tokens(text: str) -> list[_Token]:
    return [
        _Token(_said(found), *found.span())
        for found in _TOKEN.finditer(text)
        if found["unsaid"] is None  # the address of a link, and a character's reference
    ]


def _words_without_hyphens(text: str) -> list[_Token]:
    """Cut a text where a word with a hyphen, also one at the end of a line, is one word: co-operation, war-\\nranty."""
    found: list[_Token] = []
    for token in _tokens(text):
        if found and _HYPHEN.fullmatch(text, found[-1].end, token.start) and (found[-1].said + token.said).isalpha():
            found[-1] = _Token(found[-1].said + token.said, found[-1].start, token.end)
        else:
            found.append(token)
    return found


def _said(found: re.Match[str]) -> str:
    if found["and"]:
        return "and"
    word = found[0].replace(found["apart"], "") if found["apart"] else found[0]
    if word[0] == ".":
        return f"0{word}"
    return "x" if word == "×" else _in_one_way(word).replace(" ", "")


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
