"""Settings of the evaluator: which metrics, which judges, and how often."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from evaluator.anchors.settings import AnchorSettings
from evaluator.answers.core_files import ImageSettings
from evaluator.engines import EngineName, RaySettings
from evaluator.ground_truth.settings import GroundTruthSettings
from evaluator.judge_binding import asks_judge
from evaluator.judges.settings import JudgeSettings
from evaluator.metrics import Metric, Models, metric_named
from evaluator.metrics.ensemble import Combine
from evaluator.own_metrics import (
    Aspects,
    CombinationSettings,
    SignalShareSettings,
    aspects_of,
    checked_combinations,
    checked_shares,
    combinations_of,
    is_a_metric,
    with_topics,
)
from evaluator.replays.settings import ReplaySettings
from evaluator.sampling import SamplingSettings
from lake.spec.application_classes import (
    CLASS_METRICS,
    DEFAULT_METRICS,
    JUDGED_CLASS_METRICS,
    ApplicationClass,
)
from lake.spec.metric_names import is_own_name
from lake.spec.vocabulary import JUDGE_KINDS
from runtime.durations import reads_seconds
from runtime.setting import Section, Setting

LOGGED_COLUMNS = frozenset(
    {
        "question",
        "answer",
        "contexts",
        "context_ids",
        "facts",
        "reference_answers",
        "reference_context_ids",
        "conversation",
        "tool_calls",
        "reference_tool_calls",
        "duration_ms",
        "price",
    }
)
"""What the service can show a metric: what logs hold, and what cases of ground truth do."""

_seconds = reads_seconds("smh")
_days = reads_seconds("hd")
_Workers = Annotated[int, Field(ge=1)]


def _judge_calls() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state) / "dialwatch" / "judge_calls.sqlite"


class EnsembleSettings(Section):
    """Several judges that are asked the same, and how their scores are made one: `mean`, `median` or `majority`."""

    judges: Annotated[tuple[str, ...], Field(min_length=2)]
    """Two or more judges that are asked the same at the same time; `evaluator.judge` can use the name. Each is
    paid."""
    combine: Combine = "median"
    """How their scores are combined: `median`, `mean`, or `majority` (1 if more than half of all give 0.5 or more, 0
    if more than half give less). A judge that gives no answer is left out as long as more than half gave one; a
    majority may be known without it. Otherwise the score is asked for again. `scores.details` has each judge's score
    and how far they are apart (`disagreement`)."""

    @model_validator(mode="after")
    def _can_be_combined(self) -> EnsembleSettings:
        if len(set(self.judges)) != len(self.judges):
            raise ValueError(f"judges names one twice: {', '.join(self.judges)}")
        if self.combine == "majority" and len(self.judges) % 2 == 0:
            raise ValueError(f"a majority takes an odd number of judges, not {len(self.judges)}")
        return self


class DeploymentSettings(Section):
    """What is different for one deployment: each key stands in the place of the evaluator's own."""

    metrics: Annotated[tuple[str, ...] | None, Setting(common=True, default="evaluator.metrics")] = None
    """Metrics that score one deployment instead of `evaluator.metrics`: `{support-rag: {metrics: [context_present,
    refusal]}}`. The log names a deployment that the lake does not have yet."""
    judge: Annotated[str | None, Setting(default="evaluator.judge")] = None
    """Judge that the metrics of this deployment ask."""
    sampling: Annotated[SamplingSettings | None, Setting(default="evaluator.sampling")] = None
    """Sample of this deployment: `{support-rag: {sampling: {rate: 0.1, flagged_rate: 1}}}`."""
    topics: tuple[Annotated[str, Field(pattern=r"\w")], ...] = ()
    """What this application may talk about, in your words, for `topic_adherence_f1`, `_precision` and `_recall`:
    `{shop: {topics: [orders and deliveries, returns]}}`."""


class ConversationSettings(Section):
    """When a conversation is closed, and scored by the metrics of conversations that `evaluator.metrics` names."""

    idle: Annotated[float, BeforeValidator(_seconds), Field(ge=60, le=86400)] = 3600.0
    """Time without a new request after which a conversation is closed, a minute to a day; `30m` can be written. One
    that goes on later is scored again, under its new last answer, and its old score stays. It is looked for closed ones
    four times in this time."""


class EvaluatorSettings(Section):
    """Settings of the evaluator. Times are in seconds; `30s`, `5m` and `1h` are understood too.

    Raises pydantic's ValidationError for a key that does not exist, for a metric that does not, with a list of those
    that do, and for a metric that asks a judge where none may be asked.
    """

    models: Models = Models()
    judges: Mapping[str, JudgeSettings] = Field(default_factory=dict)
    ensembles: Mapping[str, EnsembleSettings] = Field(default_factory=dict)
    judge: Annotated[str | None, Setting(default="the only one")] = None
    """Name of the judge or of the ensemble that metrics ask; must be given if there are several."""
    judge_calls: Annotated[Path, Setting(default="~/.local/state/dialwatch/judge_calls.sqlite")] = Field(
        default_factory=_judge_calls
    )
    """File of all calls of judges, on a local disk; it is created if needed. `XDG_STATE_HOME` moves the default."""
    share_judge_replies: bool = False
    """Whether replies are also put into the lake, below `_judge_replies`, and workers of other machines with this
    setting take them from there. Whoever may read the lake can read them."""
    judge_calls_retention: Annotated[float, BeforeValidator(_days), Field(ge=86400, allow_inf_nan=False)] = 30 * 86400.0
    """How long a reply, which may quote answers, is kept in the file and in the lake; a duration of a day or more:
    `7d`."""
    sampling: SamplingSettings = SamplingSettings()
    aspects: Aspects = Field(default_factory=dict)
    combinations: Mapping[str, CombinationSettings] = Field(default_factory=dict)
    signal_shares: Mapping[str, SignalShareSettings] = Field(default_factory=dict)
    metrics: Annotated[
        tuple[str, ...] | None,
        Setting(common=True, default="[by what the application does](evaluator.md#which-metrics-run)"),
    ] = None
    """Metrics that score new answers, of those in [metrics.md](metrics.md), with the endings that choose a matcher of
    facts: `facts_recall_statement`, or `facts_recall_judge`, where a judge decides. Metrics that need ids are refused,
    because logs hold none. The monitor watches those that have a better end and two ends of their range: expect no
    alerts from seconds, money and lengths."""
    deployments: Mapping[str, DeploymentSettings] = Field(default_factory=dict)
    every: Annotated[float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False), Setting(on_store=90.0)] = 60.0
    """Time between two passes; `30s`, `5m` and `1h` can be written."""
    context_grace: Annotated[float, BeforeValidator(_seconds), Field(ge=0, allow_inf_nan=False)] = 120.0
    """How long an answer without contexts waits for the line of its model call; `2m` can be written. If the model
    stands behind an interceptor, the line must come in the first half."""
    conversations: ConversationSettings = ConversationSettings()
    anchors: AnchorSettings = AnchorSettings()
    ground_truth: GroundTruthSettings = GroundTruthSettings()
    engine: EngineName = "local"
    """Where metrics are computed that ask no judge: `local`, on this machine, or `ray`, on a [Ray
    cluster](evaluator.md#on-a-ray-cluster). `--engine`."""
    workers: Annotated[_Workers | None, Setting(default="1; with Ray as many as its processors")] = None
    """Processes of this machine, or tasks of Ray at once. `--workers`."""
    ray: RaySettings = RaySettings()
    replay: ReplaySettings = ReplaySettings()
    images: ImageSettings = ImageSettings()

    @property
    def shows_images(self) -> bool:
        """Whether one of the judges reads images."""
        return any(judge.images for judge in self.judges.values())

    def named_metrics(self, deployment: str) -> tuple[str, ...] | None:
        """Return the names of the metrics that the configuration chooses for a deployment; None where it does not."""
        own = self.deployments.get(deployment)
        return self.metrics if own is None or own.metrics is None else own.metrics

    def chosen_metrics(self, deployment: str, classes: Collection[ApplicationClass] = ()) -> list[Metric]:
        """Return the metrics that score a deployment, combinations among them.

        Where the configuration chooses none, they are those of its classes; of no class those of one that retrieves.
        """
        names = self.named_metrics(deployment)
        chosen = self.metrics_named(self._usual_metrics(deployment, classes) if names is None else names)
        return self.with_topics(chosen, deployment)

    def with_topics(self, metrics: Iterable[Metric], deployment: str) -> list[Metric]:
        """Return metrics as they score a deployment: those of topics with what it may talk about."""
        own = self.deployments.get(deployment)
        return [with_topics(metric, own.topics if own else ()) for metric in metrics]

    def _usual_metrics(self, deployment: str, classes: Collection[ApplicationClass]) -> Iterator[str]:
        if not classes:
            yield from DEFAULT_METRICS
        for one in classes:
            yield from CLASS_METRICS[one]
            judged = self.metrics_named(JUDGED_CLASS_METRICS.get(one, ()) if self._names_judge(deployment) else ())
            with suppress(ValueError):  # no judge may be asked
                self.check_judge(judged, deployment)
                yield from (metric.name for metric in judged)

    def _names_judge(self, deployment: str) -> bool:
        # The only judge may be there for something else, such as cases, and each call is paid.
        own = self.deployments.get(deployment)
        return self.judge is not None or (own is not None and own.judge is not None)

    def judge_of(self, deployment: str | None) -> str | None:
        """Return the name of the judge that metrics of a deployment ask, of no particular one for None."""
        own = self.deployments.get(deployment or "")
        if own is not None and own.judge is not None:
            return own.judge
        return self.judge or (next(iter(self.judges)) if len(self.judges) == 1 else None)

    def jury_of(self, deployment: str | None) -> tuple[tuple[str, ...], Combine]:
        """Return the names of the judges that metrics of a deployment ask, and how they are made one."""
        name = self.judge_of(deployment)
        ensemble = self.ensembles.get(name or "")
        if ensemble is not None:
            return ensemble.judges, ensemble.combine
        return (() if name is None else (name,)), "median"

    def sampling_of(self, deployment: str) -> SamplingSettings:
        """Return which answers of a deployment a judge is asked about."""
        own = self.deployments.get(deployment)
        return self.sampling if own is None or own.sampling is None else own.sampling

    def check_judge(self, metrics: Sequence[Metric], deployment: str | None) -> None:
        """Raise ValueError where one of the metrics asks a judge, and there is none, or one without prices."""
        asking = next((metric.name for metric in metrics if asks_judge(metric)), None)
        if asking is None:
            return
        names, _ = self.jury_of(deployment)
        if not names:
            several = f"say which of {', '.join(sorted(self.judges))} in evaluator.judge"
            none = "configure one under evaluator.judges.<name>"
            raise ValueError(f"metric {asking!r} asks a judge; {several if self.judges else none}")
        unable = [name for name in names if not self.judges[name].logprobs]
        if unable and (
            asked := next((metric.name for metric in metrics if getattr(metric, "probability", False)), None)
        ):
            raise ValueError(
                f"metric {asked!r} needs probabilities of tokens; set judges.{unable[0]}.logprobs if the endpoint "
                "gives them, or leave probability out"
            )
        for name in names:
            self._check_price(f"metric {asking!r} asks the judge", name)

    def metrics_named(self, names: Iterable[str]) -> list[Metric]:
        """Return metrics by their names, each once, combinations among them.

        Raises UnknownMetricError for a name that no metric has, and ValueError for a metric of columns that neither
        logs nor cases hold.
        """
        return list({metric.name: metric for metric in _scorable(names, self._own, self.models)}.values())

    def metric(self, name: str) -> Metric:
        """Return any metric or combination by its name, with the models that are set; raises UnknownMetricError.

        It has no judge yet: see `evaluator.judge_binding`.
        """
        return self._own.get(name) or metric_named(name, self.models)

    def is_metric(self, name: str) -> bool:
        """Whether rows of `scores` with this name are the service's own."""
        return name in self.signal_shares or name in self._own or is_own_name(name) or is_a_metric(name)

    @property
    def _own(self) -> Mapping[str, Metric]:
        return _own_metrics(self.aspects, self.combinations, self.models)

    @field_validator("combinations")
    @classmethod
    def _combined(
        cls, combinations: Mapping[str, CombinationSettings], info: ValidationInfo
    ) -> Mapping[str, CombinationSettings]:
        return checked_combinations(combinations, info.data.get("aspects", {}))

    @field_validator("signal_shares")
    @classmethod
    def _shares(
        cls, shares: Mapping[str, SignalShareSettings], info: ValidationInfo
    ) -> Mapping[str, SignalShareSettings]:
        if both := shares.keys() & _own_of(info).keys():
            raise ValueError(f"{min(both)!r} is a metric of the configuration; give it another name")
        return checked_shares(shares)

    @field_validator("metrics")
    @classmethod
    def _known(cls, names: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        return None if names is None else _names(names, _own_of(info))

    @field_validator("deployments")
    @classmethod
    def _known_of_each(
        cls, deployments: Mapping[str, DeploymentSettings], info: ValidationInfo
    ) -> Mapping[str, DeploymentSettings]:
        own_metrics = _own_of(info)
        return {name: _checked(name, own, own_metrics) for name, own in deployments.items()}

    @model_validator(mode="after")
    def _has_judges(self) -> EvaluatorSettings:
        if both := self.judges.keys() & self.ensembles.keys():
            raise ValueError(f"{min(both)!r} is a judge and an ensemble; give one of them another name")
        for name in self.judges:
            # The rows of scores have the judges' names beside these words, joined by `+`.
            if name in JUDGE_KINDS or "+" in name:
                words = ", ".join(sorted(JUDGE_KINDS))
                raise ValueError(f"a judge cannot be named {name!r}: the words {words} and names with + are taken")
        asked = (self.judge, *(own.judge for own in self.deployments.values()))
        members = (name for ensemble in self.ensembles.values() for name in ensemble.judges)
        _check_known([name for name in asked if name], {*self.judges, *self.ensembles})
        _check_known(members, self.judges)
        self._check_judge_of_cases("ground_truth.judge", self.ground_truth.judge)
        self._check_judge_of_cases("replay.preference", self.replay.preference)
        for deployment in (None, *self.deployments):
            self.check_judge(self.chosen_metrics(deployment or ""), deployment)
        return self

    def _check_judge_of_cases(self, what: str, name: str | None) -> None:
        if name is None:
            return
        _check_known([name], self.judges)
        self._check_price(f"{what} is", name)

    def _check_price(self, asked: str, name: str) -> None:
        if (problem := self.judges[name].price_problem()) is not None:
            raise ValueError(f"{asked} {name!r}, and {problem}")


def _own_metrics(
    aspects: Aspects, combinations: Mapping[str, CombinationSettings], models: Models | None = None
) -> dict[str, Metric]:
    made = aspects_of(aspects)
    return made | combinations_of(combinations, made, models)


def _own_of(info: ValidationInfo) -> Mapping[str, Metric]:
    return _own_metrics(info.data.get("aspects", {}), info.data.get("combinations", {}))


def _checked(deployment: str, own: DeploymentSettings, own_metrics: Mapping[str, Metric]) -> DeploymentSettings:
    if own == DeploymentSettings():
        raise ValueError(
            f"deployment {deployment!r} says nothing; give metrics, judge, sampling or topics, or leave it out"
        )
    if own.metrics is None:
        return own
    try:
        return own.model_copy(update={"metrics": _names(own.metrics, own_metrics)})
    except ValueError as error:
        raise ValueError(f"deployment {deployment!r}: {error}") from None


def _names(names: Iterable[str], own: Mapping[str, Metric]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(metric.name for metric in _scorable(names, own)))


def _scorable(names: Iterable[str], own: Mapping[str, Metric], models: Models | None = None) -> Iterator[Metric]:
    for name in names:
        metric = own.get(name) or metric_named(name, models)
        if unknown := set(metric.needs) - LOGGED_COLUMNS:
            raise ValueError(
                f"metric {metric.name!r} needs {', '.join(sorted(unknown))}, which neither logs nor cases hold; "
                "score it on a frame of your own with evaluator.metrics.compute"
            )
        yield metric


def _check_known(names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise ValueError(f"there is no judge {name!r}; known: {listed}. Configure it under evaluator.judges")
