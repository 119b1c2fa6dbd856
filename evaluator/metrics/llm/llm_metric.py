"""Base of the metrics that ask a judge."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from evaluator.judges.exchange import Reason, Spend
from evaluator.judges.schema import READING
from evaluator.metrics.decorator import FunctionMetric
from evaluator.metrics.description import Description
from evaluator.metrics.llm.verdicts import Judged
from evaluator.metrics.options import option, version_of
from evaluator.metrics.scores import Score, ScoredBy, Scores, score_together
from evaluator.models import Models, ModelUnavailableError
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

    from evaluator.judges.blocking_client import BoundJudge

JUDGE_MEANING = "`JudgeClient(...).judge(name)`: the judge that is asked"

Task = TypeVar("Task")


class JudgeUnavailableError(ModelUnavailableError):
    """A metric asks a judge and none was given; the message says how to configure one."""


@dataclass(frozen=True)
class LlmMetric(ABC, Generic[Task]):
    """A metric whose verdicts are a judge's.

    Its version names the model, and changes with the model, its temperature, the prompts, the schemas and how replies
    are read. `score` raises JudgeUnavailableError where no judge is given. A row that the judge does not answer about
    is null with the judge's reason, and the details have the bounds `low` and `high`.
    """

    _: KW_ONLY
    judged_by: BoundJudge | None = option(None, JUDGE_MEANING)

    base_version: ClassVar[str] = "1"
    judge = ScoredBy.LLM

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in the registry."""

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """Columns that must be there."""

    @property
    @abstractmethod
    def about(self) -> Description:
        """What the documentation says of it."""

    @property
    @abstractmethod
    def prompts(self) -> tuple[str, ...]:
        """Versions of the prompts, with their schemas, that its values depend on."""

    @property
    def judge_name(self) -> str | None:
        """The judge's name in the configuration."""
        return None if self.judged_by is None else self.judged_by.name

    @property
    def gives_reasons(self) -> bool:
        """Whether the judge says a few words before each verdict."""
        return self.judged_by is not None and self.judged_by.settings.reasons

    @property
    def version(self) -> str:
        """`1` without a judge; else with the model's last name and a digest of all that the values depend on."""
        if self.judged_by is None:
            return self.base_version
        settings = self.judged_by.settings
        parts = [settings.model_name, settings.temperature, READING, *self.prompts]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
        return f"{self.base_version}-{PurePosixPath(settings.model_name).name}-{digest}"

    def fresh(self, draw: int) -> Self:
        """Return the same metric, of the same version, whose judge is asked anew for each draw; 0 is the metric itself.

        What was asked in a draw before is answered from what is kept. At temperature 0 draws differ little.
        """
        return self if self.judged_by is None else replace(self, judged_by=replace(self.judged_by, draw=draw))

    @abstractmethod
    def read_row(self, *cells: object) -> Task | Score:
        """Return what the judge is to be asked about a row, or the row's score where nothing need be asked.

        Raises UnscorableRowError.
        """

    @abstractmethod
    def score_all(self, judge: BoundJudge, tasks: Sequence[Task]) -> Iterable[Score]:
        """Ask the judge, and return a score for each."""

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row; rows are asked about together."""
        judge = self.judged_by
        if judge is None:
            raise JudgeUnavailableError(
                f"metric {self.name!r} asks a judge and none is given: configure one under evaluator.judges.<name>, "
                "or give a library call `judge=JudgeClient(...).judge(name)`"
            )
        return score_together(self, frame, self.read_row, lambda tasks: self.score_all(judge, tasks))


@dataclass(frozen=True)
class JudgedMetric(LlmMetric[Task], FunctionMetric):  # type: ignore[misc, override]  # plain attributes
    """A metric of a judge that is made of a function."""

    name = FunctionMetric.name

    @property
    def version(self) -> str:
        """The version of a judged metric, the sentence encoder of one that has `models`, and options that change it."""
        models: Models | None = getattr(self, "models", None)
        encoder = "" if models is None else f"-{models.version('sentence_encoder')}"
        return version_of(self, f"{super().version}{encoder}")


def judged_score(judged: Judged, details: Mapping[str, Any], error: Reason | None, spend: Spend) -> Score:
    """Return the score of a row, which has its bounds where it is null; `error` is why the judge gave no answer."""
    if judged.value is not None:
        return Score(judged.value, judged.reason, details, spend)
    reason = (judged.reason == UnscoredReason.JUDGE_FAILED and error) or judged.reason
    limits = {} if judged.low is None or judged.high is None else {"low": judged.low, "high": judged.high}
    return Score(None, reason, {**limits, **details}, spend)
