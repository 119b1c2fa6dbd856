"""Query of how long the tools of a deployment took: the median over its newest answers, by the lines of DIAL Core."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.answer_rows import CALLED_TOOLS, IS_ENTRY
from lake.queries.behind_interceptors import LONGEST_CALL
from lake.queries.call_tables import CallTablesOfDays
from lake.queries.child_contexts import ChildContexts
from lake.queries.latest_rows import each_once
from lake.spec.called_tools import rows_of_calls
from lake.spec.schemas import PARSED_LOGS
from lake.tables.day_reading import DayReader, RequestPeriod, within
from lake.tables.lake import Lake

MOST_ANSWERS = 200
"""The newest answers that called a tool: what is read follows them, not the traffic."""
_MOST_DAYS = 3
"""The newest days with answers that are looked into."""
_DAY = timedelta(days=1)
_PLACE = ("event_id", "date", "requested_at", "ingested_at", "trace_id", "span_id")
_ARGUMENTS = {"tool_calls": ("name", "arguments")}
"""Results, which may be long, are not read."""


@dataclass(frozen=True)
class ToolTime:
    """How long a tool took, and of how many calls that is the median."""

    median_ms: float
    calls: int


def tool_times(
    lake: Lake, deployment: str | None, since: datetime, until: datetime, callees: Sequence[str | None]
) -> Mapping[str, ToolTime]:
    """Return the time of each tool over the newest answers that were asked from `since` on and before `until`.

    A tool's line is looked for in the tables of `callees` and of the deployment; tools without one are left out.
    """
    first, last = since.astimezone(UTC).date(), until.astimezone(UTC).date() + _DAY
    logs = {name: DayReader(lake.table(PARSED_LOGS, name), first, last) for name in (deployment, *callees)}
    answers = _newest(logs[deployment], since, until)
    if not answers:
        return {}
    asked = [one["requested_at"] for one in answers]
    # An hour more on both sides: clocks differ.
    period = RequestPeriod(min(asked) - LONGEST_CALL, max(asked) + 2 * LONGEST_CALL)
    spans = {(one["trace_id"], one["span_id"]): one["requested_at"] for one in answers}
    called = ChildContexts(lake, tables=CallTablesOfDays(logs, period)).tools_of(spans)
    times: dict[str, list[int]] = defaultdict(list)
    for one in answers:
        calls = one["tool_calls"]
        for call, row in zip(
            calls, rows_of_calls(calls, called.get((one["trace_id"], one["span_id"]), ())), strict=True
        ):
            if row is not None and row.duration_ms is not None:
                times[call["name"]].append(row.duration_ms)
    return {tool: ToolTime(median(found), len(found)) for tool, found in times.items()}


def _newest(reader: DayReader, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Return the newest answers whose turn called a tool, with the names and arguments of the calls."""
    where = IS_ENTRY & within("requested_at", since, until)
    where &= ds.field("trace_id").is_valid() & ds.field("span_id").is_valid()
    found: list[dict[str, Any]] = []
    for day in reader.days()[:_MOST_DAYS]:
        rows = each_once(reader.read(_PLACE, where, [day], RequestPeriod(since, until), {"tool_calls": CALLED_TOOLS}))
        rows = rows.filter(pc.fill_null(pc.greater(pc.list_value_length(rows["tool_calls"]), 0), False))
        rows = rows.take(pc.select_k_unstable(rows, MOST_ANSWERS - len(found), [("requested_at", "descending")]))
        found += _with_arguments(reader, rows)
        if len(found) >= MOST_ANSWERS:
            break
    return found


def _with_arguments(reader: DayReader, answers: pa.Table) -> list[dict[str, Any]]:
    if not answers.num_rows:
        return []
    asked = pc.min_max(answers["requested_at"]).as_py()
    ids, days = answers["event_id"].to_pylist(), answers["date"].unique().to_pylist()
    period = RequestPeriod(asked["min"], asked["max"])
    columns = [*_PLACE, "tool_calls"]
    return list(each_once(reader.read_rows(["event_id"], ids, columns, days, period, _ARGUMENTS)).to_pylist())
