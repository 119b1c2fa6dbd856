"""Base of the metrics of local models: the texts of a whole frame go to the model together, each once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

from evaluator.metrics.decorator import AskingMetric, Decorator, made_metric
from evaluator.metrics.description import Description
from evaluator.metrics.options import option
from evaluator.metrics.scores import ScoredBy
from evaluator.models import DEFAULT_MODELS, Models, Role

MODELS_MEANING = "`Models(...)`: which models by name or folder, `device`, `dtype` (`float32`, `bfloat16`)"


@dataclass(frozen=True)
class ModelMetric(AskingMetric):
    """A metric whose verdict is a model's; its version names the model.

    Its function yields what the model is to read for the row, and gets the model's outputs in that order. `run` gives
    them for the texts of many rows, and raises ModelUnavailableError, also for no texts.
    """

    _: KW_ONLY
    models: Models = option(DEFAULT_MODELS, MODELS_MEANING)

    role: ClassVar[Role]
    run: ClassVar[Callable[[Models, Sequence[Any]], Sequence[Any]]]
    judge = ScoredBy.MODEL

    @cached_property
    def version(self) -> str:
        """Version of the arithmetic, the model, and its precision where that is reduced."""
        return f"{self.base_version}-{self.models.version(self.role)}"

    def answers(self, asked: Sequence[Sequence[Hashable]]) -> Iterator[Sequence[Any]]:
        """Ask the model; what several rows ask is computed once."""
        distinct = list(dict.fromkeys(one for row in asked for one in row))
        outputs = dict(zip(distinct, type(self).run(self.models, distinct), strict=True))
        return ([outputs[one] for one in row] for row in asked)


def model_metric(
    about: Description | Callable[[Any], Description],
    *,
    needs: tuple[str, ...],
    role: Role,
    run: Callable[[Models, Sequence[Any]], Sequence[Any]],
    judge: ScoredBy = ScoredBy.MODEL,
    **more: Any,
) -> Decorator:
    """Make a metric of a function that asks a model about a row; see `ModelMetric`, and `made_metric` for the rest."""
    return made_metric(ModelMetric, about, needs=needs, role=role, run=staticmethod(run), judge=judge, **more)
