"""Words and numbers of a text that stand in none of some other texts, as character positions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evaluator.metrics.language.numbers import missing_numbers, numbers_in, numbers_like
from evaluator.metrics.language.tokens import Tokenisation, tokeniser
from lake.spec.texts.unicode_forms import Span
from runtime.words import words_of

_BETWEEN_WORDS = re.compile(r"\s*")
_DIGIT, _ASCII_DIGIT = re.compile(r"\d"), re.compile(r"[0-9]")
_DIGITS = b"0123456789"
_OTHER_SPACE, _TO_LINES = re.compile(r"[^\S ]"), str.maketrans(dict.fromkeys("\t\r\v\f\x1c\x1d\x1e\x1f", "\n"))
_OTHER_NUMBER = "\U00012f90"
"""Stands for a number that is in no other text: a letter of a script that no text has, as it must be a token."""


def absent_words(text: str, others: Sequence[str], tokenisation: Tokenisation = "squad") -> list[Span]:
    """Return the places of the words of `text` of which a token occurs in none of `others`, in order.

    Neighbours are one place. How often a word occurs is not compared: one that stands in `others` once is never absent.
    """
    split = tokeniser(tokenisation)
    known = {token for other in others for token in split(other)}
    places: list[Span] = []
    for start, end in words_of(text, by_script=tokenisation != "squad"):
        word = text[start:end]
        # Most words are tokens but for their case, and to split each takes as long as all else.
        if word.lower() in known or known.issuperset(split(word)):
            continue
        places.append((start, end))
    return joined_places(text, places)


def absent_numbers(text: str, others: Sequence[str]) -> list[Span]:
    """Return the places of the numbers of `text` that are equal to no number in `others`, in order."""
    found = numbers_in(text)
    known = [number for other in others for number in numbers_like(found, other)] if found else []
    return [(number.start, number.end) for number in missing_numbers(found, known)]


def with_numbers_of(other: str, text: str) -> str:
    """Write the numbers of a text as `other` writes those that are equal to them, and the rest as a token of its own.

    So tokens are the same where numbers are: 3,5 is not 35, and 1000 is 1 000.
    """
    # A number between the same words is the same, and to read all numbers of contexts takes long.
    if all(f" {phrase} " in other for phrase in _phrases_with_digits(text)):
        return text
    numbers = numbers_in(text)
    known = numbers_like(numbers, other)
    parts, done = list[str](), 0
    for number in numbers:
        written = text[number.start : number.end]
        equal = [other[one.start : one.end] for one in known if number.agrees_with(one)]
        parts += [text[done : number.start], written if written in equal else next(iter(equal), _OTHER_NUMBER)]
        done = number.end
    return "".join([*parts, text[done:]])


def _phrases_with_digits(text: str) -> Iterator[str]:
    """Yield each word that has a digit, with the words before and behind it that are one space away."""
    is_ascii = text.isascii()
    if is_ascii and len(text) == len(text.encode().translate(None, _DIGITS)):
        return  # most answers, and this is found much faster
    find = (_ASCII_DIGIT if is_ascii else _DIGIT).search
    for line in text.translate(_TO_LINES).split("\n") if is_ascii else _OTHER_SPACE.split(text):
        done = 0
        while digit := find(line, done):
            start = line.rfind(" ", done, digit.start()) + 1 or done
            end = _with_next_word(line, digit.end() - 1)
            before = start - 1
            if before > done and line[before - 1] != " ":
                start = line.rfind(" ", done, before) + 1 or done
            elif find(line, line.find(" ", digit.end()), end):
                end = _with_next_word(line, end - 1)  # of two numbers in a row the first is the word before
            yield line[start:end]
            done = end


def _with_next_word(line: str, at: int) -> int:
    """Return where the word behind the word at this place ends; where that ends, if there is none one space away."""
    end = line.find(" ", at)
    if end == -1:
        return len(line)
    if line[end + 1 : end + 2] in (" ", ""):
        return end
    after = line.find(" ", end + 1)
    return after if after != -1 else len(line)


def joined_places(text: str, places: Sequence[Span]) -> list[Span]:
    """Return places in order, those that overlap or have only white space between them as one."""
    joined: list[Span] = []
    for start, end in sorted(places):
        if joined and (start <= joined[-1][1] or _BETWEEN_WORDS.fullmatch(text, joined[-1][1], start)):
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
