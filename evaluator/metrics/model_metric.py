"""Base of the metrics of local models: the texts of a whole frame go to the model together, each once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Score, ScoredBy, Scores, score_together
from evaluator.metrics.options import option
from evaluator.models import DEFAULT_MODELS, Models, Role

if TYPE_CHECKING:
    import pandas as pd

MODELS_MEANING = "`Models(...)`: which models by name or folder, `device`, `dtype` (`float32`, `bfloat16`)"

Input = TypeVar("Input", bound=Hashable)
Output = TypeVar("Output")


@dataclass(frozen=True)
class ModelMetric(ABC, Generic[Input, Output]):
    """A metric whose verdict is a model's; its version names the model.

    `score` raises ModelUnavailableError where the model is not on this machine.
    """

    models: Models = field(default=DEFAULT_MODELS, kw_only=True, metadata=option(MODELS_MEANING))

    base_version: ClassVar[str] = "1"
    role: ClassVar[Role]
    about: ClassVar[Description]
    needs: ClassVar[tuple[str, ...]]
    judge = ScoredBy.MODEL

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in the registry."""

    @property
    def version(self) -> str:
        """Version of the arithmetic, the model, and its precision where that is reduced."""
        return f"{self.base_version}-{self.models.version(self.role)}"

    @abstractmethod
    def inputs(self, *cells: object) -> Sequence[Input] | Score:
        """Give what the model is to read for a row, or the row's score where there is nothing to read.

        Raises UnscorableRowError.
        """

    @abstractmethod
    def run(self, inputs: Sequence[Input]) -> Sequence[Output]:
        """Give the model's outputs; raises ModelUnavailableError, also for no inputs."""

    @abstractmethod
    def row_score(self, found: Sequence[tuple[Input, Output]]) -> Score:
        """Give the score of a row from its inputs, each with the model's output."""

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row; what several rows ask of the model is computed once."""
        return score_together(self, frame, self.inputs, self._row_scores)

    def _row_scores(self, rows: Sequence[Sequence[Input]]) -> Iterator[Score]:
        distinct = list(dict.fromkeys(one for row in rows for one in row))
        outputs = dict(zip(distinct, self.run(distinct), strict=True))
        return (self.row_score([(one, outputs[one]) for one in row]) for row in rows)
