"""Metrics of the configuration: aspects in a user's words, combinations of metrics, and shares of signals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from evaluator.metrics import Metric, Models, UnknownMetricError, combination, metric_named
from evaluator.metrics.combination import Combination
from evaluator.metrics.description import Direction
from evaluator.metrics.llm.aspects import aspect_critique, checked_scale
from evaluator.metrics.options import options_of
from lake.spec.case_vocabulary import PREFERENCE
from lake.spec.metric_names import is_own_name
from lake.spec.vocabulary import DISLIKES
from runtime.durations import reads_seconds
from runtime.setting import Section, Setting

_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


def _checked_scale(scale: tuple[int, int] | None) -> tuple[int, int] | None:
    checked_scale(scale)
    return scale


class AspectSettings(Section):
    """A question about the answer, to be said yes or no to, or graded."""

    definition: Annotated[str, Field(pattern=r"\w")]
    """Question about the answer that a judge answers with yes (1) or no (0), `Is the answer polite?`. It is an
    instruction to the judge. The metric is called `aspect_<name>`."""
    direction: Direction = "none"
    """Which is better: `up` if yes is, `down` if no is. With `none` the monitor finds no regression, and no
    combination can use it."""
    strictness: Annotated[int, Field(ge=1, le=99)] = 1
    """Number of votes, each a call, of which the majority counts; an even number is raised by one. Of grades the mean
    counts."""
    scale: Annotated[tuple[int, int] | None, Setting(default="yes or no"), AfterValidator(_checked_scale)] = None
    """Lowest and highest grade, `[1, 10]`; the score is the grade brought to 0 to 1. A judge whose endpoint gives
    `logprobs` is [asked for all grades' probabilities](judges.md#aspects-of-your-own)."""
    steps: tuple[Annotated[str, Field(pattern=r"\w")], ...] = ()
    """What the judge looks at, one after the other, before it decides: `[Read the question., Compare.]`."""
    probability: bool = False
    """Whether the score is the probability of yes instead of yes or no; the judge needs `logprobs`."""

    @model_validator(mode="after")
    def _of_yes_or_no(self) -> AspectSettings:
        if self.probability and self.scale is not None:
            raise ValueError(
                "probability is that of yes: a scale has none; leave it out, a grade is weighted by itself"
            )
        return self


class CombinationSettings(Section):
    """Metrics that make one together, with their weights, and by which mean; weights alone are an arithmetic one."""

    weights: Mapping[str, float]
    """Metrics and their weights; `evaluator.metrics` and those of deployments can use the name. Weights alone are
    enough: `{quality: {faithfulness_kprecision: 2, context_present: 1}}`."""
    mean: Literal["arithmetic", "harmonic"] = "arithmetic"
    """`arithmetic` or `harmonic`, which a bad part pulls down most."""
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    """With one, it is 1 if the mean is at least that much, else 0: what people would let pass. `dialwatch judge
    calibrate --write` finds and writes it ([calibration](calibration.md))."""

    @model_validator(mode="before")
    @classmethod
    def _weights_alone(cls, given: Any) -> Any:
        return {"weights": given} if isinstance(given, Mapping) and "weights" not in given else given


class SignalShareSettings(Section):
    """Words of `POST /signals` whose frequency is watched: the share of answers on which such a signal comes."""

    within: Annotated[float, BeforeValidator(reads_seconds("mhd")), Field(ge=3600, le=30 * 86400)] = 86400.0
    """How long after an answer the signal counts, an hour to 30 days; `3d` can be written. An answer has its score when
    it is as old, so a change is found that much later."""
    direction: Direction = "down"
    """Which is better: `down` if fewer are, as of `ticket_reopened`, `up` if more are."""


def checked_shares(given: Mapping[str, SignalShareSettings]) -> Mapping[str, SignalShareSettings]:
    """Return them as they are; raises ValueError for a word that is no word of `POST /signals`, or a metric."""
    for word in given:
        if not _NAME.fullmatch(word) or is_own_name(word) or is_a_metric(word):
            raise ValueError(
                f"{word!r} cannot be watched: take a word of your signals that dialwatch has no meaning for"
            )
    return given


def aspects_of(settings: Mapping[str, AspectSettings]) -> dict[str, Metric]:
    """Return the metrics of aspects by their names, `aspect_` and the aspect's."""
    made = (
        aspect_critique(
            name,
            one.definition,
            direction=one.direction,
            strictness=one.strictness,
            steps=one.steps,
            scale=one.scale,
            probability=one.probability,
        )
        for name, one in settings.items()
    )
    return {aspect.name: aspect for aspect in made}


def combinations_of(
    settings: Mapping[str, CombinationSettings], aspects: Mapping[str, Metric], models: Models | None = None
) -> dict[str, Metric]:
    """Return combinations of metrics of the registry and of aspects, by their names.

    Raises UnknownMetricError and CombinationError.
    """
    return {
        name: combination(name, made.weights, made.mean, models, own=aspects, threshold=made.threshold)
        for name, made in settings.items()
    }


def with_topics(metric: Metric, topics: tuple[str, ...]) -> Metric:
    """Return a metric with the topics that a deployment may talk about, if it or a part of it asks about them."""
    if isinstance(metric, Combination):
        return replace(metric, parts=tuple((with_topics(part, topics), weight) for part, weight in metric.parts))
    return replace(metric, topics=topics) if "topics" in options_of(metric) else metric  # type: ignore[type-var]


def _named(given: Mapping[str, AspectSettings]) -> Mapping[str, AspectSettings]:
    for name in given:
        if not _NAME.fullmatch(name) or is_a_metric(f"aspect_{name}"):
            raise ValueError(f"{name!r} cannot name an aspect: take lower-case letters, digits and _, no known aspect")
    return given


def checked_combinations(
    given: Mapping[str, CombinationSettings], aspects: Mapping[str, AspectSettings]
) -> Mapping[str, CombinationSettings]:
    """Return them as they are; raises ValueError for a name that cannot be one, and what `combinations_of` raises."""
    own = aspects_of(aspects)
    if DISLIKES in given:
        raise ValueError(
            f"{DISLIKES!r} cannot name a combination: the monitor watches people's ratings under this name and would "
            "hide the scores; take another"
        )
    if PREFERENCE in given:
        raise ValueError(f"{PREFERENCE!r} cannot name a combination: replays use it; take another")
    for name in given:
        if not _NAME.fullmatch(name) or name in own or is_a_metric(name):
            raise ValueError(f"{name!r} cannot name a combination: take lower-case letters, digits and _, no metric")
    combinations_of(given, own)
    return given


def is_a_metric(name: str) -> bool:
    """Whether the registry has a metric of this name."""
    try:
        metric_named(name)
    except UnknownMetricError:
        return False
    return True


Aspects = Annotated[Mapping[str, AspectSettings], AfterValidator(_named)]
"""Aspects by their names, of which no known aspect has one."""
