"""Settings of limits: the limits, for all deployments and for single ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Self

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator, Field

from runtime.durations import reads_seconds
from runtime.setting import Section, Setting

Share = Annotated[float, Gt(0), Le(1)]


class DeploymentLimits(Section):
    """The limit of each limit; None switches it off."""

    errors: Share | None = 0.3
    """Share of requests with a status of 400 or more, or without a whole answer."""
    empty_answers: Share | None = 0.3
    """Share of whole answers with nothing in them: no visible character, call of a tool, attachment or refusal."""
    tool_errors: Share | None = 0.3
    """Share of the calls of tools in a deployment's turns that failed, of those of which it is known; of a turn at most
    three calls of a tool count, and ten in all. One broken tool of many is [told too](alerts.md#failing-tools)."""
    child_errors: Share | None = 0.3
    """Share of the calls that a deployment made to others, through Core, that failed. One of many that fails for it is
    [told too](alerts.md#failed-calls-to-other-deployments)."""
    refusals: Share | None = 0.5
    """Share of answers that the metric `refusal` scored 1; without that metric it never fires."""
    unscored: Share | None = 0.5
    """Share of a judge's evaluations that failed at the judge, other than for lack of budget."""
    no_data: Annotated[float, Ge(1)] | None = 3.0
    """Silence, in multiples of the longest usual pause, see [alerts.md](alerts.md#limits)."""
    replay: bool = True
    """Whether it is an alert that accepted cases, [asked again](ground-truth.md#replay), are answered worse."""
    at_least: Annotated[Mapping[str, float | None], Setting(default="none")] = Field(default_factory=dict)
    """Worst mean of a metric that is accepted, in its own values: `{faithfulness_kprecision: 0.7}`. Where lower is
    better it is the largest one. It needs no reference and speaks from the first answers on
    ([how](alerts.md#limits))."""
    judge_drift: bool = True
    """Whether it is an alert, a warning, that a judge scores the same answers otherwise than before
    ([anchors](anchors.md))."""


class LimitSettings(DeploymentLimits):
    """Limits of all deployments, the window of a share, and the limits of single deployments."""

    window: Annotated[
        timedelta, BeforeValidator(reads_seconds("smhd")), Ge(timedelta(minutes=1)), Le(timedelta(hours=12))
    ] = timedelta(minutes=15)
    """Time whose requests a share is computed from, from 1m to 12h; longer if they are fewer than
    `minimum_requests`."""
    page_after: Annotated[
        timedelta, BeforeValidator(reads_seconds("smhd")), Ge(timedelta(0)), Le(timedelta(hours=12))
    ] = timedelta(hours=1)
    """How long `errors`, `empty_answers`, `tool_errors` or `child_errors` must last to be urgent, from 0s to 12h; a
    shorter outage is a warning."""
    minimum_requests: Annotated[int, Ge(1)] = 50
    """Least number of requests that a share is computed from. With fewer in a day a limit fires where bad ones follow
    each other beyond chance."""
    deployments: Mapping[str, DeploymentLimits] = Field(default_factory=dict)
    """The limits of one deployment, where they are others than those of all: `{faq-bot: {errors: 0.1, refusals:
    null}}`; null switches a limit off."""

    def of(self, deployment: str) -> Self:
        """Return the settings of one deployment: its own limits where it has some, else those of all."""
        own = self.deployments.get(deployment)
        if own is None:
            return self
        update = {name: getattr(own, name) for name in own.model_fields_set}
        return self.model_copy(update=update | {"at_least": {**self.at_least, **own.at_least}})

    def limit_of(self, deployment: str, metric: str) -> float | None:
        """Return the worst mean of a deployment's metric that is accepted; None where nobody has set one."""
        return self.of(deployment).at_least.get(metric)
