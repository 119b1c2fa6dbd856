"""Settings of ground truth."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class GroundTruthSettings(BaseModel):
    """Which answers become cases."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    least_confidence: Annotated[float, Field(gt=0, le=1)] = 0.8
    """What the signals of an answer must come to: a like, and nobody and nothing of weight against it."""
    most_per_day: Annotated[int, Field(ge=0)] = 50
    """Cases of a deployment that are made of the answers of one day; 0 makes none."""
