"""Base of the metrics that ask a judge."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from evaluator.judges.schema import READING
from evaluator.metrics.description import Description
from evaluator.metrics.options import option
from evaluator.metrics.scores import Score, ScoredBy, Scores, score_together
from evaluator.models import ModelUnavailableError

if TYPE_CHECKING:
    import pandas as pd

    from evaluator.judges import BoundJudge

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
        """Give the same metric, of the same version, whose judge is asked anew for each draw; 0 is the metric itself.

        What was asked in a draw before is answered from what is kept. At temperature 0 draws differ little.
        """
        return self if self.judged_by is None else replace(self, judged_by=replace(self.judged_by, draw=draw))

    @abstractmethod
    def read_row(self, *cells: object) -> Task | Score:
        """Give what the judge is to be asked about a row, or the row's score where nothing need be asked.

        Raises UnscorableRowError.
        """

    @abstractmethod
    def score_all(self, judge: BoundJudge, tasks: Sequence[Task]) -> Iterable[Score]:
        """Ask the judge, and give a score for each."""

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row; rows are asked about together."""
        judge = self.judged_by
        if judge is None:
            raise JudgeUnavailableError(
                f"metric {self.name!r} asks a judge and none is given: configure one under evaluator.judges.<name>, "
                "or give a library call `judge=JudgeClient(...).judge(name)`"
            )
        return score_together(self, frame, self.read_row, lambda tasks: self.score_all(judge, tasks))


def bounds(low: float | None, high: float | None) -> dict[str, Any]:
    """Give the bounds of a null value as its details have them."""
    return {} if low is None or high is None else {"low": low, "high": high}
