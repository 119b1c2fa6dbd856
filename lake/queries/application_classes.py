"""Queries of what applications do: counts over their answers, and the classes in `_application_classes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lake.queries.answer_rows import IS_ANSWER
from lake.queries.child_contexts import ChildContexts, Span
from lake.spec.application_classes import (
    CLASS_METRICS,
    JUDGED_CLASS_METRICS,
    LOOKED_AT,
    ApplicationClass,
    SeenAnswers,
    class_words,
)
from lake.spec.metric_names import quoted_name
from lake.spec.root_tables import APPLICATION_CLASSES
from lake.spec.table_spec import TIMESTAMP
from lake.spec.tool_calls import ToolCallsOrigin
from lake.spec.vocabulary import AnswerKind, ContextsOrigin
from lake.tables.open_tables import TableSource
from lake.tables.table import Table

_OF_CLASSES = frozenset(
    name for metrics in (*CLASS_METRICS.values(), *JUDGED_CLASS_METRICS.values()) for name in metrics
)
_DAY = timedelta(days=1)
_COUNTED = {
    "with_contexts": ("contexts_origin", ds.field("contexts_origin") != ContextsOrigin.NONE),
    "with_tool_calls": ("tool_calls_origin", ds.field("tool_calls_origin") != ToolCallsOrigin.NONE),
    "media": ("answer_kind", ds.field("answer_kind") == AnswerKind.ATTACHMENT),
}
"""What is counted, the column that says it, and which rows have it. Long columns are not read."""
_AT_A_TIME = 20_000
"""Answers that are looked for at a time: what is kept of each as an object is many times its columns."""
_BY_SPAN = ("date", "trace_id", "span_id", "requested_at")
_HAS_SPAN = ds.field("trace_id").is_valid() & ds.field("span_id").is_valid()


@dataclass(frozen=True)
class DecidedClass:
    """What a deployment does, as an evaluator saw it, and the metrics that it scores for that.

    `is_chosen` says that the configuration names the metrics.
    """

    deployment: str
    look: int
    classes: tuple[ApplicationClass, ...]
    seen: SeenAnswers
    metrics: tuple[str, ...]
    is_chosen: bool
    since: datetime
    decided_at: datetime

    @property
    def why(self) -> str:
        """The class with its reason, and what is scored, in words."""
        words, scored = class_words(self.classes, self.seen), ", ".join(map(quoted_name, self.metrics))
        if self.is_chosen:
            return f"{words}. The configuration names what is scored: {scored or 'nothing'}"
        if not scored:
            return f"{words}; so no metric is scored, and only limits are watched"
        return f"{words}. Scored for that: {scored}"

    def has_ended(self, metric: str, scored_at: datetime) -> bool:
        """Whether a metric that is scored of some applications is not scored of this one any more."""
        return metric in _OF_CLASSES and metric not in self.metrics and scored_at <= self.since

    def row(self) -> dict[str, Any]:
        """Return the row of `_application_classes`."""
        counts = asdict(self.seen)
        return {name: getattr(self, name) for name in APPLICATION_CLASSES.schema.names if name not in counts} | counts


class ApplicationClasses:
    """The classes of all deployments, as their table has them."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self._table = source.table(APPLICATION_CLASSES)
        self._version: int | None = None
        self.known: Mapping[str, DecidedClass] = {}

    def look(self) -> None:
        """Take in what is new. What the store raises is passed on; the same rows come again."""
        try:
            change = self._table.read_since(self._version)
        except Exception:
            # The table may have been removed and made anew.
            self._table, self._version = self._source.table(APPLICATION_CLASSES), None
            raise
        self._version = change.version
        if change.rows.num_rows:
            # A new mapping: other threads look at the one that there is.
            self.known = _newest(self.known, change.rows)

    def keep(self, decided: DecidedClass) -> None:
        """Hold to a class from now on, and write it for the others; what the store raises is passed on."""
        self.known = {**self.known, decided.deployment: decided}
        self._table.append(APPLICATION_CLASSES.rows([decided.row()]))


def _newest(known: Mapping[str, DecidedClass], rows: pa.Table) -> Mapping[str, DecidedClass]:
    found = dict(known)
    for row in rows.to_pylist():
        before = found.get(row["deployment"])
        if before is None or row["look"] >= before.look:
            found[row["deployment"]] = _decided(row)
    return found


def _decided(row: Mapping[str, Any]) -> DecidedClass:
    there = set(ApplicationClass)
    return DecidedClass(
        deployment=row["deployment"],
        look=row["look"],
        # A later version may know more.
        classes=tuple(ApplicationClass(one) for one in row["classes"] if one in there),
        seen=SeenAnswers(row["answers"], row["with_contexts"], row["with_tool_calls"], row["media"]),
        metrics=tuple(row["metrics"]),
        is_chosen=row["is_chosen"],
        since=row["since"],
        decided_at=row["decided_at"],
    )


def seen_answers(logs: Table, now: datetime, children: ChildContexts, deployment: str) -> SeenAnswers:
    """Count the answers of the 7 days up to now; where none is as new, of those before the end of the log's last day.

    An answer that failed shows nothing. Where the rows alone show too little, what their own model calls say counts.
    """
    days = [date.fromisoformat(file.date) for file in logs.live_files() if file.date]
    last = min(max(days, default=now.date()), now.date())
    until = now if last == now.date() else datetime.combine(last + _DAY, datetime.min.time(), now.tzinfo)
    since = until - LOOKED_AT
    asked = (ds.field("requested_at") > pa.scalar(since, TIMESTAMP)) & (
        ds.field("requested_at") <= pa.scalar(until, TIMESTAMP)
    )
    recent = (ds.field("date") >= pa.scalar(since.date())) & (ds.field("date") <= pa.scalar(last))
    shows = ds.field("answer_kind").is_null() | (ds.field("answer_kind") != AnswerKind.FAILED)
    columns = [column for column, _ in _COUNTED.values()]
    rows = logs.read([*columns, *_BY_SPAN], recent & asked & IS_ANSWER & shows)
    seen = SeenAnswers(rows.num_rows, **{name: rows.filter(has).num_rows for name, (_, has) in _COUNTED.items()})
    if not seen.decides:
        # They are counted again with each new answer, and children of older days are not in memory.
        rows = rows.filter(ds.field("date") >= pa.scalar((now - _DAY).date()))
    return _with_late(seen, rows.filter(_HAS_SPAN), children, deployment)


def _with_late(seen: SeenAnswers, rows: pa.Table, children: ChildContexts, deployment: str) -> SeenAnswers:
    """Count what model calls say that the collector could not join: logged after the answer, or by an interceptor."""
    contexts, calls = seen.with_contexts, seen.with_tool_calls
    if ApplicationClass.RETRIEVES not in seen.classes:
        without = rows.filter(ds.field("contexts_origin") == ContextsOrigin.NONE)
        contexts += _found(without, lambda some: children.with_contexts(some, deployment))
    if ApplicationClass.CALLS_TOOLS not in seen.classes:
        without = rows.filter(ds.field("tool_calls_origin") == ToolCallsOrigin.NONE)
        calls += _found(without, lambda some: children.with_turns(some, deployment))
    return replace(seen, with_contexts=contexts, with_tool_calls=calls)


def _found(rows: pa.Table, find: Callable[[Mapping[Span, datetime]], set[Span]]) -> int:
    """Count the rows that are found by their spans, some at a time: a day of a busy application is large."""
    asked = rows.group_by(["trace_id", "span_id"]).aggregate([("requested_at", "max")])
    found = 0
    for some in asked.sort_by("requested_at_max").to_batches(max_chunksize=_AT_A_TIME):
        traces, spans, times = (some[name].to_pylist() for name in asked.column_names)
        found += len(find(dict(zip(zip(traces, spans, strict=True), times, strict=True))))
    return found
