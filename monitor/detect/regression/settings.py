"""Settings of regression detection."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Annotated, Self

from annotated_types import Ge, Gt, Lt
from pydantic import BeforeValidator, model_validator

from runtime.durations import reads_seconds
from runtime.setting import Section

Duration = Annotated[timedelta, BeforeValidator(reads_seconds("smhd"))]
"""`30s`, `15m`, `1h`, `7d`, a number of seconds, or what ISO 8601 has, `PT1H`."""


class RegressionSettings(Section):
    """Settings of when a drop raises an alert, and of how often that may be a false alarm."""

    batch: Annotated[Duration, Gt(timedelta(0))] = timedelta(hours=1)
    """Length of a batch: scores of this time are looked at together."""
    grace: Annotated[Duration, Ge(timedelta(0))] = timedelta(minutes=10)
    """How long a batch waits for late scores after its end."""
    false_alarm_every: Duration = timedelta(days=30)
    """The mean time to a false warning of one stream is at least this ([exactly](detector.md#what-is-promised))."""
    page_every: Duration = timedelta(days=365)
    """The mean time to a false urgent alert, over all streams together, is at least this."""
    tolerance: Annotated[float, Ge(0), Lt(1)] = 0.02
    """Drop of the mean that is too small for an alert, as a share of the metric's range."""
    reference_observations: Annotated[int, Ge(2)] = 200
    """Conversations that a stream learns from before it is watched."""
    reference_time: Annotated[Duration, Ge(timedelta(0))] = timedelta(days=1)
    """Shortest time that a stream learns; a day has both day and night in it."""
    # What the application decides itself (`model`, `contexts`) is not among them by default: a turn to a worse model,
    # or to no contexts, would be no regression.
    segment_by: tuple[str, ...] = ("language", "question_length", "project", "client", "time_of_day", "weekend")
    """Attributes of `scores.segment` that may divide the traffic, if they explain the scores, and `time_of_day` and
    `weekend` (UTC); `model` and `contexts` are possible too. Of each attribute the first 500 values are used."""

    @model_validator(mode="after")
    def _more_than_one_batch(self) -> Self:
        if self.false_alarm_every <= self.batch:
            raise ValueError(
                f"false_alarm_every is {self.false_alarm_every} and must be longer than batch, {self.batch}: "
                "the promise is kept in whole batches"
            )
        if self.page_every < self.false_alarm_every:
            raise ValueError(
                f"page_every is {self.page_every} and must not be shorter than false_alarm_every, "
                f"{self.false_alarm_every}: an urgent alert is a warning with more evidence"
            )
        return self

    @property
    def log_threshold(self) -> float:
        """Natural logarithm of the evidence that fires: the number of batches in `false_alarm_every`."""
        return math.log(self.false_alarm_every / self.batch)

    @property
    def log_page_threshold(self) -> float:
        """Natural logarithm of the evidence with which a fleet of one stream pages: the batches in `page_every`.

        The detector adds the logarithm of the number of streams: their mean evidence is an e-detector of the whole
        fleet, however they depend on each other, and is at least A where one stream alone has A times their number.
        """
        return math.log(self.page_every / self.batch)
