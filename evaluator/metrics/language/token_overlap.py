"""Number of tokens that texts share, for many rows at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.metrics.language.numbered_tokens import NumberedTokens, Numbers
from evaluator.metrics.language.tokens import Tokenisation

_BLOCK_ROWS = 64
_BLOCK_CHARACTERS = 1 << 19
"""Texts that are counted together: enough for numpy to pay, few enough to fit the processor's cache."""


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
    return [overlap for block in _blocks(rows) for overlap in _of_block(block, tokenisation)]


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


def _of_block(rows: Sequence[Compared], tokenisation: Tokenisation) -> Iterator[Overlap]:
    tokens = NumberedTokens.of([text for row in rows for text in (row.text, *row.others)], tokenisation)
    sizes = np.array([1 + len(row.others) for row in rows])
    firsts = np.cumsum(sizes) - sizes
    totals = tokens.lengths.tolist()
    shared = _shared(tokens, np.repeat(np.arange(len(rows)), sizes), firsts).tolist()
    for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True):
        others = slice(first + 1, first + size)
        yield Overlap(totals[first], totals[others], shared[others])


def _shared(tokens: NumberedTokens, row_of: Numbers, firsts: Numbers) -> Numbers:
    """Count the tokens of each row's first text in a table; of the others, count only those that stand in it."""
    texts, distinct = len(row_of), tokens.distinct
    is_first = np.zeros(texts, dtype=bool)
    is_first[firsts] = True
    of_first = np.repeat(is_first, tokens.lengths)
    cell = np.repeat(row_of * distinct, tokens.lengths) + tokens.numbers
    table = np.bincount(cell[of_first], minlength=len(firsts) * distinct)
    asked = ((table[cell] > 0) & ~of_first).nonzero()[0]
    text_and_token = np.repeat(np.arange(texts) * distinct, tokens.lengths)[asked] + tokens.numbers[asked]
    found, counts = np.unique(text_and_token, return_counts=True)
    text, token = np.divmod(found, distinct)
    return np.bincount(text, np.minimum(counts, table[row_of[text] * distinct + token]), texts).astype(np.int64)
