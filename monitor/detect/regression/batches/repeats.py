"""Questions that are asked again in the same day: the more alike their scores, the less a further one says."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from monitor.detect.regression.arrays import Floats, Integers, Times, begins_of, sizes_of

Flags = NDArray[np.bool_]

_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1) // _MICROSECOND
_HOUR = timedelta(hours=1) // _MICROSECOND
_MOST = 2_000
"""Questions of a day that are known again, the first of them: those asked often are soon among them.

A stream holds 24 bytes of each, also in its saved state.
"""
_LEFT, _LEAST = 0.999, 1e-9
"""Of what is known from one batch to the next, as an application may begin to keep answers; the least variance."""
_PRIOR = 50.0
"""Repeats, all with the same score, that are taken for seen at the beginning: kept answers are the worse mistake."""


@dataclass(slots=True, init=False, eq=False)
class Repeats:
    """The questions of a day (UTC) of one stream, and how alike the scores of the same question are within a day.

    A question that was asked in k earlier batches of the day counts `1 / (1 + correlation * k)` in the next one, where
    a batch shorter than an hour is that part of one: else shorter batches would find a fall later. The
    correlation is that of its scores in one batch and the one before: 1 for answers that are kept, 0 where they vary as
    those of other questions do. It is known before the batch, so that no weight depends on a score that it weighs.
    """

    _day: int
    _names: Times
    _batches: Integers
    _values: Floats
    _sums: Floats

    def __init__(self) -> None:
        self._forget(-1)
        self._sums = np.zeros(5)
        """Number of repeats, sum of the squares of how much their scores differ from those before, number of all
        scores, their sum and that of their squares.
        """

    def factors(self, numbers: Times, length: int, places: Integers, names: pa.Array, values: Floats) -> Floats:
        """Return what each question in a batch counts, in (0, 1]; each pair of both stands once, in order of batches.

        `numbers` are those of the batches, of `length` microseconds each, `places` those of the questions in `names`.
        """
        days = numbers * length // _DAY
        asked, earlier = self._asked_before(numbers, days, places, names, values)
        is_repeat, begins = asked > 0, begins_of(numbers)
        changes = np.where(is_repeat, (values - earlier) ** 2, 0.0)
        amounts = is_repeat.astype(np.float64), changes, np.ones(len(values)), values, values**2
        correlations = []
        for batch in np.stack([_of_batches(numbers, begins, one) for one in amounts], axis=1):
            correlations.append(_correlation(*self._sums.tolist()))
            self._sums = _LEFT * self._sums + batch
        hours = asked * min(length / _HOUR, 1.0)
        return np.asarray(1.0 / (1.0 + np.repeat(correlations, sizes_of(begins, len(numbers))) * hours))

    def _asked_before(
        self, numbers: Times, days: Times, places: Integers, names: pa.Array, values: Floats
    ) -> tuple[Integers, Floats]:
        """Return in how many earlier batches of the day each was asked, and its score in the last of them."""
        order = np.lexsort((numbers, places, days))
        begins = begins_of(days[order], places[order])
        sizes = sizes_of(begins, len(order))
        firsts, lasts = order[begins], order[begins + sizes - 1]
        of_each = np.empty(len(order), dtype=np.intp)
        of_each[order] = np.repeat(np.arange(len(begins)), sizes)
        asked = np.empty(len(order), dtype=np.intp)
        asked[order] = np.arange(len(order)) - np.repeat(begins, sizes)
        earlier = np.full(len(order), np.nan)
        earlier[order[1:]] = values[order[:-1]]
        hashes = _hashes(names, places[firsts], (days[firsts] == self._day) | (days[firsts] == days[-1]))
        before, score = self._known(hashes, days[firsts])
        earlier[firsts] = score
        kept = self._kept(numbers, days, firsts, before)
        found = np.where(kept[of_each], asked + before[of_each], 0)
        if self._day != days[-1]:
            self._forget(int(days[-1]))
        is_last = (days[firsts] == days[-1]) & kept
        self._learn(hashes[is_last], (before + sizes)[is_last], values[lasts[is_last]])
        return found, earlier

    def _known(self, hashes: Times, days: Times) -> tuple[Integers, Floats]:
        """Return of each in how many batches of its day the ones before were, and its last score there."""
        before, score = np.zeros(len(hashes), dtype=np.intp), np.full(len(hashes), np.nan)
        if len(self._names):
            places = np.minimum(np.searchsorted(self._names, hashes), len(self._names) - 1)
            is_known = (days == self._day) & (self._names[places] == hashes)
            before[is_known], score[is_known] = self._batches[places[is_known]], self._values[places[is_known]]
        return before, score

    def _kept(self, numbers: Times, days: Times, firsts: Integers, before: Integers) -> Flags:
        """Say which are known again: those that are known, and new ones as long as the day has few of them."""
        is_new = np.zeros(len(numbers), dtype=np.bool_)
        is_new[firsts] = before == 0
        new = np.concatenate([[0], np.cumsum(is_new)])
        # All of one batch are kept or none: the order in a batch depends on the portions in which rows came.
        of_batch = new[np.searchsorted(numbers, numbers[firsts])]
        of_day = new[np.searchsorted(days, days[firsts])] - np.where(days[firsts] == self._day, len(self._names), 0)
        return np.asarray((before > 0) | (of_batch - of_day < _MOST))

    def _learn(self, hashes: Times, batches: Integers, values: Floats) -> None:
        """Put in questions of the day, in place of what is known of them."""
        others = ~np.isin(self._names, hashes)
        joined = np.concatenate([self._names[others], hashes])
        order = np.argsort(joined)
        self._names = joined[order]
        self._batches = np.concatenate([self._batches[others], batches])[order]
        self._values = np.concatenate([self._values[others], values])[order]

    def _forget(self, day: int) -> None:
        self._day = day
        self._names, self._batches = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.intp)
        self._values = np.empty(0)


def _hashes(names: pa.Array, places: Integers, chosen: Flags) -> Times:
    """Return the names as numbers where they are needed, else 0: ids of questions are long, and a day has many."""
    found = np.zeros(len(places), dtype=np.int64)
    texts = names.take(pa.array(places[chosen])).to_pylist()
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    found[chosen] = np.frombuffer(b"".join(digests), dtype="<i8")
    return found


def _of_batches(numbers: Times, begins: Integers, amounts: Floats) -> Floats:
    """Add them up by batch, in an order that does not depend on the portions in which rows came."""
    return np.add.reduceat(amounts[np.lexsort((amounts, numbers))], begins)


def _correlation(repeats: float, squares: float, scores: float, total: float, total_of_squares: float) -> float:
    """Return the intraclass correlation, in [0, 1], by how much the scores of repeats differ and those of all do."""
    variance = total_of_squares / scores - (total / scores) ** 2 if scores else 0.0
    # Where all scores are the same nothing differs.
    return min(1.0, max(0.0, 1.0 - squares / (2.0 * variance * (repeats + _PRIOR)))) if variance > _LEAST else 1.0
