"""Settings of replays: which deployments are asked, with which key, how often, and how much of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr

from runtime.durations import reads_seconds
from runtime.setting import Section


class ReplayDeployment(Section):
    """A deployment whose accepted cases are asked again, and the key of DIAL with which they are."""

    api_key: SecretStr
    """The key of DIAL with which this deployment is asked."""


class ReplaySettings(Section):
    """How accepted cases are asked again, of `<base_url>/openai/deployments/<deployment>/chat/completions`."""

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")] | None = None
    """Address of DIAL Core, for asking accepted cases again ([ground truth](ground-truth.md#replay))."""
    api_version: Annotated[str, Field(min_length=1)] = "2024-10-21"
    """`api-version` of these calls."""
    deployments: Mapping[str, ReplayDeployment] = Field(default_factory=dict)
    every: Annotated[float, BeforeValidator(reads_seconds("mhd")), Field(ge=60, allow_inf_nan=False)] | None = None
    """Time between two runs of a deployment: `1d`, `12h`. Without it there are only those by command."""
    concurrency: Annotated[int, Field(ge=1, le=64)] = 2
    """Most calls of a run at once."""
    most_cases: Annotated[int, Field(ge=1)] = 200
    """Cases of a run; the same ones each time."""
    most_tokens: Annotated[int, Field(ge=1)] = 1_000_000
    """A run asks no further case once its answers have taken so many tokens, as far as the deployment counts them."""
    timeout: Annotated[float, BeforeValidator(reads_seconds("sm")), Field(gt=0, allow_inf_nan=False)] = 120.0
    """Time for one answer; `2m` can be written."""
    preference: Annotated[str, Field(min_length=1)] | None = None
    """One of `evaluator.judges`, which says of each case whether the answer or the earlier one is
    [better](ground-truth.md#preference), in two calls; without it no judge is asked."""
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Probability that any of all runs after a baseline is called a regression although nothing changed."""
