"""Stream: what is known of the scores of one deployment, metric, version and scale."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from monitor.detect.regression.batches.batches import Batches
from monitor.detect.regression.batches.worst_answers import WorstByBatch
from monitor.detect.regression.detector import Detector
from monitor.detect.regression.reading import StreamKey
from monitor.detect.regression.scale import Scale


@dataclass
class Stream:
    """What is known of the scores of one key and scale, by proposed cases or not."""

    by_proposed: bool
    batches: Batches
    detector: Detector
    first: datetime
    """Earliest `requested_at`."""
    latest: datetime
    """Latest `requested_at`."""
    last_added_at: datetime
    """By the clock, when the last new row came."""
    releases: tuple[int, ...] = ()
    """Times of the marked ones that it has passed, in microseconds since 1970."""
    last_start: int | None = None
    """Start of the last batch that was closed, in microseconds since 1970."""
    worst: WorstByBatch = field(default_factory=WorstByBatch.empty)


@dataclass
class StreamsState:
    """What is known of the streams of one deployment."""

    streams: dict[tuple[StreamKey, Scale, bool], Stream]
    firing: dict[StreamKey, set[bool]]
