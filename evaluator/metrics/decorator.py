"""Decorator that makes a metric of a function; the options of the metric are the function's keyword-only parameters."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, make_dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from evaluator.metrics.cells import amount, ids, text, texts, tool_calls, truth, turns
from evaluator.metrics.description import Description
from evaluator.metrics.options import check_options, cut_name, forms_of, version_of
from evaluator.metrics.scores import Score, ScoredBy, Scores, score_rows, score_together

if TYPE_CHECKING:
    import pandas as pd

Decorator = Callable[[Callable[..., Any]], Any]
"""From a function to the class of its metric, which is called with the metric's options."""

_READERS: Mapping[str, Callable[..., Any]] = {
    "question": text,
    "answer": text,
    "contexts": texts,
    "context_ids": ids,
    "reference_answers": texts,
    "reference_contexts": texts,
    "reference_context_ids": ids,
    "facts": texts,
    "tool_calls": tool_calls,
    "reference_tool_calls": tool_calls,
    "conversation": turns,
    "duration_ms": amount,
    "price": amount,
    "deployment_price": amount,
    "is_answerable_label": truth,
}
"""How the cells of a column are read; those of any other column are taken as they are."""


@dataclass(frozen=True)
class FunctionMetric:
    """A metric that is made of a function.

    `title` is its name without the endings of forms, `listed` where it stands among the metrics of its family, and
    `variants` are the options of each metric of the registry that is made of it. The options named in `passed` are
    handed to `function`. Columns of `optional` follow those of `needs`, and their cells are None where a frame lacks
    them.
    """

    title: ClassVar[str]
    listed: ClassVar[str]
    variants: ClassVar[Sequence[Mapping[str, Any]]]
    function: ClassVar[Callable[..., Any]]
    passed: ClassVar[Sequence[str]]
    base_version: ClassVar[str]
    about: ClassVar[Description]
    needs: ClassVar[tuple[str, ...]]
    optional: ClassVar[tuple[str, ...]] = ()
    judge: ClassVar[str] = ScoredBy.LEXICAL

    def __post_init__(self) -> None:
        check_options(self)

    @cached_property
    def name(self) -> str:
        """Name in the registry, with the endings of its forms and the cut: `id_precision_trec@5`."""
        endings = [
            f"_{form.ending}"
            for option, forms in forms_of(self).items()
            for form in forms
            if form.value == getattr(self, option)
        ]
        return cut_name("".join([self.title, *endings]), getattr(self, "k", None))

    @cached_property
    def version(self) -> str:
        """Version of the arithmetic, with the options that change it."""
        return version_of(self, self.base_version)

    @property
    def bound(self) -> Callable[..., Any]:
        """The function, with the options that it takes."""
        options = {name: getattr(self, name) for name in self.passed}
        return partial(self.function, **options) if options else self.function

    @property
    def of_cells(self) -> Callable[..., Any]:
        """The function as it takes the cells of a frame's row."""
        function = self.bound
        readers: list[Callable[[object], Any]] = [
            partial(_READERS[column], column=column) if column in _READERS else _as_it_is
            for column in (*self.needs, *self.optional)
        ]
        if len(readers) == 1:
            (reader,) = readers
            return lambda cell: function(reader(cell))
        if len(readers) == 2:
            reader, other_reader = readers
            return lambda cell, other: function(reader(cell), other_reader(other))
        return lambda *cells: function(*[reader(cell) for reader, cell in zip(readers, cells, strict=True)])


@dataclass(frozen=True)
class RowMetric(FunctionMetric):
    """A metric whose function gets what a row's cells hold, None if missing, and gives its score, or a number."""

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row."""
        return score_rows(self, frame, self.of_cells)


@dataclass(frozen=True)
class Asking:
    """A row's function that waits for the answer to what it asked by `yield`."""

    asked: Any
    waiting: Generator[Any, Any, Any]

    @classmethod
    def of(cls, function: Generator[Any, Any, Any]) -> Any:
        """Let it begin; returns what the function returns where it asks nothing."""
        try:
            return cls(next(function), function)
        except StopIteration as ended:
            return ended.value

    def answered(self, answer: Any) -> Any:
        """Return what the function returns with the answer."""
        try:
            self.waiting.send(answer)
        except StopIteration as ended:
            return ended.value
        raise RuntimeError("a metric's function asks once")


@dataclass(frozen=True)
class AskingMetric(FunctionMetric, ABC):
    """A metric whose function asks by `yield`, once; all rows of a frame are asked about together.

    The function gets what a row's cells hold, None for a missing one, and gives its score.
    """

    @abstractmethod
    def answers(self, asked: Sequence[Any]) -> Iterable[Any]:
        """Return the answer for each row that asks; what they ask may be the same."""

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row."""
        of_cells = self.of_cells
        return score_together(self, frame, lambda *cells: Asking.of(of_cells(*cells)), self._scores)

    def _scores(self, rows: Sequence[Asking]) -> Iterator[Score]:
        answers = self.answers([row.asked for row in rows])
        return (row.answered(answer) for row, answer in zip(rows, answers, strict=True))


def metric(
    about: Description | Callable[[Any], Description],
    *,
    needs: tuple[str, ...] | Callable[[Any], tuple[str, ...]],
    version: str | Callable[[Any], str] = "1",
    name: str | Callable[[Any], str] | None = None,
    variants: Sequence[Mapping[str, Any]] = ({},),
    optional: tuple[str, ...] = (),
) -> Decorator:
    """Make a metric of a function that scores one row; see `RowMetric`, and `made_metric` for the arguments."""
    return made_metric(RowMetric, about, needs=needs, version=version, name=name, variants=variants, optional=optional)


def made_metric(
    kind: type[FunctionMetric],
    about: Description | Callable[[Any], Description],
    *,
    needs: tuple[str, ...] | Callable[[Any], tuple[str, ...]] | None = None,
    version: str | Callable[[Any], str] = "1",
    name: str | Callable[[Any], str] | None = None,
    variants: Sequence[Mapping[str, Any]] = ({},),
    listed: str | None = None,
    **attributes: Any,
) -> Decorator:
    """Make a metric of a function, of a kind that says what the function gets and gives.

    The metric has the function's name and docstring. A keyword-only parameter with a default from `option` is an option
    of the metric, one without a default gets an option that the kind has. The decorated name is a class as any
    dataclass: `hit_rate(k=5)` is a metric. `evaluator.metrics` has it as `HitRate`.

    `version` changes whenever a row may get another value. `name` is the metric's name where the function has another.
    What depends on the options is a function of the metric. `variants` are the options of the metrics that the registry
    gets, one with the defaults where nothing is said. A family lists its metrics by the names of their functions;
    `listed` is the name by which this one is listed.
    """

    def decorated(function: Callable[..., Any]) -> type[FunctionMetric]:
        keywords = [one for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
        options = [(one.name, Any, copy(one.default)) for one in keywords if one.default is not one.empty]
        depending = {"about": about, "needs": needs, "name": name, "version": version}
        namespace = {
            "__doc__": function.__doc__,
            "function": staticmethod(function),
            "passed": [one.name for one in keywords],
            "title": name if isinstance(name, str) else function.__name__,
            "listed": listed or function.__name__,
            "variants": variants,
            "base_version": version,
            **{key: property(value) for key, value in depending.items() if callable(value)},
            **{key: value for key, value in (("about", about), ("needs", needs)) if value and not callable(value)},
            **attributes,
        }
        class_name = "".join(part.capitalize() for part in function.__name__.split("_"))
        made = make_dataclass(class_name, options, bases=(kind,), namespace=namespace, frozen=True)
        # It is pickled by the name that it has in its module.
        made.__module__, made.__qualname__ = function.__module__, function.__name__
        return made

    return decorated


def _as_it_is(cell: object) -> object:
    return cell
