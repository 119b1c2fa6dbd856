"""Porter stemmer as ROUGE's reference package uses it: NLTK's, with its extensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

_VOWELS = frozenset("aeiou")
_IRREGULAR = {
    "sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning",
    "canning": "canning", "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip

_Rule = tuple[str, str]
_PLURALS: tuple[_Rule, ...] = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
_DOUBLE_SUFFIXES: tuple[_Rule, ...] = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"),
)  # fmt: skip
_ADJECTIVES: tuple[_Rule, ...] = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_LAST_SUFFIXES: tuple[_Rule, ...] = tuple(
    (suffix, "")
    for suffix in (
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
        "iti", "ous", "ive", "ize",
    )
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case word: `running` is `run`, `sensibility` is `sensibl`."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffix, _adjective, _last_suffix, _final_e, _final_ll):
        word = step(word)
    return word


def _consonants(word: str) -> list[bool]:
    """Return for each letter whether it is a consonant; y is one at the start and after a vowel."""
    flags: list[bool] = []
    for letter in word:
        flags.append(letter not in _VOWELS and (letter != "y" or not flags or not flags[-1]))
    return flags


def _measure(word: str) -> int:
    """How many times a vowel is followed by a consonant."""
    flags = _consonants(word)
    return sum(not before and after for before, after in pairwise(flags))


def _is_short(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant other than w, x and y, or is just a vowel and a consonant."""
    flags = _consonants(word)
    if len(word) == 2:
        return not flags[0] and flags[1]
    return len(word) > 2 and flags[-3] and not flags[-2] and flags[-1] and word[-1] not in "wxy"


def _replaced(word: str, rules: Sequence[_Rule], allowed: Callable[[str, str], bool]) -> str:
    """Replace the first suffix of the rules that the word ends in, if what stands before it allows that."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            before = word[: len(word) - len(suffix)]
            return before + replacement if allowed(before, suffix) else word
    return word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return _replaced(word, _PLURALS, lambda _before, _suffix: True)


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        before = word[: -len(suffix)]
        if word.endswith(suffix) and not all(_consonants(before)):
            return _completed(before)
    return word


def _completed(before: str) -> str:
    """Return a verb with what it lost before -ed and -ing: an e, or half of a double letter."""
    if before.endswith(("at", "bl", "iz")):
        return before + "e"
    if len(before) >= 2 and before[-1] == before[-2] and _consonants(before)[-1]:
        return before if before[-1] in "lsz" else before[:-1]
    return before + "e" if _measure(before) == 1 and _is_short(before) else before


def _final_y(word: str) -> str:
    turns = word.endswith("y") and len(word) > 2 and _consonants(word)[-2]
    return word[:-1] + "i" if turns else word


def _double_suffix(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _DOUBLE_SUFFIXES, lambda before, _suffix: _measure(before) > 0)


def _adjective(word: str) -> str:
    return _replaced(word, _ADJECTIVES, lambda before, _suffix: _measure(before) > 0)


def _last_suffix(word: str) -> str:
    return _replaced(word, _LAST_SUFFIXES, _may_end)


def _may_end(before: str, suffix: str) -> bool:
    return _measure(before) > 1 and (suffix != "ion" or before[-1] in "st")


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    before = word[:-1]
    measure = _measure(before)
    return before if measure > 1 or (measure == 1 and not _is_short(before)) else word


def _final_ll(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
