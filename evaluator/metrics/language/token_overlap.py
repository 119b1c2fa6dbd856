"""Number of tokens that texts share, for many rows at once: Arrow splits and numbers the words, numpy counts them."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.metrics.language.tokens import (
    ARTICLES,
    ASCII_SPACES,
    PUNCTUATION,
    Tokenisation,
    tokens,
    tokens_of_any_script,
)

_ODD = bytes(c for c in range(128) if not chr(c).isprintable() and not chr(c).isspace())
_NUL = b"\x00"
# Lower case, whitespace as spaces, and other control characters as NUL, which the words of no usual text hold.
_PLAIN = bytes.maketrans(
    string.ascii_uppercase.encode() + ASCII_SPACES.encode() + _ODD,
    string.ascii_lowercase.encode() + b" " * len(ASCII_SPACES) + _NUL * len(_ODD),
)

_BLOCK_ROWS = 64
_BLOCK_CHARACTERS = 1 << 19
"""Texts that are counted together: enough for numpy to pay, few enough to fit the processor's cache."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Compared:
    """A text that is compared with each of some others."""

    text: str
    others: Sequence[str]


@dataclass(frozen=True)
class Overlap:
    """Numbers of tokens: of the text, of each other text, and shared with each, as multisets."""

    total: int
    totals: Sequence[int]
    shared: Sequence[int]


def overlaps(rows: Sequence[Compared], tokenisation: Tokenisation = "squad") -> list[Overlap]:
    """Count what the text of each row shares with its others, in tokens as `tokeniser(tokenisation)` gives them."""
    words, dropped = _WORDS[tokenisation]
    return [overlap for block in _blocks(rows) for overlap in _of_block(block, words, dropped)]


def _blocks(rows: Sequence[Compared]) -> Iterator[Sequence[Compared]]:
    start = size = 0
    for at, row in enumerate(rows):
        length = len(row.text) + sum(map(len, row.others))
        if at > start and (at - start == _BLOCK_ROWS or size + length > _BLOCK_CHARACTERS):
            yield rows[start:at]
            start, size = at, 0
        size += length
    if rows:
        yield rows[start:]


def _of_block(rows: Sequence[Compared], words: Callable[[str], bytes], dropped: pa.Array) -> Iterator[Overlap]:
    texts = pa.array([words(text) for row in rows for text in (row.text, *row.others)], pa.binary())
    split = pc.ascii_split_whitespace(texts.view(pa.string()))
    numbered = split.flatten().dictionary_encode()
    is_dropped = pc.is_in(numbered.dictionary, dropped).to_numpy(zero_copy_only=False)
    word, lengths = numbered.indices.to_numpy(), np.diff(split.offsets.to_numpy())
    sizes = np.array([1 + len(row.others) for row in rows])
    firsts = np.cumsum(sizes) - sizes
    left_out = np.repeat(np.arange(len(texts)), lengths)[is_dropped[word]]
    totals = (lengths - np.bincount(left_out, minlength=len(texts))).tolist()
    shared = _shared(word, lengths, np.repeat(np.arange(len(rows)), sizes), firsts, is_dropped).tolist()
    for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True):
        others = slice(first + 1, first + size)
        yield Overlap(totals[first], totals[others], shared[others])


def _shared(
    word: Numbers, lengths: Numbers, row_of: Numbers, firsts: Numbers, is_dropped: npt.NDArray[np.bool_]
) -> Numbers:
    """Count the words of each row's first text in a table; of the others, count only those that stand in it."""
    words, texts = len(is_dropped), len(row_of)
    is_first = np.zeros(texts, dtype=bool)
    is_first[firsts] = True
    of_first = np.repeat(is_first, lengths)
    cell = np.repeat(row_of * words, lengths) + word
    table = np.bincount(cell[of_first], minlength=len(firsts) * words).reshape(len(firsts), words)
    table[:, is_dropped] = 0
    asked = ((table.ravel()[cell] > 0) & ~of_first).nonzero()[0]
    text_and_word = np.repeat(np.arange(texts) * words, lengths)[asked] + word[asked]
    found, counts = np.unique(text_and_word, return_counts=True)
    text, found_word = np.divmod(found, max(words, 1))
    return np.bincount(text, np.minimum(counts, table[row_of[text], found_word]), texts).astype(np.int64)


def _squad_words(text: str) -> bytes:
    if text.isascii():
        plain = text.encode().translate(_PLAIN, PUNCTUATION)
        # Only letters, digits and spaces are left, so an article is a word by itself and is dropped by its number.
        if _NUL not in plain:
            return plain
    return _joined(tokens(text))


def _words_of_any_script(text: str) -> bytes:
    return _joined(tokens_of_any_script(text))


def _joined(words: Sequence[str]) -> bytes:
    return " ".join(words).encode("utf-8", "surrogatepass")


_WORDS: dict[Tokenisation, tuple[Callable[[str], bytes], pa.Array]] = {
    "squad": (_squad_words, pa.array(["", *ARTICLES])),
    "any_script": (_words_of_any_script, pa.array([""])),
}
