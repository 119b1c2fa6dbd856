"""Metrics and the judges that they ask: which asks which, and which answers a judge must not be asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from evaluator.answers import Answer
from evaluator.metrics import Metric
from evaluator.metrics.combination import Combination
from evaluator.metrics.llm_metric import LlmMetric

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge, JudgeSettings

JUDGE_IS_THE_MODEL = "judge_is_the_model"
"""Why an answer has no score: models favour their own text."""

TRANSIENT = frozenset({"judge_budget", "judge_timeout", "judge_unavailable", "judge_unpriced"})
"""Why a judge gave no answer that it may give later."""

_KIND = "llm"
_DATE = re.compile(r"[-@:](latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{2}-\d{2})$")


def asks_judge(metric: Metric) -> bool:
    """Whether a metric, or one that a combination is made of, asks a judge."""
    return _KIND in metric.judge.split("+")


def with_judge(metric: Metric, judge: BoundJudge | None) -> Metric:
    """Give the metric as it asks this judge; one that asks none is given back as it is."""
    if isinstance(metric, Combination):
        return replace(metric, parts=tuple((with_judge(part, judge), weight) for part, weight in metric.parts))
    return replace(metric, judged_by=judge) if isinstance(metric, LlmMetric) else metric


def judge_of(metric: Metric) -> BoundJudge | None:
    """Give the judge that a metric asks; None for one that asks none, or was given none."""
    if isinstance(metric, Combination):
        return next(filter(None, (judge_of(part) for part, _ in metric.parts)), None)
    return metric.judged_by if isinstance(metric, LlmMetric) else None


def judge_named(metric: Metric) -> str:
    """Give what judges, as `scores.judge` has it: the judge's name where one is asked, such as `lexical+strict`."""
    judge = judge_of(metric)
    kinds = metric.judge.split("+")
    return "+".join(judge.name if judge and kind == _KIND else kind for kind in kinds)


def judges_itself(metric: Metric, answer: Answer) -> bool:
    """Whether the judge is the model that gave the answer, by the names of both, and may not judge itself.

    Compared are the judge's model and deployment with the answer's: the last part of a path, without case and without
    a date or `latest` at the end. What an application calls inside is not known by its name.
    """
    judge = judge_of(metric)
    if judge is None or judge.settings.allow_own_model:
        return False
    settings = judge.settings
    return not _names(settings.model, settings.deployment).isdisjoint(_names(answer.model, answer.deployment))


def without_prices(judge: JudgeSettings) -> bool:
    """Whether a judge may not be called, because nobody said what that costs."""
    return not judge.priced and not judge.allow_unpriced


def split(metrics: Sequence[Metric]) -> tuple[list[Metric], list[Metric]]:
    """Give the metrics that ask no judge, and those that do."""
    return [one for one in metrics if not asks_judge(one)], [one for one in metrics if asks_judge(one)]


def _names(*names: str | None) -> set[str]:
    return {_DATE.sub("", PurePosixPath(name).name.lower()) for name in names if name}
