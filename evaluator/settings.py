"""What a user may set: which metrics, and how often."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from evaluator.metrics import Metric, UnknownMetricError, combination, metric_named
from lake import reads_seconds

DEFAULT_METRICS = (
    "faithfulness_kprecision",
    "context_present",
    "facts_recall",
    "answer_correctness_token_recall",
)
"""What the service scores where a user chooses nothing: a few that say different things and cost next to nothing."""

LOGGED_COLUMNS = frozenset({"question", "answer", "contexts", "facts", "reference_answers", "duration_ms", "price"})
"""What the service can show a metric: what logs hold, and what cases of ground truth do."""

_COMBINATION_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_seconds = reads_seconds("smh")


class EvaluatorSettings(BaseModel):
    """Settings of the evaluator. Times are in seconds; `30s`, `5m` and `1h` are understood too.

    A pass begins every `every` seconds. An answer that shows no contexts waits `context_grace` for the line of the
    model call that had them in its prompt.

    `combinations` are weighted means of metrics by a name that `metrics` can use like another:
    `{"quality": {"faithfulness_kprecision": 2, "context_present": 1}}`.

    Raises pydantic's ValidationError for a key that does not exist, and for a metric that does not, with a list of
    those that do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    combinations: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    metrics: tuple[str, ...] = DEFAULT_METRICS
    every: Annotated[float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False)] = 60.0
    context_grace: Annotated[float, BeforeValidator(_seconds), Field(ge=0, allow_inf_nan=False)] = 120.0

    def chosen_metrics(self) -> list[Metric]:
        """Give the metrics to score, combinations among them."""
        return [_chosen(name, self.combinations) for name in self.metrics]

    @field_validator("combinations")
    @classmethod
    def _combined(cls, combinations: Mapping[str, Mapping[str, float]]) -> Mapping[str, Mapping[str, float]]:
        for name, weights in combinations.items():
            if not _COMBINATION_NAME.fullmatch(name) or _is_a_metric(name):
                raise ValueError(
                    f"{name!r} cannot name a combination: take lower-case letters, digits and _, no metric"
                )
            combination(name, weights)
        return combinations

    @field_validator("metrics")
    @classmethod
    def _known(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        metrics = [_chosen(name, info.data.get("combinations", {})) for name in names]
        for metric in metrics:
            if unknown := set(metric.needs) - LOGGED_COLUMNS:
                raise ValueError(
                    f"metric {metric.name!r} needs {', '.join(sorted(unknown))}, which neither logs nor cases hold; "
                    "score it on a frame of your own with evaluator.metrics.compute"
                )
        return tuple(dict.fromkeys(metric.name for metric in metrics))


def _chosen(name: str, combinations: Mapping[str, Mapping[str, float]]) -> Metric:
    return combination(name, combinations[name]) if name in combinations else metric_named(name)


def _is_a_metric(name: str) -> bool:
    try:
        metric_named(name)
    except UnknownMetricError:
        return False
    return True
