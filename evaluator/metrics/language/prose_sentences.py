"""Sentences of running text, as pysbd cuts it, for texts whose sentences are numbered and counted."""

from __future__ import annotations

import re

_MARK = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？．]++[」』”’）]*+")
_NEAR = 40
"""Characters around a mark that decide whether it ends a sentence."""
_OPENING = "\"'“‘«(["
_TITLE_WORDS = "dr mr mrs ms prof gen col capt lt sgt rep sen gov hon rev fr pres st mt ft vs"
_NUMBERED_WORDS = "no nos fig figs art sec ch eq vol p pp ext tel"
_SHORT_WORDS = """
    inc ltd co corp llc bros dept est approx etc al cf ca viz jr sr ph.d dist min max ave blvd rd hrs univ assn
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri sat sun
"""
_FIRST_WORDS = """
    a an as at being but by did does for he her his how however i if in it its most my no on our she since so that
    the their there these they this those though we what when where which while who why you your
"""
_TITLES = frozenset(_TITLE_WORDS.split())
_BEFORE_NUMBERS = frozenset(_NUMBERED_WORDS.split())
_ABBREVIATIONS = frozenset(_SHORT_WORDS.split())
_STARTERS = frozenset(_FIRST_WORDS.split())
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")


def prose_sentences(text: str) -> list[str]:
    """Cut a text into sentences; every line break ends one, as it does in pysbd.

    A full stop ends none after a title, an initial, an abbreviation within a sentence or the number of a list's item.
    """
    return [sentence for line in text.splitlines() for sentence in _of_line(line)]


def _of_line(line: str) -> list[str]:
    found, start = [], 0
    for mark in _MARK.finditer(line):
        before = line[max(start, mark.start() - _NEAR) : mark.start()]
        if _ends_sentence(before, mark[0], line[mark.end() : mark.end() + _NEAR].lstrip()):
            found.append(line[start : mark.end()].strip())
            start = mark.end()
    return [sentence for sentence in (*found, line[start:].strip()) if sentence]


def _ends_sentence(before: str, mark: str, after: str) -> bool:
    next_is_lower = after[:1].islower()
    if mark != ".":
        # A quoted sentence or a pause in the middle of one: "Is it?" he asked.
        return not (next_is_lower and len(mark) > 1)
    word = _last_word(before)
    if word.lower() in _TITLES or (len(word) == 1 and word.isupper()) or before.strip().isdecimal():
        return False
    if word.lower() in _BEFORE_NUMBERS:
        return not after[:1].isdecimal()
    if _INITIALS.fullmatch(word):
        return not next_is_lower and (word.lower() in ("a.m", "p.m") or _first_word(after) in _STARTERS)
    if word.lower() in _ABBREVIATIONS:
        return not (next_is_lower or after[:1].isdecimal() or after[:1] == "(")
    return True


def _last_word(before: str) -> str:
    return re.split(r"\s", before)[-1].lstrip(_OPENING)


def _first_word(after: str) -> str:
    return re.split(r"\W", after.lstrip(_OPENING), maxsplit=1)[0].lower()
