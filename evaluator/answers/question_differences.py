"""Differences that make two questions ask for different things, however similar a sentence encoder finds them.

A difference that is seen where none is costs a comparison; one that is not seen is a wrong score.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import yaml

from lake.queries.ground_truth.question_keys import CAPITALS_MATTER

_WORDS = Path(__file__).with_name("question_words.yaml")
_TOKEN = re.compile(r"[^\W_]+(?:['.,&/:-][^\W_]+)*|[%$€£¥]|°[CcFf]")
_POSSESSIVE = re.compile(r"(?:'s|'S|')$")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SENTENCE = re.compile(r"(?:^|[.!?:;]\s+)[\s\"'(\[¿¡*-]*")
_NEGATING = ("non-", "un", "in", "im", "il", "ir", "non", "dis", "mis")
_ENDINGS = frozenset({"s", "es", "d", "ed", "ing"})
_LEAST_STEM = 4
"""A word of fewer letters is no word that a negating prefix has made another: in-come, dis-may."""


def ask_the_same(one: str, other: str) -> bool:
    """Return whether two questions have the same numbers, names, times, units, negations and words of direction.

    Two questions that differ in one word alone are not the same, unless it is another form of that word, or one that
    means little by itself.
    Numbers and names count in their order: from 2 to 3 is not from 3 to 2. A name is a word with a capital letter, but
    for words with which sentences often begin. False for scripts that have no capitals: names cannot be told there.
    """
    first, second = _marks(one), _marks(other)
    differ = first.loose - second.loose, second.loose - first.loose
    return (
        first.has_capitals
        and second.has_capitals
        and (first.numbers, first.strict, first.negations) == (second.numbers, second.strict, second.negations)
        and not all(differ)
        and _same_names(first, second)
        and not _is_negated(first.words, second.words)
        and not _is_negated(second.words, first.words)
        and not _has_one_other_word(first.words, second.words)
    )


@dataclass(frozen=True)
class _Marks:
    """What is compared of a question; `inner_names` are those that do not begin a sentence."""

    words: Sequence[str]
    numbers: Sequence[str]
    names: frozenset[str]
    inner_names: frozenset[str]
    strict: frozenset[str]
    loose: frozenset[str]
    negations: int
    has_capitals: bool


@dataclass(frozen=True)
class _Known:
    strict: Mapping[str, str]
    loose: Mapping[str, str]
    negations: frozenset[str]
    beginnings: frozenset[str]


@lru_cache(50_000)
def _marks(text: str) -> _Marks:
    known = _known()
    plain = _THOUSANDS.sub("", text.replace("’", "'"))
    starts = {found.end() for found in _SENTENCE.finditer(plain)}
    words: list[str] = []
    names: set[str] = set()
    inner: set[str] = set()
    for found in _TOKEN.finditer(plain):
        written = _POSSESSIVE.sub("", found.group())
        word = written if written in CAPITALS_MATTER else written.casefold()
        words += [word.removesuffix("n't"), "n't"] if word.endswith("n't") else [word]
        begins = found.start() in starts
        if written in ("I", written.casefold()) or (begins and word in known.beginnings):
            continue
        names.add(word)
        inner |= set() if begins else {word}
    return _Marks(
        words=tuple(words),
        numbers=tuple(word for word in words if any(map(str.isnumeric, word))),
        names=frozenset(names),
        inner_names=frozenset(inner),
        strict=frozenset(known.strict[word] for word in words if word in known.strict),
        loose=frozenset(known.loose[word] for word in words if word in known.loose),
        negations=sum(word in known.negations for word in words),
        has_capitals=not any(unicodedata.category(character) == "Lo" for character in plain),
    )


def _same_names(first: _Marks, second: _Marks) -> bool:
    """Look for each name of one in the other, where it may lack its capital; both must have them in one order."""
    names = first.names | second.names
    if not (names.issubset(first.words) and names.issubset(second.words)):
        return False
    inner = first.inner_names | second.inner_names
    orders = [list(dict.fromkeys(word for word in one.words if word in inner)) for one in (first, second)]
    return orders[0] == orders[1]


def _is_negated(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether the others have a word whose opposite is here: unable, and there able."""
    return any(
        word[len(prefix) :] in others
        for word in set(words).difference(others)
        for prefix in _NEGATING
        if word.startswith(prefix) and len(word) - len(prefix) >= _LEAST_STEM and word[len(prefix) :] not in words
    )


def _has_one_other_word(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether one word alone stands in the place of another, as in a question about another thing."""
    if len(words) != len(others):
        return False
    differing = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1 or not _known().beginnings.isdisjoint(differing[0]):
        return False
    short, long = sorted(differing[0], key=len)
    return not (long.startswith(short) and long.removeprefix(short) in _ENDINGS)


@cache
def _known() -> _Known:
    listed = yaml.safe_load(_WORDS.read_text(encoding="utf-8"))
    strict, loose = (
        {word: group[0] for group in listed[kind] for word in group} for kind in ("must_agree", "must_not_differ")
    )
    return _Known(strict, loose, frozenset(listed["negations"].split()), frozenset(listed["beginnings"].split()))
