"""Settings of replays: which deployments are asked, with which key, how often, and how much of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from runtime.durations import reads_seconds


class ReplayDeployment(BaseModel):
    """A deployment whose accepted cases are asked again, and the key of DIAL with which they are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_key: SecretStr


class ReplaySettings(BaseModel):
    """How accepted cases are asked again, of `<base_url>/openai/deployments/<deployment>/chat/completions`.

    `every` is the time between two runs of a deployment; without it there are only those by command. `concurrency` is
    the most calls at once. A run asks `most_cases` at most, and no further one once it has taken `most_tokens`.
    `timeout` is in seconds, for one answer. `alpha` is the probability that any of all runs after a baseline is called
    a regression although nothing changed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")] | None = None
    api_version: Annotated[str, Field(min_length=1)] = "2024-10-21"
    deployments: Mapping[str, ReplayDeployment] = Field(default_factory=dict)
    every: Annotated[float, BeforeValidator(reads_seconds("mhd")), Field(ge=60, allow_inf_nan=False)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=64)] = 2
    most_cases: Annotated[int, Field(ge=1)] = 200
    most_tokens: Annotated[int, Field(ge=1)] = 1_000_000
    timeout: Annotated[float, BeforeValidator(reads_seconds("sm")), Field(gt=0, allow_inf_nan=False)] = 120.0
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
