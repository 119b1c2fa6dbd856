"""Batches of texts that are about equally long, under a budget of tokens, so that little is computed on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the indexes of texts of these lengths (in tokens), longest first, in batches.

    A batch of n texts whose longest has m tokens costs n * m, which is at most `budget`; a text that is longer than
    the budget is a batch of its own. The longest come first so that what does not fit into memory fails at once.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


_CHARACTERS = 200_000


def portions(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Return the indexes of texts of these lengths (in characters) in portions that are tokenised together.

    Tokens take many times the memory of the texts, so those of a portion are gone before the next. Texts of a portion
    are about equally long, so that batches made of it are too.
    """
    return batches([length + 1 for length in lengths], _CHARACTERS)
