"""What goes into a detector and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

WorstAnswers = tuple[tuple[str, float], ...]
"""(response_id, score) of the worst answers, worst first."""
TransitionKind = Literal["firing", "resolved"]


@dataclass(frozen=True, slots=True, order=True)
class StreamKey:
    """Scores that may be compared with each other."""

    deployment: str
    metric: str
    metric_version: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One conversation in one batch: the weighted mean of its scores, in [0, 1], and its weight, in (0, 1]."""

    at: datetime
    value: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (0.0 <= self.value <= 1.0 and 0.0 < self.weight <= 1.0):
            raise ValueError(f"value {self.value} must be within [0, 1] and weight {self.weight} within (0, 1]")


class Status(StrEnum):
    """Where a stream stands."""

    LEARNING = "learning"
    WATCHING = "watching"
    REGRESSED = "regressed"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of one stream after its last batch; fields are None until there is something to say.

    `mean` with its 95 % interval is that of the last `observations` conversations, at most as many as the
    reference has. `since` is the estimated start of a regression, `since_mean` with its 95 % interval the
    conversations from there on, again at most as many as the reference has; as the start was chosen by the same
    data, this interval is a little too good. In the reading of a `resolved` transition `since_mean` is the mean
    since the recovery and `log_evidence` the evidence of the recovery.
    """

    status: Status
    reference_observations: int
    reference_needed: int
    reference_mean: float | None
    reference_lower: float | None
    """Lower 95 % confidence bound of the reference's mean."""
    baseline: float | None
    """`reference_lower` minus the tolerance: a mean below it is a regression."""
    observations: int
    mean: float | None
    mean_lower: float | None
    mean_upper: float | None
    log_evidence: float
    """Natural logarithm of the evidence of a regression; -inf without any."""
    log_threshold: float
    """A regression fires at this much evidence."""
    false_alarm_every: timedelta
    """Mean time to a false alarm of this stream is at least this."""
    latest: datetime | None
    """Time of the last observation's batch."""
    since: datetime | None
    since_mean: float | None
    since_lower: float | None
    since_upper: float | None

    @property
    def can_fire(self) -> bool:
        """False while the reference is being learned, and where it is so low that no score is a regression."""
        return self.baseline is not None and self.baseline > 0.0


@dataclass(frozen=True, slots=True)
class Transition:
    """A regression begins or ends; `at` is the end of the batch, in event time, that showed it."""

    key: StreamKey
    change: TransitionKind
    at: datetime
    reading: Reading
    worst: WorstAnswers
