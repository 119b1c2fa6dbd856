"""All streams: new rows of `scores` in, regressions that begin or end out."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import pyarrow as pa

from monitor.regression.batches import Batch, Batches, Score, worst_of
from monitor.regression.detector import Detector
from monitor.regression.reading import Reading, Status, StreamKey, Transition, TransitionKind, WorstAnswers
from monitor.regression.scale import Scale
from monitor.regression.segments import segment_of
from monitor.regression.settings import RegressionSettings

LeftOut = Literal[
    "backfill", "no_value", "no_stream", "no_time", "future", "no_scale", "out_of_range", "bad_probability"
]
"""Why a row takes no part."""


_COLUMNS = (
    "deployment",
    "metric",
    "metric_version",
    "requested_at",
    "chat_id",
    "response_id",
    "event_id",
    "value",
    "sampling_probability",
    "is_backfill",
    "direction",
    "low",
    "high",
    "segment",
)
_EXPECTED: frozenset[LeftOut] = frozenset({"backfill", "no_value", "no_scale"})
_REMEMBERED_BATCHES = 500
_SMALLEST_PROBABILITY = 1e-9
_log = logging.getLogger(__name__)


@dataclass
class _Stream:
    batches: Batches
    detector: Detector
    first: datetime
    """Earliest `requested_at`."""
    latest: datetime
    """Latest `requested_at`."""
    fed_at: datetime
    """By the clock, when the last new row came."""
    worst: deque[tuple[datetime, WorstAnswers]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_BATCHES))
    """End of a batch and its worst answers."""


class Streams:
    """One detector for each deployment, metric and metric version, fed with rows of the `scores` table.

    - An observation is a conversation (`chat_id`; without one the answer alone) within a batch of event time.
    - A batch closes once the stream's latest `requested_at` is `grace` after its end, or, where nothing new comes,
      once the clock is so and has moved by `batch` and `grace` since the last new row. A score that comes after
      that joins the oldest open batch.
    - A score of a backfill is left out: it is about the past of a stream that has moved on, and would be taken for
      traffic of the oldest open batch, or after a restart for a part of the reference.
    - A score without a value is left out. So are rows that cannot be used, such as a value outside [0, 1] or a time
      in the future; `left_out` counts them by reason, and the first of each reason is logged.
    - A sampling probability of null counts as 1.
    - A conversation is of the class of traffic (`segment`) of its first score in the batch; one that cannot be read is
      none, so that its score counts like one of an unknown class.
    - A metric's range is laid on the scale from 0 (worst) to 1 (best), see `Scale`; one that has no better end or no
      two ends is not watched (`no_scale`). A metric whose range or direction changes is a new stream.
    - Batches of all streams are taken in by their ends. The evidence that pages grows with the number of metrics of
      deployments that had scores before that end, so that the promise is one for all of them together, and history read
      again comes to the same alarms.

    Not safe for use by several threads at once.
    """

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self._streams: dict[tuple[StreamKey, Scale], _Stream] = {}
        self._left_out: Counter[LeftOut] = Counter()

    @property
    def left_out(self) -> Mapping[LeftOut, int]:
        """How many rows took no part, by reason."""
        return dict(self._left_out)

    def feed(self, scores: pa.Table, now: datetime) -> list[Transition]:
        """Take in new rows of `scores`, in any order; returns what began or ended, in order of time.

        Call it with an empty table too: only so do the last batches of idle streams close.
        """
        self._sort_in(scores, now)
        closed = [
            (batch, *found)
            for found in self._streams.items()
            for batch in found[1].batches.close(self._watermark(found[1], now))
        ]
        closed.sort(key=lambda one: (one[0].end, one[1][0], one[1][1].is_reversed))
        begun = self._begun()
        return [
            transition
            for batch, (key, scale), stream in closed
            if (transition := _advance(key, scale, stream, batch, max(1, bisect_left(begun, batch.end))))
        ]

    def readings(self) -> Mapping[StreamKey, Reading]:
        """Give what is known of every stream; a few milliseconds for each that has news."""
        newest: dict[StreamKey, tuple[Scale, _Stream]] = {}
        for (key, scale), stream in self._streams.items():
            if key not in newest or stream.latest >= newest[key][1].latest:
                newest[key] = scale, stream
        return {key: stream.detector.reading.on(scale) for key, (scale, stream) in newest.items()}

    def _begun(self) -> list[datetime]:
        """When each metric of each deployment had its first score, in order: a version that is over is replaced."""
        first: dict[tuple[str, str], datetime] = {}
        for (key, _), stream in self._streams.items():
            metric = key.deployment, key.metric
            first[metric] = min(first.get(metric, stream.first), stream.first)
        return sorted(first.values())

    def _sort_in(self, scores: pa.Table, now: datetime) -> None:
        columns = [scores.column(name).to_pylist() for name in _COLUMNS]
        for row in zip(*columns, strict=True):
            deployment, metric, version, at, chat, response, event, value, probability, is_backfill, *ends, segment = (
                row
            )
            reason = "backfill" if is_backfill else self._reason_to_ignore(deployment, metric, at, now)
            if reason is not None:
                self._leave_out(reason, event)
                continue
            scale = Scale.of(*ends)
            if scale is None:
                self._leave_out("no_scale", event)
                continue
            stream = self._stream(StreamKey(deployment, metric, version or ""), scale, at, now)
            quality = None if value is None else scale.quality(value)
            reason = _reason_to_leave_out(quality, probability)
            if reason is not None or quality is None:
                self._leave_out(reason or "no_value", event)
                continue
            answer = response or event or ""
            weight = 1.0 if probability is None else 1.0 / max(probability, _SMALLEST_PROBABILITY)
            # A chat and an answer may have the same id; they are still two conversations.
            conversation = f"chat {chat}" if chat else f"answer {event or answer}"
            kind = segment_of(segment, self._settings.segment_by)
            stream.batches.add(Score(at, conversation, answer, quality, weight, kind))

    def _stream(self, key: StreamKey, scale: Scale, at: datetime, now: datetime) -> _Stream:
        stream = self._streams.get((key, scale))
        if stream is None:
            batches = Batches(self._settings.batch, self._settings.grace)
            stream = self._streams[key, scale] = _Stream(batches, Detector(self._settings), at, at, now)
        stream.first, stream.latest, stream.fed_at = min(stream.first, at), max(stream.latest, at), now
        return stream

    def _watermark(self, stream: _Stream, now: datetime) -> datetime:
        idle = now - stream.fed_at >= self._settings.batch + self._settings.grace
        return now if idle else stream.latest

    def _reason_to_ignore(
        self, deployment: str | None, metric: str | None, at: datetime | None, now: datetime
    ) -> LeftOut | None:
        if deployment is None or metric is None:
            return "no_stream"
        if at is None:
            return "no_time"
        # One such row would close every batch until then.
        return "future" if at > now + self._settings.grace else None

    def _leave_out(self, reason: LeftOut, event: str | None) -> None:
        self._left_out[reason] += 1
        if self._left_out[reason] == 1 and reason not in _EXPECTED:
            _log.warning(
                "A score takes no part in finding regressions: %s, event_id %s. Its like are counted.", reason, event
            )


def _advance(key: StreamKey, scale: Scale, stream: _Stream, batch: Batch, streams: int) -> Transition | None:
    stream.worst.append((batch.end, batch.worst))
    reading = stream.detector.update(batch.observations, streams)
    if reading is None:
        return None
    change: TransitionKind = "firing" if reading.status is Status.REGRESSED else "resolved"
    worst = tuple((answer, scale.value(quality)) for answer, quality in _worst_since(stream, reading.since))
    return Transition(key, change, batch.end, reading.on(scale), worst)


def _reason_to_leave_out(quality: float | None, probability: float | None) -> LeftOut | None:
    if quality is None:
        return "no_value"
    if not 0.0 <= quality <= 1.0:
        return "out_of_range"
    if probability is not None and not 0.0 < probability <= 1.0:
        return "bad_probability"
    return None


def _worst_since(stream: _Stream, since: datetime | None) -> WorstAnswers:
    return worst_of(answer for end, answers in stream.worst if since is None or end > since for answer in answers)
