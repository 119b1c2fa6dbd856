"""What metrics of local models share: the texts of a whole frame go to the model together, each once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

import pandas as pd

from evaluator.metrics.cells import UnscorableRowError
from evaluator.metrics.description import Description
from evaluator.metrics.metric import MissingColumnError, Score, Scores
from evaluator.metrics.options import option
from evaluator.models import DEFAULT_MODELS, Models, Role

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
    judge = "model"

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
    def of_row(self, found: Sequence[tuple[Input, Output]]) -> Score:
        """Give the score of a row from its inputs, each with the model's output."""

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row; what several rows ask of the model is computed once."""
        for column in self.needs:
            if column not in frame.columns:
                raise MissingColumnError(self.name, column, list(frame.columns))
        rows = [self._inputs_or_score(cells) for cells in zip(*(frame[name] for name in self.needs), strict=True)]
        distinct = list(dict.fromkeys(one for row in rows if not isinstance(row, Score) for one in row))
        outputs = dict(zip(distinct, self.run(distinct), strict=True))
        return Scores.of([self._score(row, outputs) for row in rows], frame.index)

    def _inputs_or_score(self, cells: tuple[object, ...]) -> Sequence[Input] | Score:
        try:
            return self.inputs(*cells)
        except UnscorableRowError as error:
            return Score(None, error.reason)

    def _score(self, row: Sequence[Input] | Score, outputs: dict[Input, Output]) -> Score:
        return row if isinstance(row, Score) else self.of_row([(one, outputs[one]) for one in row])
