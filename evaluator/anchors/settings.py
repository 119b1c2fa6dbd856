"""Settings of the anchors."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from runtime.durations import reads_seconds
from runtime.setting import Section

_seconds = reads_seconds("smhd")
_SECONDS_A_DAY = 86400.0


class AnchorSettings(Section):
    """How many answers are scored again, and how often, by each metric that a model or a judge gives."""

    every: Annotated[float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False)] = 86400.0
    """Time between two scorings of the [anchors](anchors.md), which show whether a judge has changed. They are spread
    over it in portions. An alert without a verdict has all of them scored at once. `12h` can be written. Each
    deployment has other times of day, by the hash of its name."""
    size: Annotated[int, Field(ge=0)] = 200
    """Anchors of a deployment and metric. Each scoring is so many calls of the judge, within its budgets; `--backfill
    --dry-run` says what they cost a day. Metrics that ask the same about an answer share the call. 0 turns anchors
    off; under 50 no verdict is given."""

    @property
    def scored_a_day(self) -> float:
        """How many anchors of a deployment and metric are scored in a day."""
        return self.size * _SECONDS_A_DAY / self.every
