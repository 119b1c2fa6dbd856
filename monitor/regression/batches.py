"""Batches of event time: which scores are looked at together, and when."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from monitor.regression.reading import Observation, WorstAnswers
from monitor.regression.segments import Segment

WORST_ANSWERS = 5
_LARGEST_WEIGHT_RATIO = 10.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """Give the time so long after 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(at: datetime) -> int:
    """Give how long after 1970 a time is, the inverse of `moment`."""
    return (at - _EPOCH) // _MICROSECOND


@dataclass(frozen=True, slots=True)
class Score:
    """One scored answer: `value` in [0, 1], `weight` the inverse of its sampling probability, at least 1."""

    at: datetime
    conversation: str
    response: str
    value: float
    weight: float
    segment: Segment = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """Scores in columns, a fifth of the memory of so many `Score`.

    `at` is in microseconds since 1970, `segments` are places in `kinds`.
    """

    at: NDArray[np.int64]
    conversations: pa.DictionaryArray
    responses: pa.DictionaryArray
    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    segments: NDArray[np.intp]
    kinds: tuple[Segment, ...]

    def __len__(self) -> int:
        return len(self.at)

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        """Give some of them."""
        if chosen.all():
            return self
        mask = pa.array(chosen)
        conversations, responses = self.conversations.filter(mask), self.responses.filter(mask)
        numbers = self.values[chosen], self.weights[chosen], self.segments[chosen]
        return Rows(self.at[chosen], conversations, responses, *numbers, self.kinds)

    def by_time(self) -> Iterator[Score]:
        """Give each as a `Score`, in order of time."""
        order = np.argsort(self.at, kind="stable")
        columns = (
            map(moment, self.at[order].tolist()),
            *(_strings(ids)[order].tolist() for ids in (self.conversations, self.responses)),
            self.values[order].tolist(),
            self.weights[order].tolist(),
            map(self.kinds.__getitem__, self.segments[order].tolist()),
        )
        return map(Score, *columns)


@dataclass(frozen=True, slots=True)
class Batch:
    """One closed batch, [start, end) in event time."""

    start: datetime
    end: datetime
    observations: tuple[Observation, ...]
    worst: WorstAnswers


class Batches:
    """Sorts one stream's scores into batches of event time and closes each once the stream has passed it.

    Batches begin at whole multiples of `length` since 1970. One closes when a time at least `grace` after its end
    has been seen. A score that comes later joins the oldest batch that is still open, as if it had been asked at
    that batch's start. So the batches are the same however the scores are handed over, as long as they come in order of
    time or at most `grace` late.
    """

    def __init__(self, length: timedelta, grace: timedelta) -> None:
        self._length = length
        self._grace = grace
        self._closed_until: datetime | None = None
        self._open: list[Rows] = []
        self._oldest: datetime | None = None
        self._scale: float | None = None

    def add(self, rows: Rows) -> None:
        """Put scores into their batches, or into the oldest open one if theirs is closed."""
        if not len(rows):
            return
        oldest = self._start(moment(int(rows.at.min())))
        self._oldest = oldest if self._oldest is None else min(self._oldest, oldest)
        self._open.append(rows)

    def close(self, watermark: datetime) -> Iterator[Batch]:
        """Give, in order of time, the batches that ended at least `grace` before `watermark`."""
        until = self._start(watermark - self._grace)
        if self._oldest is None or max(self._oldest, self._closed_until or self._oldest) >= until:
            return
        for start, found in groupby(self._take(until), key=self._batch_of()):
            scores = list(found)
            self._closed_until = start + self._length
            seen, self._scale = observations(scores, start, self._scale)
            yield Batch(start, self._closed_until, seen, worst_answers(scores))

    def _take(self, until: datetime) -> Iterator[Score]:
        limit = microseconds(until)
        closing = [rows.where(rows.at < limit) for rows in self._open]
        self._open = [rest for rows in self._open if len(rest := rows.where(rows.at >= limit))]
        self._oldest = min((self._start(moment(int(rows.at.min()))) for rows in self._open), default=None)
        return heapq.merge(*(rows.by_time() for rows in closing), key=attrgetter("at"))

    def _batch_of(self) -> Callable[[Score], datetime]:
        oldest_open = self._closed_until
        if oldest_open is None:
            return lambda score: self._start(score.at)
        return lambda score: max(self._start(score.at), oldest_open)

    def _start(self, at: datetime) -> datetime:
        return _EPOCH + (at - _EPOCH) // self._length * self._length


def observations(
    scores: Iterable[Score], start: datetime, scale: float | None = None
) -> tuple[tuple[Observation, ...], float]:
    """Make one observation of each conversation in a batch that begins at `start`; gives the next batch's scale too.

    An observation's value is the weighted mean of the conversation's scores, and its segment that of the first. Its
    weight is their mean weight, cut at `scale` and divided by it, so that it is in (0, 1] and no bet can lose more than
    it has. The scale is the largest weight of the batch before, at most ten times the smallest one there: it must be
    known before the batch, as a scale taken from the batch itself would depend on the values that are bet on. Only the
    first batch, which is always part of the reference, is its own scale.
    """
    conversations: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        conversations[score.conversation].append(score)
    means = [_mean(conversations[name], start) for name in sorted(conversations)]
    weights = [one[2] for one in means]
    next_scale = min(max(weights), _LARGEST_WEIGHT_RATIO * min(weights))
    scale = next_scale if scale is None else scale
    found = (Observation(at, value, min(weight, scale) / scale, segment) for at, value, weight, segment in means)
    return tuple(found), next_scale


def worst_answers(scores: Iterable[Score]) -> WorstAnswers:
    """Give ids and values of the few worst answers, worst first."""
    return worst_of((score.response, score.value) for score in scores)


def worst_of(answers: Iterable[tuple[str, float]]) -> WorstAnswers:
    """Keep the few worst of (response_id, value)."""
    return tuple(sorted(answers, key=lambda answer: (answer[1], answer[0]))[:WORST_ANSWERS])


def _strings(ids: pa.DictionaryArray) -> NDArray[np.object_]:
    return np.asarray(ids.dictionary_decode().to_numpy(zero_copy_only=False), dtype=np.object_)


def _mean(scores: Sequence[Score], start: datetime) -> tuple[datetime, float, float, Segment]:
    ordered = sorted(scores, key=lambda score: (score.at, score.response, score.value))
    weight = sum(score.weight for score in ordered)
    value = sum(score.value * score.weight for score in ordered) / weight
    return max(start, ordered[0].at), min(1.0, max(0.0, value)), weight / len(ordered), ordered[0].segment
