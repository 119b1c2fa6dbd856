"""Kept state: what a checkpoint keeps of one deployment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from monitor.detect.limits import LimitCounts
from monitor.detect.regression import AnchoredJudge, StreamKey, StreamsState
from monitor.detect.stats.ratings import HeldRatings
from monitor.service.snapshot import DeploymentState


@dataclass(frozen=True)
class KeptState:
    """All that is known of one deployment but its alerts, which are read anew.

    `learned_at` is when, by the clock, its streams were last learned from the rows without a checkpoint, and
    `relearned_at` when those of a metric began to, after an error. `stopped` names, by kind, the metrics and limits of
    which nothing is known, as an error has stopped them.
    """

    stats: DeploymentState
    counts: LimitCounts | None
    streams: StreamsState
    ratings: HeldRatings
    judges: dict[StreamKey, AnchoredJudge]
    learned_at: datetime | None
    relearned_at: dict[str, datetime]
    stopped: dict[str, tuple[str, ...]]
