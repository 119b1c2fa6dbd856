"""Binding of metrics to judges: which judge a metric asks, and about which answers it must not be asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from evaluator.answers import LoggedAnswer
from evaluator.metrics import Metric
from evaluator.metrics.combination import Combination
from evaluator.metrics.ensemble import Combine, Ensemble
from evaluator.metrics.llm.claim_metric import ClaimMetric
from evaluator.metrics.llm.llm_metric import LlmMetric
from lake.spec.vocabulary import JudgeKind, asks_llm

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge
    from evaluator.judges.settings import JudgeSettings

_DATE = re.compile(r"[-@:](latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{2}-\d{2})$")


def asks_judge(metric: Metric) -> bool:
    """Whether a metric, or one that a combination is made of, asks a judge."""
    return asks_llm(metric.judge)


@dataclass(frozen=True)
class Jury:
    """Judges that are asked the same, and how their scores are made one: see `Ensemble`. One judge needs no more."""

    judges: tuple[BoundJudge, ...]
    combine: Combine = "median"


def with_judges(metric: Metric, jury: Jury) -> Metric:
    """Return the metric as it asks these judges; one that asks none is given back as it is."""
    if isinstance(metric, Combination):
        return replace(metric, parts=tuple((with_judges(part, jury), weight) for part, weight in metric.parts))
    if isinstance(metric, Ensemble):
        return with_judges(metric.members[0], jury)
    if not isinstance(metric, LlmMetric):
        return metric
    members = tuple(replace(metric, judged_by=judge) for judge in jury.judges)
    return members[0] if len(members) == 1 else Ensemble(members, jury.combine)


def judges_of(metric: Metric) -> tuple[BoundJudge, ...]:
    """Return the judges that a metric asks, each once; none where it asks none, or was given none."""
    if isinstance(metric, Combination):
        parts: Sequence[Metric] = [part for part, _ in metric.parts]
    elif isinstance(metric, Ensemble):
        parts = metric.members
    else:
        judge = metric.judged_by if isinstance(metric, LlmMetric) else None
        return () if judge is None else (judge,)
    return tuple(judges_of_all(parts))


def judges_of_all(metrics: Sequence[Metric]) -> list[BoundJudge]:
    """Return the judges that metrics ask, each once."""
    return list(dict.fromkeys(judge for metric in metrics for judge in judges_of(metric)))


def sees_images(metric: Metric) -> bool:
    """Whether a metric shows its judge, or one of its judges, the images of questions."""
    if isinstance(metric, Combination):
        return any(sees_images(part) for part, _ in metric.parts)
    if isinstance(metric, Ensemble):
        return any(map(sees_images, metric.members))
    return isinstance(metric, ClaimMetric) and metric.sees_images


def judge_named(metric: Metric) -> str:
    """Return what judges, as `scores.judge` has it: judges' names where they are asked, such as `lexical+strict`."""
    names = "+".join(judge.name for judge in judges_of(metric))
    return "+".join(names if names and kind == JudgeKind.LLM else kind for kind in metric.judge.split("+"))


def judges_itself(metric: Metric, answer: LoggedAnswer) -> bool:
    """Whether a judge is the model that gave the answer, by the names of both, and may not judge itself.

    Compared are the judge's model and deployment with the answer's: the last part of a path, without case and without
    a date or `latest` at the end. What an application calls inside is not known by its name.
    """
    return any(is_own_model(judge.settings, answer.model, answer.deployment) for judge in judges_of(metric))


def is_own_model(judge: JudgeSettings, *names: str | None) -> bool:
    """Whether a judge has one of the names of what gave an answer, and may not judge itself."""
    return not (judge.allow_own_model or _names(*names).isdisjoint(_names(judge.model, judge.deployment)))


def split(metrics: Sequence[Metric]) -> tuple[list[Metric], list[Metric]]:
    """Return the metrics that ask no judge, and those that do."""
    return [one for one in metrics if not asks_judge(one)], [one for one in metrics if asks_judge(one)]


def _names(*names: str | None) -> set[str]:
    return {_DATE.sub("", PurePosixPath(name).name.lower()) for name in names if name}
