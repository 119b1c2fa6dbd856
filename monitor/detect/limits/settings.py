"""Settings of floors: the limits, for all deployments and for single ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Self

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from runtime.durations import reads_seconds

Share = Annotated[float, Gt(0), Le(1)]


class FloorLimits(BaseModel):
    """The limit of each floor; None switches it off."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    errors: Share | None = 0.3
    """Requests with a status of 400 or more, or without a whole answer."""
    empty_answers: Share | None = 0.3
    """Whole answers without a visible character."""
    refusals: Share | None = 0.5
    """Answers that the metric `refusal` has scored 1; where it does not run, nothing is known."""
    unscored: Share | None = 0.5
    """Evaluations that a judge should have made and did not."""
    no_data: Annotated[float, Ge(1)] | None = 3.0
    """Silence, as a multiple of the longest pause that is usual at its time of day."""
    replay: bool = True
    """Whether it is an alert that accepted cases, asked again, are answered worse."""
    judge_drift: bool = True
    """Whether it is an alert, a warning, that a judge scores the same answers otherwise than before."""


class FloorSettings(FloorLimits):
    """Limits of all deployments, the window of a share, and the limits of single deployments."""

    window: Annotated[
        timedelta, BeforeValidator(reads_seconds("smhd")), Ge(timedelta(minutes=1)), Le(timedelta(hours=12))
    ] = timedelta(minutes=15)
    """A share is of this much time at least; of more where that has fewer than `minimum_requests`."""
    minimum_requests: Annotated[int, Ge(1)] = 50
    """Of fewer no share is taken."""
    deployments: Mapping[str, FloorLimits] = Field(default_factory=dict)

    def of(self, deployment: str) -> Self:
        """Give the settings of one deployment: its own limits where it has some, else those of all."""
        own = self.deployments.get(deployment)
        return (
            self if own is None else self.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})
        )
