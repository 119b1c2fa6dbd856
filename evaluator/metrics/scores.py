"""Metric, and what it gives: a value a row, or null and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from evaluator.judges.exchange import Spend
from evaluator.metrics.cells import UnscorableRowError
from evaluator.metrics.description import Description
from lake.spec.vocabulary import JudgeKind, UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

GROUND_TRUTH_COLUMNS = frozenset(
    {"reference_answers", "reference_contexts", "reference_context_ids", "reference_tool_calls", "facts"}
)
"""Columns that no log holds: a metric that needs one can only score rows with a case of ground truth."""

CONVERSATION = "conversation"
"""Column of a whole conversation, of which the row's answer is the last."""

MEASURED_COLUMNS = frozenset({"duration_ms", "price", "deployment_price", "tool_calls", CONVERSATION})
"""Columns that were measured from outside: they say something even where the answer itself is not known."""

Details = Mapping[str, Any]
_NOTHING = Spend()
_Task = TypeVar("_Task")


class ScoredBy(StrEnum):
    """What gives a metric's verdict: the kinds of `scores.judge` that a metric can be."""

    LEXICAL = JudgeKind.LEXICAL
    EMBEDDING = JudgeKind.EMBEDDING
    MODEL = JudgeKind.MODEL
    LLM = JudgeKind.LLM


class LateDetails(Mapping[str, Any]):
    """Details that are made when they are first read: most tables are written without them."""

    def __init__(self, make: Callable[[], Details]) -> None:
        self._make = make

    def __getitem__(self, name: str) -> Any:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    @cached_property
    def _made(self) -> Details:
        return self._make()


class MissingColumnError(KeyError):
    """The frame lacks a column that a metric needs."""

    def __init__(self, metric: str, column: str, columns: Sequence[object]) -> None:
        names = ", ".join(map(str, columns)) or "no columns"
        super().__init__(f"metric {metric!r} needs column {column!r}; the frame has {names}")

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Score:
    """One row's result: `value` None where it cannot be computed, and then `reason` says why.

    A reason beside a value is a remark: `no_contexts` with 0.0 means that nothing was retrieved. `spend` is what a
    judge took for it now.
    """

    value: float | None
    reason: str | None = None
    details: Details = field(default_factory=dict)
    spend: Spend = _NOTHING


@dataclass(frozen=True)
class Scores:
    """A metric's result on a frame: series with the frame's index, lists for a `CellFrame`.

    `values` are float64, NaN where null. `reasons` are words such as `no_answer`, None where there is nothing to
    say; every null value has one. `details` are mappings that can be written as JSON, empty where there is nothing.
    `spends` are what a judge took for each row now, a `Spend` each: what several metrics ask is paid by the first.
    """

    values: pd.Series
    reasons: pd.Series
    details: pd.Series
    spends: pd.Series

    @classmethod
    def of(cls, rows: Sequence[Score], index: pd.Index | range) -> Scores:
        """Line up one `Score` a row with the index of the frame that they were made from."""
        values: Any = [float("nan") if row.value is None else float(row.value) for row in rows]
        columns: list[Any] = [
            [_reason(row) for row in rows],
            [row.details for row in rows],
            [row.spend for row in rows],
        ]
        if isinstance(index, range):
            return cls(values, *columns)
        import pandas as pd

        series = (pd.Series(cells, index=index, dtype=object) for cells in columns)
        return cls(pd.Series(values, index=index, dtype="float64"), *series)

    def with_details(self) -> Scores:
        """Return the same scores once all details are made: what fails in making them fails here."""
        details: Any = self.details
        made: Any = [dict(one) for one in details] if isinstance(details, list) else details.map(dict)
        return replace(self, details=made)


def _reason(row: Score) -> str | None:
    reason = UnscoredReason.NOT_A_NUMBER if row.reason is None and row.value != row.value else row.reason
    return None if reason is None else str(reason)  # plain words, also where they are printed


class Metric(Protocol):
    """A measure of answers or of what was retrieved for them.

    `needs` names the columns that `score` reads, `judge` what gives the verdict (a `ScoredBy`, or
    several joined by `+`).
    `version` changes whenever a row may get another value: scores of two versions are never compared. `about` is
    what the documentation says of it.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def version(self) -> str: ...  # noqa: D102
    @property
    def needs(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def judge(self) -> str: ...  # noqa: D102
    @property
    def about(self) -> Description: ...  # noqa: D102

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row; a row that cannot be scored is null with a reason and never an exception.

        Raises MissingColumnError where the frame lacks one of `needs`, and ModelUnavailableError where the metric's
        model cannot be loaded, or its judge is not configured.
        """
        ...


def needs_ground_truth(metric: Metric) -> bool:
    """Whether a metric compares with ground truth, or judges the answer by its question and contexts alone."""
    return not GROUND_TRUTH_COLUMNS.isdisjoint(metric.needs)


def is_of_conversations(metric: Metric) -> bool:
    """Whether a metric scores conversations once they are closed, and not each answer as it comes."""
    return CONVERSATION in metric.needs


def optional_columns(metric: Metric) -> tuple[str, ...]:
    """Return the columns that a metric reads where a frame has them."""
    columns: tuple[str, ...] = getattr(metric, "optional", ())
    return columns


@runtime_checkable
class Redrawable(Protocol):
    """A metric that would give an answer its earlier score, because it keeps what its judge said."""

    def fresh(self, draw: int) -> Metric:
        """Return the same metric, with the same version, whose judge is asked anew for each `draw`.

        The same draw may be answered from what was kept. Draw 0 is the metric itself.
        """
        ...


def score_rows(metric: Metric, frame: pd.DataFrame, score_row: Callable[..., Score | float]) -> Scores:
    """Score a frame row by row: `score_row` gets the cells of `metric.needs`, in that order, and may give a number."""
    rows = _each(metric, frame, score_row)
    return Scores.of([one if isinstance(one, Score) else Score(float(one)) for one in rows], frame.index)


def score_together(
    metric: Metric,
    frame: pd.DataFrame,
    read_row: Callable[..., Score | _Task],
    score_all: Callable[[Sequence[_Task]], Iterable[Score]],
) -> Scores:
    """Score a frame's rows together: `read_row` gets a row's cells and gives its task, or its score if that is plain.

    `score_all` gives a score for each task.
    """
    read = _each(metric, frame, read_row)
    scored = iter(score_all([one for one in read if not isinstance(one, Score)]))
    return Scores.of([one if isinstance(one, Score) else next(scored) for one in read], frame.index)


def _each(metric: Metric, frame: pd.DataFrame, read_row: Callable[..., Score | _Task]) -> list[Score | _Task]:
    for column in metric.needs:
        if column not in frame.columns:
            raise MissingColumnError(metric.name, column, list(frame.columns))
    missing = [None] * len(frame)
    cells: list[Iterable[object]] = [frame[column] for column in metric.needs]
    cells += [frame[column] if column in frame.columns else missing for column in optional_columns(metric)]
    rows = zip(*cells, strict=True)
    return [_read_or_reason(read_row, cells) for cells in rows]


def _read_or_reason(read_row: Callable[..., Score | _Task], cells: tuple[object, ...]) -> Score | _Task:
    try:
        return read_row(*cells)
    except UnscorableRowError as error:
        return Score(None, error.reason)
