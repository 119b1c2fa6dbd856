"""Batches of event time: the scores of one stream that are looked at together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitor.detect.regression.arrays import Floats, Integers, Times, begins_of, microseconds, sizes_of
from monitor.detect.regression.batches.repeats import Repeats
from monitor.detect.regression.batches.worst_answers import WorstByBatch, worst_of_each
from monitor.detect.regression.observations import Observations, Segment
from monitor.detect.regression.segments.partition import in_use

_LARGEST_WEIGHT_RATIO = 300.0
_EQUAL = 1.001
"""Ratio of weights that do not differ but by rounding."""
_CAP_LEFT = 0.9
"""Of a cap, from one batch to the next where the weights are smaller."""
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Scores in columns: times, ids, `values` in [0, 1] and `weights`, the inverse of sampling probabilities.

    `segments` are places in `kinds`.
    """

    at: Times
    conversations: pa.DictionaryArray
    questions: pa.DictionaryArray
    responses: pa.DictionaryArray
    values: Floats
    weights: Floats
    segments: Integers
    kinds: tuple[Segment, ...]

    def __len__(self) -> int:
        return len(self.at)

    def where(self, chosen: NDArray[np.bool_]) -> ScoreColumns:
        """Return the scores that are chosen; `chosen` has shape (scores,)."""
        if chosen.all():
            return self
        mask = pa.array(chosen)
        ids = self.conversations.filter(mask), self.questions.filter(mask), self.responses.filter(mask)
        numbers = self.values[chosen], self.weights[chosen], self.segments[chosen]
        return ScoreColumns(self.at[chosen], *ids, *numbers, self.kinds)

    def alone(self) -> ScoreColumns:
        """Return the scores without the ids and kinds of others, that they were among."""
        ids = _alone(self.conversations), _alone(self.questions), _alone(self.responses)
        segments, kinds = in_use(self.segments, self.kinds)
        return ScoreColumns(self.at, *ids, self.values, self.weights, segments, kinds)

    @classmethod
    def together(cls, parts: list[ScoreColumns]) -> ScoreColumns:
        """Return the scores of all parts, one part behind the other."""
        if len(parts) == 1:
            return parts[0]
        kinds = tuple(dict.fromkeys(kind for part in parts for kind in part.kinds))
        places = {kind: place for place, kind in enumerate(kinds)}
        segments = [np.array([places[kind] for kind in part.kinds], dtype=np.intp)[part.segments] for part in parts]
        return cls(
            np.concatenate([part.at for part in parts]),
            _together([part.conversations for part in parts]),
            _together([part.questions for part in parts]),
            _together([part.responses for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.weights for part in parts]),
            np.concatenate(segments),
            kinds,
        )


@dataclass(frozen=True, slots=True)
class ClosedBatches:
    """Batches that were closed, in order of time: their conversations, when each ends, and its worst answers."""

    observations: Observations
    ends: Times
    worst: WorstByBatch


@dataclass(slots=True, init=False, eq=False)
class Batches:
    """Puts one stream's scores into batches of event time and closes each once the stream has passed it.

    Batches begin at whole multiples of `length` since 1970. One closes when a time at least `grace` after its end
    has been seen. A score that comes later joins the oldest batch that is still open, as if it had been asked at
    that batch's start. So the batches are the same however the scores are handed over, as long as they come in order of
    time or at most `grace` late.

    An observation is a conversation in a batch. The same question in a batch counts once, whoever asked it: with the
    weighted mean of its scores, in the conversation that asked it first, so that a load test or a bot is no more than
    one observation. The value of a conversation is the weighted mean of its questions, and its segment that of the
    first. A question that was asked in the same day before counts less, as `Repeats` says. The weight of a conversation
    is that of its questions: their sum from the first batch on in which weights differ, as then the
    weighted mean is that of all answers, whichever were drawn; a conversation of which some answers were not drawn has
    no mean that is known. Before it is their mean, so that each conversation counts alike.

    Weights are cut at a cap and divided by it, so that they are in (0, 1] and no bet can lose more than it has. The cap
    follows the largest weight of the batches before, at once where it rises and slowly where it falls, as a batch may
    by chance have none of the answers that are seldom drawn; it is at most 300 times the smallest weight of the batch
    before. It must be known before the batch, as a cap taken from the batch itself would depend on the values that are
    bet on. Only the first batch, which is always part of the reference, is its own cap.
    """

    _length: int
    _grace: int
    _open: list[ScoreColumns]
    _oldest: int | None
    _first_open: int | None
    _cap: float | None
    _weights_differ: bool
    _repeats: Repeats

    def __init__(self, length: timedelta, grace: timedelta) -> None:
        self._length = length // _MICROSECOND
        self._grace = grace // _MICROSECOND
        self._open = []
        self._oldest = None
        self._first_open = None
        """Number of the first batch, counted from 1970, that is not closed."""
        self._cap = None
        self._weights_differ = False
        self._repeats = Repeats()

    def add(self, rows: ScoreColumns) -> None:
        """Put scores into their batches, or into the oldest open one if theirs is closed."""
        if not len(rows):
            return
        oldest = int(rows.at.min()) // self._length
        self._oldest = oldest if self._oldest is None else min(self._oldest, oldest)
        self._open.append(rows)

    def has_ended(self, watermark: datetime) -> bool:
        """Whether there is a batch with a score that ended at least `grace` before `watermark`."""
        if self._oldest is None:
            return False
        first = self._oldest if self._first_open is None else max(self._oldest, self._first_open)
        return first < self._until(watermark)

    def close(self, watermark: datetime) -> ClosedBatches | None:
        """Return the batches that ended at least `grace` before `watermark`, if there are any with a score."""
        if not self.has_ended(watermark):
            return None
        until = self._until(watermark)
        rows = self._take(until * self._length)
        numbers = rows.at // self._length
        if self._first_open is not None:
            numbers = np.maximum(numbers, self._first_open)
        found = self._observations(rows, numbers)
        worst = worst_of_each((numbers + 1) * self._length, rows.at, rows.values, rows.responses)
        self._first_open = int(numbers.max()) + 1
        return ClosedBatches(found, worst.ends[begins_of(worst.ends)], worst)

    def _until(self, watermark: datetime) -> int:
        return (microseconds(watermark) - self._grace) // self._length

    def _take(self, limit: int) -> ScoreColumns:
        closing = [part for rows in self._open if len(part := rows.where(rows.at < limit))]
        # Else a few open scores would hold the ids of a year.
        self._open = [rest.alone() for rows in self._open if len(rest := rows.where(rows.at >= limit))]
        self._oldest = min((int(rows.at.min()) // self._length for rows in self._open), default=None)
        return ScoreColumns.together(closing)

    def _observations(self, rows: ScoreColumns, numbers: Times) -> Observations:
        of_rows = numbers
        asked = _questions(rows, numbers)
        # Where two are asked at the same time, the order must not depend on the portions in which rows came.
        conversations = _ranks(rows.conversations)[asked.first]
        numbers, at = numbers[asked.first], rows.at[asked.first]
        places, names = np.asarray(rows.questions.indices)[asked.first], rows.questions.dictionary
        factors = self._repeats.factors(numbers, self._length, places, names, asked.values)
        order = np.lexsort((asked.weights, asked.values, at, conversations, numbers))
        numbers, conversations = numbers[order], conversations[order]
        begins = begins_of(numbers, conversations)
        values, weights = asked.values[order], asked.weights[order]
        summed, counted = np.add.reduceat(weights, begins), weights * factors[order]
        left = np.add.reduceat(counted, begins)
        means = np.add.reduceat(values * counted, begins) / left
        numbers = numbers[begins]
        batches = begins_of(numbers)
        at = np.maximum(at[order][begins], numbers * self._length)
        of_each = np.where(self._summed(rows.weights, of_rows, numbers), summed, summed / sizes_of(begins, len(values)))
        return Observations(
            at, np.clip(means, 0.0, 1.0), self._capped(of_each, batches) * (left / summed),
            rows.segments[asked.first][order][begins], batches, rows.kinds,
        )  # fmt: skip

    def _summed(self, weights: Floats, of_rows: Times, numbers: Times) -> NDArray[np.bool_]:
        """Return for each conversation, by the number of its batch, whether its weights are added up."""
        order = np.argsort(of_rows, kind="stable")
        begins = begins_of(of_rows[order])
        most, least = (side.reduceat(weights[order], begins) for side in (np.maximum, np.minimum))
        differs = np.maximum.accumulate((most > _EQUAL * least) | self._weights_differ)
        self._weights_differ = bool(differs[-1])
        return np.asarray(differs[np.searchsorted(of_rows[order][begins], numbers)])

    def _capped(self, weights: Floats, begins: Integers) -> Floats:
        most, least = np.maximum.reduceat(weights, begins), np.minimum.reduceat(weights, begins)
        following = np.minimum(most, _LARGEST_WEIGHT_RATIO * least)
        caps = [float(following[0]) if self._cap is None else self._cap]
        for largest, bound in zip(following.tolist(), (_LARGEST_WEIGHT_RATIO * least).tolist(), strict=True):
            caps.append(max(largest, min(_CAP_LEFT * caps[-1], bound)))
        self._cap = caps.pop()
        of_each = np.repeat(caps, sizes_of(begins, len(weights)))
        return np.asarray(np.minimum(weights, of_each) / of_each)


@dataclass(frozen=True, slots=True)
class _Questions:
    """Questions of batches: the place of the score that each was asked with first, their mean and mean weight."""

    first: Integers
    values: Floats
    weights: Floats


def _questions(rows: ScoreColumns, numbers: Times) -> _Questions:
    questions = np.asarray(rows.questions.indices)
    order = np.lexsort((_ranks(rows.conversations), rows.weights, rows.values, rows.at, questions, numbers))
    begins = begins_of(numbers[order], questions[order])
    values, weights = rows.values[order], rows.weights[order]
    summed = np.add.reduceat(weights, begins)
    means = np.add.reduceat(values * weights, begins) / summed
    return _Questions(order[begins], means, summed / sizes_of(begins, len(values)))


def _ranks(ids: pa.DictionaryArray) -> Integers:
    """Place of each id in alphabetical order."""
    ranks = np.empty(len(ids.dictionary), dtype=np.intp)
    ranks[np.asarray(pc.sort_indices(ids.dictionary))] = np.arange(len(ids.dictionary))
    return np.asarray(ranks[np.asarray(ids.indices)])


def _alone(ids: pa.DictionaryArray) -> pa.DictionaryArray:
    return ids.dictionary_decode().dictionary_encode()


def _together(ids: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    return pa.chunked_array(ids).unify_dictionaries().combine_chunks()
