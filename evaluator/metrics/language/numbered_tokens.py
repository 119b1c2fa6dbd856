"""Tokens of many texts at once, as numbers: a table brings characters to lower case, Arrow numbers the words."""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluator.metrics.language.tokens import (
    ASCII_SPACES,
    PUNCTUATION,
    Tokenisation,
    changing_places,
    tokens_of_plain,
)

Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.unsignedinteger]

_SPACE, _LINE_END, _NOTHING = ord(" "), ord("\n"), ord(".")

# What ends a text stands for no character of any text: in ASCII a byte above, else a number above all code points.
_ASCII_BORDER = "\x80"
_ASCII_TABLE = bytes.maketrans(
    (string.ascii_uppercase + ASCII_SPACES + _ASCII_BORDER).encode("latin-1"),
    (string.ascii_lowercase + " " * len(ASCII_SPACES) + "\n").encode("latin-1"),
)
_BORDER = sys.maxunicode + 1
_BORDER_BYTES = _BORDER.to_bytes(4, "little")

_LOWER_BY_PLACE, _TWO_WHEN_LOWER = "Σ", "İ"


@dataclass(frozen=True)
class NumberedTokens:
    """Tokens of texts, one text after the other, as numbers below `distinct`, and how many tokens each text has."""

    numbers: Numbers
    lengths: Numbers
    distinct: int

    @classmethod
    def of(cls, texts: Sequence[str], tokenisation: Tokenisation) -> NumberedTokens:
        """Split texts as `tokeniser(tokenisation)` does; equal tokens have equal numbers."""
        codes = _ascii_codes(texts) if all(map(str.isascii, texts)) else _codes(texts)
        text_ends = (codes == _LINE_END).nonzero()[0]
        codes[text_ends] = _SPACE
        word_ends = (codes == _SPACE).nonzero()[0]
        encoded = _words(codes, word_ends).dictionary_encode()
        tokens = _TokensOfWords.of(encoded.dictionary, codes.dtype, tokenisation)
        words = encoded.indices.to_numpy()
        counts = tokens.counts[words]
        ends = np.concatenate(([0], np.cumsum(counts)))
        words_before = np.concatenate(([0], np.searchsorted(word_ends, text_ends) + 1))
        return cls(tokens.in_place(words, counts, ends), np.diff(ends[words_before]), tokens.distinct)


@dataclass(frozen=True)
class _TokensOfWords:
    """Tokens of each distinct word: `counts` of them, from `starts` on in `numbers`.

    Nearly every word is a token and has its own number.
    """

    counts: Numbers
    starts: Numbers
    numbers: Numbers
    distinct: int

    @classmethod
    def of(cls, words: pa.Array, kind: np.dtype[Any], tokenisation: Tokenisation) -> _TokensOfWords:
        _, offsets, codes = words.buffers()
        ends = np.frombuffer(offsets, np.int64)[: len(words) + 1] // kind.itemsize
        text = _text(np.frombuffer(codes, kind)[: ends[-1]])
        changing = np.searchsorted(ends, changing_places(text, tokenisation), "right") - 1
        changed = np.union1d(changing, (np.diff(ends) == 1).nonzero()[0])
        made = [tokens_of_plain(text[ends[word] : ends[word + 1]], tokenisation) for word in changed.tolist()]
        given = np.arange(len(words))
        counts, starts = np.ones_like(given), given.copy()
        counts[changed] = [len(tokens) for tokens in made]
        starts[changed] = len(words) + np.cumsum(counts[changed]) - counts[changed]
        numbers = np.concatenate((given, _numbers_of([token for tokens in made for token in tokens], words, kind)))
        return cls(counts, starts, numbers, int(numbers.max(initial=0)) + 1)

    def in_place(self, words: Numbers, counts: Numbers, ends: Numbers) -> Numbers:
        """Return the tokens of words, of which each has some `counts` of them that end at `ends`."""
        starts = np.repeat(self.starts.take(words), counts)
        if len(self.numbers) == len(self.counts):
            return starts
        within = np.arange(len(starts)) - np.repeat(ends[:-1], counts)
        return self.numbers.take(starts + within)


def _numbers_of(tokens: Sequence[str], words: pa.Array, kind: np.dtype[Any]) -> Numbers:
    """Number tokens as the words that they are, and others from `len(words)` on."""
    if not tokens:
        return np.array([], dtype=np.int64)
    given = pa.array([_utf32(f"{token} ").astype(kind).tobytes() for token in tokens], words.type)
    numbers: Numbers = pa.chunked_array([words, given]).dictionary_encode().chunk(1).indices.to_numpy()
    return numbers.astype(np.int64)


def _words(codes: Codes, word_ends: Numbers) -> pa.Array:
    """Return the words of a text, each with the space that ends it, as bytes."""
    offsets = np.concatenate(([0], word_ends + 1)) * codes.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(codes)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(word_ends), buffers)


def _ascii_codes(texts: Sequence[str]) -> Codes:
    joined = _ASCII_BORDER.join([*texts, ""]).encode("latin-1")
    return np.array(np.frombuffer(joined.translate(_ASCII_TABLE, PUNCTUATION), np.uint8))


def _codes(texts: Sequence[str]) -> Codes:
    """Return texts in lower case, each with a line's end, without ASCII punctuation and with spaces for whitespace."""
    joined = _BORDER_BYTES.join([*(_lower_by_place(text).encode("utf-32-le", "surrogatepass") for text in texts), b""])
    codes = _table().take(np.frombuffer(joined, "<u4"))
    kept: Codes = codes[codes != _NOTHING]
    return kept


def _lower_by_place(text: str) -> str:
    return text.lower() if _LOWER_BY_PLACE in text or _TWO_WHEN_LOWER in text else text


@cache
def _table() -> npt.NDArray[np.uint32]:
    """Return for each character its lower case, a space, or `_NOTHING` where it goes; at the end a line's end."""
    every = "".join(map(chr, range(_BORDER)))
    table = _utf32(every.replace(_TWO_WHEN_LOWER, " ").lower() + "\n").copy()
    table[[match.start() for match in re.finditer(r"\s", every)]] = _SPACE
    table[list(PUNCTUATION)] = _NOTHING
    return table


def _utf32(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _text(codes: Codes) -> str:
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
