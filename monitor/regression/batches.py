"""Batches of event time: which scores are looked at together, and when."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from monitor.regression.reading import Observation, WorstAnswers
from monitor.regression.segments import Segment

WORST_ANSWERS = 5
_LARGEST_WEIGHT_RATIO = 10.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        self._open: dict[datetime, list[Score]] = defaultdict(list)
        self._scale: float | None = None

    def add(self, score: Score) -> None:
        """Put a score into its batch, or into the oldest open one if that is closed."""
        start = self._start(score.at)
        if self._closed_until is not None:
            start = max(start, self._closed_until)
        self._open[start].append(score)

    def close(self, watermark: datetime) -> Iterator[Batch]:
        """Give, in order of time, the batches that ended at least `grace` before `watermark`."""
        until = self._start(watermark - self._grace)
        for start in sorted(start for start in self._open if start < until):
            scores = self._open.pop(start)
            self._closed_until = start + self._length
            found, self._scale = observations(scores, start, self._scale)
            yield Batch(start, self._closed_until, found, worst_answers(scores))

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
    return tuple(heapq.nsmallest(WORST_ANSWERS, answers, key=lambda answer: (answer[1], answer[0])))


def _mean(scores: Sequence[Score], start: datetime) -> tuple[datetime, float, float, Segment]:
    ordered = sorted(scores, key=lambda score: (score.at, score.response, score.value))
    weight = sum(score.weight for score in ordered)
    value = sum(score.value * score.weight for score in ordered) / weight
    return max(start, ordered[0].at), min(1.0, max(0.0, value)), weight / len(ordered), ordered[0].segment
