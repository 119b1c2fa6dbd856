"""Words of a text in any script; Chinese, Japanese, Thai, Lao, Khmer and Burmese put no spaces between them."""

from __future__ import annotations

import re
from collections.abc import Iterator

LETTER_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0963\u0971-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3"
)
"""Ranges in which what is no `\\w` belongs to the letter before it: accents, points, vowel signs of Indian scripts."""
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_SOUTHEAST_ASIAN = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
_LETTER = re.compile(f"[{_HAN}{_KANA}{_SOUTHEAST_ASIAN}]")
_LETTERS = re.compile(f"[{_HAN}{_KANA}{_SOUTHEAST_ASIAN}]+")
_WORD = re.compile(r"\w+")
_RUN = re.compile(f"[{_HAN}]|[{_KANA}]+|[{_SOUTHEAST_ASIAN}]+")
# Not "all but \w": vowel signs of Indian scripts are no \w, and words would fall apart.
_BREAK = re.compile(r"[\s|/\\()\[\]{}<>\"\u201c-\u201f«»:;!?\u2013\u2014\u2026]+")
_OUTER_MARKS = re.compile(r"^[\W_]+|[\W_]+$")
_SPACED = re.compile(r"\S+")
_SPACED_OR_RUN = re.compile(f"{_RUN.pattern}|[^\\s{_HAN}{_KANA}{_SOUTHEAST_ASIAN}]+")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case: `state-of-the-art`, `don't` and `3.14` are one each.

    Runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese are cut as `split_unspaced` does.
    """
    found = [word for piece in _BREAK.split(text.lower()) if (word := _OUTER_MARKS.sub("", piece))]
    return [piece for word in found for piece in split_unspaced(word)] if has_unspaced(text) else found


def has_unspaced(text: str) -> bool:
    """Whether a text has a letter of a script that puts no spaces between words."""
    return not text.isascii() and _LETTER.search(text) is not None


def unspaced_places(text: str) -> list[int]:
    """Return where runs of letters of such a script begin."""
    return [] if text.isascii() else [run.start() for run in _LETTERS.finditer(text)]


def with_spaces(text: str) -> str:
    """Put a space around each letter of such a script, so that a run of words can be cut anywhere."""
    return " ".join(_LETTER.sub(r" \g<0> ", text).split()) if has_unspaced(text) else text


def split_unspaced(token: str) -> list[str]:
    """Cut a token at each Chinese character, and runs of other such letters into overlapping pairs.

    A Chinese character says about as much as a word, and evaluations of Chinese answers count characters (CMRC 2018,
    MLQA). One letter of an alphabet or syllabary says nothing, a paragraph holds nearly all of any sentence, so there
    pairs are counted, as search engines do (Lucene's CJK analyser). Between them, letters and digits stay together
    and marks go: `第12章。` is three tokens.
    """
    if not has_unspaced(token):
        return [token]
    pieces: list[str] = []
    done = 0
    for run in _RUN.finditer(token):
        pieces += [*_WORD.findall(token[done : run.start()]), *_pairs(run[0])]
        done = run.end()
    return pieces + _WORD.findall(token[done:])


def _pairs(run: str) -> list[str]:
    return [run] if len(run) < 3 else [run[i : i + 2] for i in range(len(run) - 1)]


def words_of(text: str, *, by_script: bool) -> Iterator[tuple[int, int]]:
    """Yield start and end of each word: what stands between spaces, with its marks.

    `by_script` divides further where the script changes, and at each Chinese character.
    """
    for word in (_SPACED_OR_RUN if by_script else _SPACED).finditer(text):
        yield word.span()
