"""Settings of the anchors."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from runtime.durations import reads_seconds

_seconds = reads_seconds("smhd")
_SECONDS_A_DAY = 86400.0


class AnchorSettings(BaseModel):
    """How many answers are scored again, and how often, by each metric that a model or a judge gives.

    Each scoring is a call of the judge like any other, and counts in its budget. A `size` of 0 turns it off: then no
    alert can say whether the application or the judge has changed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    every: Annotated[float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False)] = 86400.0
    """Seconds from one scoring to the next; `12h` and `1d` are understood too."""
    size: Annotated[int, Field(ge=0)] = 200
    """Anchors of a deployment and metric."""

    @property
    def scored_a_day(self) -> float:
        """How many anchors of a deployment and metric are scored in a day."""
        return self.size * _SECONDS_A_DAY / self.every
