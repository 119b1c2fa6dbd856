"""What a user may set: which metrics, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from evaluator.anchors.settings import AnchorSettings
from evaluator.judges import JudgeSettings
from evaluator.metrics import Metric, Models, UnknownMetricError, combination, metric_named
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


class CombinationSettings(BaseModel):
    """Metrics that make one together, with their weights, and by which mean; weights alone are an arithmetic one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weights: Mapping[str, float]
    mean: Literal["arithmetic", "harmonic"] = "arithmetic"

    @model_validator(mode="before")
    @classmethod
    def _weights_alone(cls, given: Any) -> Any:
        return {"weights": given} if isinstance(given, Mapping) and "weights" not in given else given


Combinations = Mapping[str, CombinationSettings]
"""What metrics make together, by the name that it has."""


class DeploymentSettings(BaseModel):
    """What is different for one deployment: `metrics` stand in the place of the evaluator's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...]


class EvaluatorSettings(BaseModel):
    """Settings of the evaluator. Times are in seconds; `30s`, `5m` and `1h` are understood too.

    A pass begins every `every` seconds. An answer that shows no contexts waits `context_grace` for the line of the
    model call that had them in its prompt.

    `combinations` are weighted means of metrics by a name that `metrics` can use like another:
    `{"quality": {"faithfulness_kprecision": 2, "context_present": 1}}`, or with `weights` and `mean` where that is
    the harmonic one.

    `anchors` are answers that are scored again to see whether a judge has changed.

    `deployments` says by a deployment's name which metrics score it in the place of `metrics`. `models` says which
    local models the metrics use that use one. `judges` are the language models that may be asked, by name.

    Raises pydantic's ValidationError for a key that does not exist, and for a metric that does not, with a list of
    those that do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: Models = Models()
    judges: Mapping[str, JudgeSettings] = Field(default_factory=dict)
    combinations: Combinations = Field(default_factory=dict)
    metrics: tuple[str, ...] = DEFAULT_METRICS
    deployments: Mapping[str, DeploymentSettings] = Field(default_factory=dict)
    every: Annotated[float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False)] = 60.0
    context_grace: Annotated[float, BeforeValidator(_seconds), Field(ge=0, allow_inf_nan=False)] = 120.0
    anchors: AnchorSettings = AnchorSettings()

    def chosen_metrics(self, deployment: str) -> list[Metric]:
        """Give the metrics that score a deployment, combinations among them."""
        own = self.deployments.get(deployment)
        return self.metrics_named(self.metrics if own is None else own.metrics)

    def metrics_named(self, names: Iterable[str]) -> list[Metric]:
        """Give metrics by their names, each once, combinations among them.

        Raises UnknownMetricError for a name that no metric has, and ValueError for a metric of columns that neither
        logs nor cases hold.
        """
        return list({metric.name: metric for metric in _scorable(names, self.combinations, self.models)}.values())

    def metric(self, name: str) -> Metric:
        """Give any metric or combination by its name, with the models that are set; raises UnknownMetricError."""
        return _chosen(name, self.combinations, self.models)

    @field_validator("combinations")
    @classmethod
    def _combined(cls, combinations: Combinations) -> Combinations:
        for name, made in combinations.items():
            if not _COMBINATION_NAME.fullmatch(name) or _is_a_metric(name):
                raise ValueError(
                    f"{name!r} cannot name a combination: take lower-case letters, digits and _, no metric"
                )
            combination(name, made.weights, made.mean)
        return combinations

    @field_validator("metrics")
    @classmethod
    def _known(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return _own_names(names, info.data.get("combinations", {}))

    @field_validator("deployments")
    @classmethod
    def _known_of_each(
        cls, deployments: Mapping[str, DeploymentSettings], info: ValidationInfo
    ) -> Mapping[str, DeploymentSettings]:
        return {name: _checked(name, own, info.data.get("combinations", {})) for name, own in deployments.items()}


def _checked(deployment: str, own: DeploymentSettings, combinations: Combinations) -> DeploymentSettings:
    try:
        return DeploymentSettings(metrics=_own_names(own.metrics, combinations))
    except ValueError as error:
        raise ValueError(f"deployment {deployment!r}: {error}") from None


def _own_names(names: Iterable[str], combinations: Combinations) -> tuple[str, ...]:
    return tuple(dict.fromkeys(metric.name for metric in _scorable(names, combinations)))


def _scorable(names: Iterable[str], combinations: Combinations, models: Models | None = None) -> Iterator[Metric]:
    for name in names:
        metric = _chosen(name, combinations, models)
        if unknown := set(metric.needs) - LOGGED_COLUMNS:
            raise ValueError(
                f"metric {metric.name!r} needs {', '.join(sorted(unknown))}, which neither logs nor cases hold; "
                "score it on a frame of your own with evaluator.metrics.compute"
            )
        yield metric


def _chosen(name: str, combinations: Combinations, models: Models | None) -> Metric:
    if name in combinations:
        return combination(name, combinations[name].weights, combinations[name].mean, models)
    return metric_named(name, models)


def _is_a_metric(name: str) -> bool:
    try:
        metric_named(name)
    except UnknownMetricError:
        return False
    return True
