"""Numbers that a text writes as words: thirty, neunundneunzig, quatre-vingt-dix, тридцати, 九十, สามสิบ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml

from evaluator.metrics.language.numbers import Number, unit_after

# Not \w alone: vowel signs of Indian scripts are none.
_WORD = re.compile(r"[^\W\d_][^\s\d.,;:!?()\[\]{}\"«»“”/|\u060c\u0964\u2010-\u2015-]*")
_BETWEEN = re.compile(r"[ -]{1,2}")
_AFTER_DIGITS = re.compile(r"\d[.,]?\s?$")
_UNSPACED = ("th", "lo", "km", "my", "Han", "Hangul")
"""Entries of the table whose numbers stand in a text without spaces."""
_NO_NUMBERS = frozenset(
    ["千万", "千萬", "万一", "萬一", "一一", "三三", "千百", "万千", "萬千", "만일", "천만", "만이", "이만", "일만"]
)
"""Words of Chinese and Korean that are written like numbers."""
_OTHERWISE = "~"


@dataclass(frozen=True)
class _Part:
    """A word of a number: its value, and whether it multiplies (`times`) or only joins (None)."""

    word: str
    value: int | None
    times: bool
    in_word: bool
    start: int
    end: int


@dataclass(frozen=True)
class _Lexicon:
    """Words of a language with their values; those in `times` multiply, and `joiners` stand between parts."""

    words: Mapping[str, int]
    times: Mapping[str, int]
    joiners: frozenset[str]
    compounds: tuple[re.Pattern[str], ...] = ()

    def pieces(self, word: str) -> list[str]:
        """Return the words of a number that a word consists of; none where it is another word."""
        if word in self.words or word in self.times or word in self.joiners:
            return [word]
        split = (one.findall(word) for one in self.compounds)
        return next((some for some in split if "".join(some) == word), [])

    def parts(self, pieces: Sequence[str], start: int, end: int) -> list[_Part]:
        """Return pieces with their values."""
        values = [self.words.get(piece, self.times.get(piece)) for piece in pieces]
        return [
            _Part(piece, value, piece in self.times, len(pieces) > 1, start, end)
            for piece, value in zip(pieces, values, strict=True)
        ]


class _Amount:
    """A number that is put together from its parts; factors below `small` multiply the last part alone."""

    def __init__(self, small: int) -> None:
        self._small = small
        self._total = self._section = self._last = 0
        self._is_empty = True

    @property
    def value(self) -> int:
        """What the parts come to."""
        return self._total + self._section + self._last

    def goes_on(self, part: _Part, *, joined: bool) -> bool:
        """Take a part where it belongs to the number: twenty five, hundred and five, fünfundzwanzig; else take none."""
        value = part.value or 0
        if part.times:
            if joined:
                return False
            self._multiply(value)
        elif self._last == 4 and part.word.startswith("vingt"):
            self._last = 80
        elif self._is_empty or value < self._room or (part.in_word and 0 < self._last < 10 and 20 <= value < 100):
            self._last += value
        else:
            return False
        self._is_empty = False
        return True

    @property
    def _room(self) -> int:
        """What a part must be less than to be added."""
        value = self.value
        if value % 100 == 0:
            return 1000 if value % 1000 == 0 else 100
        if value % 10 or (value % 100 == 10 and not self._section):
            return 0
        return 20 if self._last in (60, 80) else 10

    def _multiply(self, value: int) -> None:
        if value < self._small:
            self._section, self._last = self._section + (self._last or 1) * value, 0
        else:
            self._total += ((self._section + self._last) or 1) * value
            self._section = self._last = 0


def number_words_in(text: str, language: str | None) -> list[Number]:
    """Return the numbers that a text writes as words, by its language (ISO 639-1), in order of their places.

    Where that is None, words count that are no other words in another language. A 1 counts before a unit alone, as "one
    of them" says no number. A character of Chinese, Japanese, Korean or Thai counts in a longer number, or before what
    is counted. What multiplies digits (2 million) is a part of their number.
    """
    found = list(_spaced(text, None if language in _UNSPACED else language))
    if not text.isascii():
        found += [one for name in _UNSPACED for one in _unspaced(text, name)]
    return sorted(found, key=lambda number: number.start)


def may_have_number_words(text: str) -> bool:
    """Whether a text has a word that is a number other than 1 in some language: most texts need no more be read."""
    if not text.isascii() and any(_runs(name).search(text) for name in _UNSPACED):
        return True
    return any(map(_is_number_somewhere, set(_WORD.findall(text.lower()))))


@lru_cache(maxsize=100_000)
def _is_number_somewhere(word: str) -> bool:
    every = [(_lexicon(name), _pieces(name, word)) for name in _languages()]
    return any(one.words.get(piece, 0) != 1 for one, pieces in every for piece in pieces if piece not in one.joiners)


def _spaced(text: str, language: str | None) -> Iterator[Number]:
    run = list[_Part]()
    for word in _WORD.finditer(text):
        pieces = _pieces(language, word[0].lower())
        if not (run or pieces):
            continue
        parts = _lexicon(language).parts(pieces, *word.span())
        if run and not (parts and _BETWEEN.fullmatch(text, run[-1].end, word.start())):
            yield from _numbers(text, run, 1000)
            run = []
        run += parts
    yield from _numbers(text, run, 1000)


def _numbers(text: str, parts: Sequence[_Part], small: int) -> Iterator[Number]:
    amount, joined, start, end = None, False, 0, 0
    for part in parts:
        if part.value is None:
            joined = True
            continue
        if amount is None or not amount.goes_on(part, joined=joined):
            if amount is not None:
                yield from _number(text, {amount.value}, start, end)
            amount, start = _Amount(small), part.start
            amount.goes_on(part, joined=False)
        joined, end = False, part.end
    if amount is not None:
        yield from _number(text, {amount.value}, start, end)


def _unspaced(text: str, name: str) -> Iterator[Number]:
    lexicon, small = _lexicon(name), 10_000 if name in ("Han", "Hangul") else 1_000_000
    (piece,) = lexicon.compounds
    for run in _runs(name).finditer(text):
        pieces = piece.findall(run[0])
        is_long = len(pieces) > 1 and not lexicon.times.keys().isdisjoint(pieces)
        after = text[run.end() : run.end() + 12].lstrip()
        # In Korean one syllable is a part of many words, and so are several within a word.
        is_word = name == "Hangul" and (not is_long or text[run.start() - 1 : run.start()].isalpha())
        if is_word or run[0] in _NO_NUMBERS or not (is_long or after.startswith(_counted(name))):
            continue
        values = {_value(pieces, lexicon, small)}
        if is_long and pieces[-1] == "일":
            values.add(_value(pieces[:-1], lexicon, small))  # 삼십일 is 31, and 30 days
        yield from _number(text, values, *run.span())


def _value(pieces: Sequence[str], lexicon: _Lexicon, small: int) -> int:
    if lexicon.times.keys().isdisjoint(pieces):
        return int("".join(str(lexicon.words[piece]) for piece in pieces))  # 一九九八
    amount = _Amount(small)
    for piece in pieces:
        amount.goes_on(*lexicon.parts([piece], 0, 0), joined=False)
    return amount.value


def _number(text: str, values: Iterable[int], start: int, end: int) -> Iterator[Number]:
    if _AFTER_DIGITS.search(text[max(0, start - 3) : start]):
        return
    unit, factors = unit_after(text, end)
    possible = frozenset(Fraction(value * factor) for value in values for factor in factors)
    if possible != {1} or unit is not None:
        yield Number(possible, unit, start, end)


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = yaml.safe_load(files(__package__).joinpath("number_words.yaml").read_text("utf-8"))
    return table


@lru_cache(maxsize=100_000)
def _pieces(language: str | None, word: str) -> Sequence[str]:
    return _lexicon(language).pieces(word.rstrip("'\u2019").replace("\u2019", "'"))


@cache
def _counted(name: str) -> tuple[str, ...]:
    return tuple(_table()["counted"][name].split())


@cache
def _runs(name: str) -> re.Pattern[str]:
    (piece,) = _lexicon(name).compounds
    return re.compile(f"(?:{piece.pattern})+")


@cache
def _languages() -> tuple[str, ...]:
    return tuple(name for name in _table() if name not in (*_UNSPACED, "counted"))


@cache
def _sure() -> tuple[_Lexicon, ...]:
    return tuple(_of_entry(_table()[name], sure=True) for name in _languages())


@cache
def _lexicon(language: str | None) -> _Lexicon:
    """Return the words of a language, and those of others that are sure: a short text may be taken for another one."""
    table = _table()
    if language in _UNSPACED:
        return _of_entry(table[language], sure=False, divided=True)
    every = list(_sure())
    # The last one counts where a word is another number in another language.
    every += [_of_entry(table[language], sure=False)] if language is not None and language in table else []
    return _Lexicon(
        {word: value for one in every for word, value in one.words.items()},
        {word: value for one in every for word, value in one.times.items() if word not in every[-1].words},
        every[-1].joiners if language in table else frozenset().union(*(one.joiners for one in every)),
        tuple(pattern for one in reversed(every) for pattern in one.compounds),
    )


def _of_entry(entry: Mapping[str, Any], *, sure: bool, divided: bool = False) -> _Lexicon:
    words, times = (_by_word(entry.get(name, {}), sure) for name in ("words", "times"))
    joiners = frozenset(str(entry.get("and", "")).split())
    pieces = sorted({*words, *times, *joiners}, key=len, reverse=True)
    is_divided = divided or "compounds" in entry
    return _Lexicon(words, times, joiners, (re.compile("|".join(pieces)),) if is_divided else ())


def _by_word(entry: Mapping[int, str], sure: bool) -> dict[str, int]:
    return {
        word.rstrip(_OTHERWISE): value
        for value, words in entry.items()
        for word in words.split()
        if not (sure and word.endswith(_OTHERWISE))
    }
