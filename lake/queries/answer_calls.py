"""Calls behind an answer: who called whom within its trace, in the order in which an indented list shows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from lake.queries.behind_interceptors import LONGEST_CALL, TracedCall, is_direct, parents_of
from lake.queries.latest_rows import each_once
from lake.tables.day_reading import DayReader, RequestPeriod
from runtime.clocks import moved

MOST_CALLS = 500
"""The most calls that are given of one answer: an agent may make thousands."""

_TABLES_AT_ONCE = 8
_COLUMNS = (
    "event_id", "date", "requested_at", "ingested_at", "kind", "status", "error", "duration_ms", "model",
    "prompt_tokens", "completion_tokens", "deployment_price", "price", "trace_id", "span_id", "parent_span_id",
    "parent_deployment", "execution_path", "is_entry",
)  # fmt: skip
_SHOWN = (
    "event_id", "date", "requested_at", "kind", "status", "error", "duration_ms", "model", "prompt_tokens",
    "completion_tokens", "deployment_price", "price",
)  # fmt: skip


@dataclass(frozen=True)
class AnswerCall:
    """A call of the trace; `depth` counts the calls that it is within.

    `has_known_caller` is False where Core did not log who made the call: it is of the trace, and stands at the end with
    depth 1. `is_shown` marks the call whose answer was asked for. `deployment` is the table that the row is in.
    """

    deployment: str | None
    date: date
    event_id: str
    requested_at: datetime
    depth: int
    has_known_caller: bool
    is_shown: bool
    kind: str | None
    status: int | None
    error: str | None
    duration_ms: int | None
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    deployment_price: float | None
    price: float | None


def trace_rows(row: Mapping[str, Any], logs: Mapping[str | None, DayReader]) -> list[dict[str, Any]]:
    """Read the calls of the row's trace up to an hour before and after it from `parsed_logs` of some deployments.

    Each has the deployment of its table as `deployment`. Nothing is read where tracing was off.
    """
    if not row["trace_id"]:
        return []
    since, until = moved(row["requested_at"], -LONGEST_CALL), moved(row["requested_at"], LONGEST_CALL)
    days, period = {since.date(), row["date"], until.date()}, RequestPeriod(since, until)
    found: dict[tuple[str | None, str], dict[str, Any]] = {}

    def read(reader: DayReader) -> list[dict[str, Any]]:
        rows = each_once(reader.read_rows(["trace_id"], [row["trace_id"]], _COLUMNS, days, period))
        return list(rows.to_pylist())

    with ThreadPoolExecutor(min(len(logs), _TABLES_AT_ONCE)) as pool:
        for deployment, rows in zip(logs, pool.map(read, logs.values()), strict=True):
            for one in rows:
                if since <= one["requested_at"] <= until:
                    found[deployment, one["event_id"]] = one | {"deployment": deployment}
    return sorted(found.values(), key=lambda one: (one["requested_at"], one["event_id"]))


def answer_calls(shown: Mapping[str, Any], rows: Sequence[dict[str, Any]]) -> list[AnswerCall]:
    """Put the calls of a trace (`trace_rows`) in order: each after the one that made it, children by their time.

    The list begins with the call that nobody within the trace made and that `shown` is within: mostly `shown` itself.
    Other answers that a person asked for within the same trace are left out, with all that they called.
    """
    shown_number = next((number for number, row in enumerate(rows) if _is_same(row, shown)), None)
    if shown_number is None:
        return []
    made_by = _callers(rows)
    root = _root(shown_number, made_by)
    found = [_call(rows[number], depth, number == shown_number) for number, depth in _tree(root, made_by)]
    unknown = [row for number, row in enumerate(rows) if number not in made_by and number != root]
    return [*found, *(_call(row, 1, is_shown=False, caller=False) for row in unknown if not row["is_entry"])]


def _tree(root: int, made_by: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the number and depth of the root and of each call below it, children in the order of their numbers."""
    children: dict[int, list[int]] = defaultdict(list)
    for child in sorted(made_by):
        children[made_by[child]].append(child)
    left, seen = [(root, 0)], set()
    while left:
        number, depth = left.pop()
        if number not in seen:
            seen.add(number)
            yield number, depth
            left += [(child, depth + 1) for child in reversed(children[number])]


def _callers(rows: Sequence[dict[str, Any]]) -> dict[int, int]:
    """Return the number of the call that made each, of those where the log says it or only one can have."""
    by_span = {row["span_id"]: number for number, row in reversed(list(enumerate(rows))) if row["span_id"]}
    found = {}
    behind: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        caller = by_span.get(row["parent_span_id"])
        if caller is not None and caller != number:
            found[number] = caller
        elif row["parent_deployment"] and not is_direct(row["execution_path"], row["parent_deployment"]):
            behind[row["parent_deployment"]].append(number)
    for deployment, numbers in behind.items():
        calls = {n: TracedCall.of(row) for n, row in enumerate(rows) if row["deployment"] == deployment}
        for place, caller in parents_of([TracedCall.of(rows[number]) for number in numbers], calls):
            if caller != numbers[place]:
                found[numbers[place]] = caller
    return found


def _root(number: int, made_by: Mapping[int, int]) -> int:
    seen = {number}
    while number in made_by and made_by[number] not in seen:
        number = made_by[number]
        seen.add(number)
    return number


def _is_same(row: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    return bool(row["event_id"] == shown["event_id"] and row["deployment"] == shown["deployment"])


def _call(row: Mapping[str, Any], depth: int, is_shown: bool, caller: bool = True) -> AnswerCall:
    shown = {name: row[name] for name in _SHOWN}
    return AnswerCall(deployment=row["deployment"], depth=depth, is_shown=is_shown, has_known_caller=caller, **shown)
