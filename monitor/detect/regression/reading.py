"""Types of what is known of a stream: its key, its reading, and its transitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from lake.spec.alert_vocabulary import AlertEvent, OnsetKind, Tier
from lake.spec.case_vocabulary import FailedPart
from monitor.detect.causes import AffectedCounts, AroundOnset
from monitor.detect.regression.judgement import UNDECIDED, Judgement
from monitor.detect.regression.low_mean import LowMean
from monitor.detect.regression.new_classes import NewClass
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.segments.mix import SegmentChange

WorstAnswers = tuple[tuple[str, float], ...]
"""(response_id, score) of the worst answers, worst first."""


@dataclass(frozen=True, slots=True, order=True)
class StreamKey:
    """Scores that may be compared with each other."""

    deployment: str
    metric: str
    metric_version: str

    @property
    def of_metric(self) -> tuple[str, str]:
        """Its deployment and metric, of whatever version."""
        return self.deployment, self.metric


class Status(StrEnum):
    """Where a stream stands."""

    LEARNING = "learning"
    WATCHING = "watching"
    REGRESSED = "regressed"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of one stream after its last batch; fields are None until there is something to say.

    `mean` with its 95 % interval is that of the last `observations` conversations, at most `reference_needed`. `since`
    is the most likely start of a regression, `since_mean` with its 95 % interval the conversations from there on,
    again at most as many; as the start was chosen by the same data, this interval is a little too good. In the reading
    of a `resolved` transition `since_mean` is the mean since the recovery and `log_evidence` the evidence of it.

    Values are those of the metric, so that where its better direction is down a regression is a rise.
    """

    status: Status
    tier: Tier | None
    """Of the regression that is active."""
    reference_observations: int
    reference_needed: int
    learning_left: timedelta | None
    """How long it takes to complete the reference at the traffic of now."""
    reference_mean: float | None
    baseline: float | None
    """The worse end of the 95 % interval of the reference's mean, and the tolerance: beyond it is a regression."""
    can_fire: bool
    """False while the reference is being learned, and where it is so bad that no score is a regression."""
    observations: int
    mean: float | None
    mean_lower: float | None
    mean_upper: float | None
    log_evidence: float
    """Natural logarithm of the evidence of a regression; -inf without any."""
    log_threshold: float
    """A regression fires at this much evidence."""
    log_page_threshold: float
    """It pages at this much, which depends on the number of streams."""
    false_alarm_every: timedelta
    """Mean time to a false alarm of this stream is at least this."""
    latest: datetime | None
    """Time of the last observation's batch."""
    since: datetime | None
    since_earliest: datetime | None
    since_latest: datetime | None
    """95 % interval of `since`."""
    since_mean: float | None
    since_lower: float | None
    since_upper: float | None
    drop: float | None
    drop_lower: float | None
    drop_upper: float | None
    """How much worse than the reference the mean since the start is; its 90 % interval, from those of both."""
    improved: bool
    """Whether the mean is above the better end of the reference's interval and the tolerance, by as much evidence."""
    smallest_drop: float | None
    """Smallest drop that would be found within a week at the traffic of now; None where none would."""
    delay: timedelta | None
    """After how long a drop by a tenth of the metric's range would be found; None where it would not."""
    small_delay: timedelta | None = None
    small_conversations: float | None = None
    """After how long, and after how many conversations, a drop by a 20th of the metric's range would be found."""
    within: float | None = None
    mix: float | None = None
    """Change of the mean since the start of a regression, or of `mean`, against the reference: what comes from the
    segments' own means, and what from their shares of the traffic. Nothing is found by the second."""
    segments: tuple[SegmentChange, ...] = ()
    """The segments in that change; empty where there is one segment."""
    most_worsened: SegmentChange | None = None
    """The one of them with the greatest part in a worsening; None where none is worse."""
    lower_is_better: bool = False
    not_learned: int = 0
    """Conversations of the last `observations` that are of no segment with a reference: nothing is found in them."""
    beyond: tuple[tuple[str, int], ...] = ()
    """Attributes of the traffic with too many values, by name, and how many conversations had a later one; see
    `TrafficClasses`."""
    by_proposed: bool = False
    """Whether it is of scores by cases that nobody has accepted: then its regression is never a page."""
    recovering_since: datetime | None = None
    """Since when two thirds or more of an open regression's fall are gone; None where they are not."""
    onset: OnsetKind | None = None
    onset_hours: tuple[int, int] | None = None
    """How a regression began; of a recurring one, from and until which hour of the day (UTC, 1 to 24)."""
    since_observations: int = 0
    """Conversations behind `since_mean`."""
    kept: bool = False
    """Whether its alert alone says that it is regressed: computed anew, as with other settings, it is not."""

    older_version: str | None = None
    """The deployment, an older version, whose reference it began with; None where it learned its own alone."""
    marked_release: datetime | None = None
    """Of a fall against what came before a marked release, while the level after it is learned: when that was."""
    while_learning: bool = False
    """Whether it is regressed since a time at which its reference was learned: a warning, against what came before."""
    low_mean: LowMean | None = None
    """How it stands to the limit that a person has set for its mean; None where there is none."""
    outage_lasted: timedelta | None = None
    """Of the end of a short outage, which was no change of quality: how long it was."""
    page_held_until: datetime | None = None
    """Of what may be a short outage: until when a page waits for its end; None where nothing pages."""
    new_class: NewClass | None = None
    """The new class of traffic that alone is worse than what the reference has: a warning, no regression."""

    def on(self, scale: Scale) -> Reading:
        """Return the reading in a metric's own values, where it was in those from 0 (worst) to 1 (best)."""
        width = abs(scale.best - scale.worst)
        points: dict[str, Any] = {name: _value(scale, getattr(self, name)) for name in _POINTS}
        for lower, upper in (("mean_lower", "mean_upper"), ("since_lower", "since_upper")):
            ends = _value(scale, getattr(self, lower)), _value(scale, getattr(self, upper))
            points[lower], points[upper] = reversed(ends) if scale.is_reversed else ends
        for name in ("drop", "drop_lower", "drop_upper", "smallest_drop"):
            drop = getattr(self, name)
            points[name] = None if drop is None else drop * width
        for name in ("within", "mix"):
            change = getattr(self, name)
            points[name] = None if change is None else change * (scale.best - scale.worst)
        points["segments"] = tuple(_segment_on(scale, one) for one in self.segments)
        points["most_worsened"] = self.most_worsened and _segment_on(scale, self.most_worsened)
        points["low_mean"] = self.low_mean and self.low_mean.on(scale)
        points["new_class"] = self.new_class and self.new_class.on(scale)
        points["lower_is_better"] = scale.is_reversed
        return replace(self, **points)


_POINTS = ("reference_mean", "baseline", "mean", "since_mean")


def _segment_on(scale: Scale, segment: SegmentChange) -> SegmentChange:
    before, after = _value(scale, segment.mean_before), _value(scale, segment.mean_after)
    return replace(segment, mean_before=before, mean_after=after)


def _value(scale: Scale, quality: float | None) -> float | None:
    return None if quality is None else scale.value(quality)


@dataclass(frozen=True, slots=True)
class Transition:
    """A regression begins, reaches the tier `page` (`firing` again) or ends.

    `at` is the end of the batch, in event time, that showed it.
    """

    key: StreamKey
    change: AlertEvent
    at: datetime
    reading: Reading
    worst: WorstAnswers
    judgement: Judgement = UNDECIDED
    """Of a regression that begins or reaches the tier `page`: what has changed."""
    failed_parts: Mapping[FailedPart, int] = field(default_factory=dict)
    """Of the same: how many answers since the onset failed against their case, by part."""
    around_onset: AroundOnset | None = None
    """Of a regression that begins: what else the log shows to have changed; None where it was not looked for."""
    affected: AffectedCounts | None = None
    """Of one that begins or reaches the tier `page`: who asked since the onset; None where that was not counted."""
    page_due: datetime | None = None
    """Until when a page may wait for the judge's anchors, by the clock; None where it does not wait."""

    @property
    def order(self) -> tuple[datetime, StreamKey, bool, bool]:
        """Sorts by time, and of one time a page first, as what follows it is then no news, and an end last."""
        return self.at, self.key, self.change != AlertEvent.FIRING, self.reading.tier != Tier.PAGE
