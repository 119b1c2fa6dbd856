"""Reader of what an application's own calls say of its answer: contexts and calls of tools, where it shows none itself.

The contexts stand in the prompt of its last model call, and so do the calls of tools that came before it. The row of a
tool says whether its call failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.answer_rows import usable_texts
from lake.queries.behind_interceptors import CLOCKS_DIFFER, LONGEST_CALL, TracedCall, is_direct, parents_of
from lake.queries.call_tables import AllCallTables, CallTables, between
from lake.spec.called_tools import CalledTool, called_tools, lacks_errors, with_errors
from lake.spec.tool_calls import CALLS_OF_CHILD, CALLS_OUTRANKED_BY_CHILD, ToolCallsOrigin, turn_of_child
from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import ANSWERING_KINDS, OUTRANKED_BY_CHILD, ContextsOrigin, Kind
from lake.tables.open_tables import TableSource

Key = TypeVar("Key")
Span = tuple[str, str]
"""trace_id and span_id of a call."""

_HOUR = timedelta(hours=1)
_MOST_ROWS = 1_000_000
"""The most children that are kept in memory, of the days that were asked for last; about 100 MB."""
_ORPHAN_COLUMNS = ("event_id", "execution_path", "duration_ms", "ingested_at")


@dataclass
class _Index:
    """Children of all deployments that were called in whole hours, without their contexts.

    `orphans` has the details by which those find their parent whose parent span no call has; None until it is needed.
    """

    since: datetime
    until: datetime
    rows: pa.Table
    orphans: pa.Table | None = None


class ChildContexts:
    """Finds what stands in the prompts of the calls that other calls made, in all deployments' tables.

    It opens each table once and keeps the ids of the days that it was asked for, until `forget()`.

    With `wait`, a call to a model behind an interceptor gets a parent only once its row is that old by the `clock`:
    until then the row of another possible parent may still come. With `tables` only these are read.
    """

    def __init__(
        self,
        lake: TableSource,
        wait: timedelta = timedelta(),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        tables: CallTables | None = None,
    ) -> None:
        self._wait = wait
        self._tables: CallTables = AllCallTables(lake, clock) if tables is None else tables
        self._indexes: dict[date, _Index] = {}

    def forget(self) -> None:
        """Open the tables again when next asked, to see rows that came since."""
        self._tables.forget()
        self._indexes.clear()

    def of(self, calls: Mapping[Span, datetime], deployment: str | None = None) -> dict[Span, list[dict[str, Any]]]:
        """Return the contexts in the prompt of the last child of each of these calls, of those that have one.

        `calls` maps each call to when it was requested; a child is looked for up to an hour later. `deployment` is
        the one whose calls these are. With it, calls to a model behind an interceptor are found too: their parent span
        is that of a hop that Core does not log, so their parent is the only call of the trace that can have made them.
        """
        found = self._details(["contexts"], self._last(calls, deployment, "contexts_origin", [ContextsOrigin.PROMPT]))
        return {span: child["contexts"] or [] for span, child in found.items()}

    def with_contexts(self, calls: Mapping[Span, datetime], deployment: str | None) -> set[Span]:
        """Return those of these calls for which `of` finds a child; no text is read."""
        return set(self._last(calls, deployment, "contexts_origin", [ContextsOrigin.PROMPT]))

    def with_turns(self, calls: Mapping[Span, datetime], deployment: str | None) -> set[Span]:
        """Return those of these calls for which `turns_of` finds a child; no text is read."""
        return set(self._last(calls, deployment, "tool_calls_origin", CALLS_OF_CHILD))

    def turns_of(self, calls: Mapping[Span, datetime], deployment: str | None = None) -> dict[Span, list[ToolCall]]:
        """Return the calls of tools that the last child of each of these calls knows of its turn; found as by `of`."""
        columns = ["tool_calls_origin", "request_body", "tool_calls"]
        found = self._details(columns, self._last(calls, deployment, "tool_calls_origin", CALLS_OF_CHILD))
        turns = {span: turn_of_child(*(child[name] for name in columns)) for span, child in found.items()}
        return {span: turn for span, turn in turns.items() if turn is not None}

    def tools_of(self, calls: Mapping[Span, datetime]) -> dict[Span, list[CalledTool]]:
        """Return the calls of these that are logged as calls of tools, by their time; a day at a time."""
        found: dict[Span, list[CalledTool]] = {}
        for some in _days_of(calls).values():
            found |= self._tools_of(some)
        return found

    def _tools_of(self, calls: Mapping[Span, datetime]) -> dict[Span, list[CalledTool]]:
        where = between(min(calls.values()) - CLOCKS_DIFFER, max(calls.values()) + LONGEST_CALL)
        where &= ds.field("trace_id").isin(sorted({trace_id for trace_id, _ in calls}))
        where &= ds.field("parent_span_id").isin(sorted({span_id for _, span_id in calls}))
        where &= ds.field("kind").isin([*ANSWERING_KINDS, Kind.MCP])
        columns = ["event_id", "trace_id", "parent_span_id", "requested_at", "kind", "error", "duration_ms"]
        rows = self._tables.rows(columns, where).to_pylist()
        rows.sort(key=lambda row: (row["requested_at"], row["event_id"]))
        servers = {number: row for number, row in enumerate(rows) if row["kind"] == Kind.MCP}
        bodies = {number: row["request_body"] for number, row in self._details(["request_body"], servers).items()}
        found: dict[Span, list[CalledTool]] = defaultdict(list)
        for number, row in enumerate(rows):
            span = row["trace_id"], row["parent_span_id"]
            if span in calls:
                found[span] += called_tools(
                    row["kind"], row["deployment"], bodies.get(number), row["error"], row["duration_ms"]
                )
        return dict(found)

    def _last(
        self, calls: Mapping[Span, datetime], deployment: str | None, column: str, values: Sequence[str]
    ) -> dict[Span, dict[str, Any]]:
        """Return the last child of each call of those that have one of these values in the column of the index."""
        by_day = _days_of(calls)
        children: dict[Span, dict[str, Any]] = {}
        for day in sorted(by_day):
            children |= self._last_children(day, by_day[day], deployment, column, values)
        return children

    def _details(self, columns: Sequence[str], children: Mapping[Key, dict[str, Any]]) -> dict[Key, dict[str, Any]]:
        """Read columns with long texts of children."""
        wanted = defaultdict(list)
        for child in children.values():
            wanted[child["deployment"]].append(child)
        found: dict[str, dict[str, Any]] = {}
        for deployment, some in wanted.items():
            days = {child["requested_at"].date() for child in some}
            rows = self._tables.details(columns, deployment, days, [child["event_id"] for child in some])
            found |= {row["event_id"]: row for row in rows.to_pylist()}
        return {key: found[child["event_id"]] for key, child in children.items() if child["event_id"] in found}

    def _last_children(
        self,
        day: date,
        calls: Mapping[Span, datetime],
        deployment: str | None,
        column: str,
        values: Sequence[str],
    ) -> dict[Span, dict[str, Any]]:
        index = self._children(day, min(calls.values()) - CLOCKS_DIFFER, max(calls.values()) + LONGEST_CALL)
        traces = pa.array(sorted({trace_id for trace_id, _ in calls}), pa.string())
        rows = index.rows.filter(pc.is_in(index.rows["trace_id"], traces))
        some = [row for row in rows.to_pylist() if row[column] in values]
        some.sort(key=lambda row: (row["requested_at"], row["event_id"]))
        by_parent = {(row["trace_id"], row["parent_span_id"]): row for row in some}
        found = {span: by_parent[span] for span in calls if span in by_parent}
        if deployment is None:
            return found
        theirs = [row for row in some if row["parent_deployment"] == deployment]
        childless = {trace_id for trace_id, _ in calls.keys() - found.keys()}
        if any(row["trace_id"] in childless for row in theirs):
            of_each = self._behind_interceptors(index, calls, deployment, theirs)
            found |= {span: child for span, child in of_each.items() if span in calls and span not in found}
        return found

    def _behind_interceptors(
        self,
        index: _Index,
        calls: Mapping[Span, datetime],
        deployment: str,
        children: Sequence[dict[str, Any]],
    ) -> dict[Span, dict[str, Any]]:
        """Return the last of these children, in their order, of each call that alone can have made it."""
        if index.orphans is None:
            index.orphans = self._orphans(index)
        ids = pa.array([child["event_id"] for child in children], pa.string())
        known = index.orphans.filter(pc.is_in(index.orphans["event_id"], ids)).to_pylist()
        details = {row["event_id"]: row for row in known}
        both = [child | details[child["event_id"]] for child in children if child["event_id"] in details]
        orphans = [child for child in both
                   if not is_direct(child["execution_path"], deployment) and self._has_waited(child)]  # fmt: skip
        if not orphans:
            return {}
        traces = sorted({child["trace_id"] for child in orphans})
        where = between(orphans[0]["requested_at"] - LONGEST_CALL, orphans[-1]["requested_at"] + CLOCKS_DIFFER)
        where &= ds.field("trace_id").isin(traces)
        columns = ["trace_id", "span_id", "requested_at", "duration_ms", "execution_path"]
        rows = self._tables.rows(columns, where, [deployment]).to_pylist()
        # The tables may have been opened before the rows of these calls were there.
        made = {span: TracedCall(span[0], at) for span, at in calls.items()}
        made |= {(row["trace_id"], row["span_id"]): TracedCall.of(row) for row in rows}
        return {span: orphans[number] for number, span in parents_of([TracedCall.of(child) for child in orphans], made)}

    def _has_waited(self, child: Mapping[str, Any]) -> bool:
        written, opened_at = child["ingested_at"], self._tables.opened_at
        return not self._wait or written is None or opened_at is None or written <= opened_at - self._wait

    def _orphans(self, index: _Index) -> pa.Table:
        """Return `_ORPHAN_COLUMNS` of the children that name a parent, but whose parent span no call has."""
        rows = index.rows.filter(pc.is_valid(index.rows["parent_deployment"]))
        window = between(index.since - LONGEST_CALL, index.until + CLOCKS_DIFFER)
        spans = ds.field("span_id").isin(pc.unique(rows["parent_span_id"]))
        logged = self._tables.rows(["trace_id", "span_id"], window & spans)
        is_logged = pc.is_in(_joined(rows, "parent_span_id"), _joined(logged, "span_id").combine_chunks())
        orphans = rows.filter(pc.invert(is_logged))
        events = ds.field("event_id").isin(orphans["event_id"].combine_chunks())
        return self._tables.rows(_ORPHAN_COLUMNS, window & events, pc.unique(orphans["deployment"]).to_pylist())

    def _children(self, day: date, since: datetime, until: datetime) -> _Index:
        index = self._indexes.pop(day, None)
        if index is None:
            index = self._indexed(_hour(since), _hour(until) + _HOUR)
        elif since < index.since or index.until < until:
            # A day that is asked for piece by piece is read whole, so that it is read twice at most.
            begin = datetime.combine(day, time(), UTC)
            index = self._indexed(begin - _HOUR, begin + timedelta(days=1) + 2 * _HOUR)
        self._indexes[day] = index
        # The days that were asked for last are at the end.
        while len(self._indexes) > 1 and sum(one.rows.num_rows for one in self._indexes.values()) > _MOST_ROWS:
            del self._indexes[next(iter(self._indexes))]
        return index

    def _indexed(self, since: datetime, until: datetime) -> _Index:
        return _Index(since, until, self._tables.children(since, until))


def _days_of(calls: Mapping[Span, datetime]) -> dict[date, dict[Span, datetime]]:
    """Calls by their day; without those of the first and the last day that a date can have, which have no neighbour."""
    by_day: dict[date, dict[Span, datetime]] = defaultdict(dict)
    for span, at in calls.items():
        if date.min < (day := at.astimezone(UTC).date()) < date.max:
            by_day[day][span] = at
    return by_day


def _hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _joined(rows: pa.Table, span: str) -> pa.ChunkedArray:
    """Trace and span of each row as one text."""
    return pc.binary_join_element_wise(rows["trace_id"], rows[span], "/")


def add_late_contexts(children: ChildContexts, deployment: str | None, rows: Sequence[dict[str, Any]]) -> None:
    """Put into rows of `parsed_logs` the contexts of child calls that the collector could not join with their parents.

    A day at a time. Of each row `contexts` and `contexts_origin` are replaced where the child's say more; `trace_id`,
    `span_id` and `requested_at` are read too.
    """
    for calls in _by_day(row for row in rows if row["contexts_origin"] in OUTRANKED_BY_CHILD):
        for span, contexts in children.of(_asked(calls), deployment).items():
            if usable_texts(contexts) is not None:
                calls[span] |= {"contexts": contexts, "contexts_origin": ContextsOrigin.CHILD_CALL}


def add_late_tool_calls(children: ChildContexts, deployment: str | None, rows: Sequence[dict[str, Any]]) -> None:
    """Put into rows the calls of tools of their turns in the same way, and whether these failed, where it is known.

    Of each row `tool_calls` and `tool_calls_origin` are replaced.
    """
    for calls in _by_day(row for row in rows if row["tool_calls_origin"] in CALLS_OUTRANKED_BY_CHILD):
        for span, turn in children.turns_of(_asked(calls), deployment).items():
            calls[span] |= {"tool_calls": turn, "tool_calls_origin": ToolCallsOrigin.CHILD_CALL}
    for calls in _by_day(row for row in rows if lacks_errors(row["tool_calls"])):
        for span, called in children.tools_of(_asked(calls)).items():
            calls[span]["tool_calls"] = with_errors(calls[span]["tool_calls"], called)


def _by_day(rows: Iterable[dict[str, Any]]) -> Iterable[dict[Span, dict[str, Any]]]:
    by_day: dict[date, dict[Span, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        if row["trace_id"] and row["span_id"]:
            by_day[row["requested_at"].date()][row["trace_id"], row["span_id"]] = row
    return by_day.values()


def _asked(calls: Mapping[Span, dict[str, Any]]) -> dict[Span, datetime]:
    return {span: row["requested_at"] for span, row in calls.items()}
