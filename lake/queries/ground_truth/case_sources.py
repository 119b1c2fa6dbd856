"""Answers that cases of ground truth were made of, also where several answers have the id that a case names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lake.queries.answer_rows import IS_ANSWER
from lake.spec.thoughts import without_thoughts
from lake.tables.table import Table
from runtime.identity import identity

_NAMES = ("response_id", "event_id")
"""Columns of `parsed_logs`, one of which `source_response_id` is."""
_PLACE = (*_NAMES, "date", "requested_at")
_LIKENESS = (*_PLACE, "chat_id", "user_id", "question", "standalone_question", "answer")

Row = Mapping[str, Any]


def case_id_of(deployment: str | None, event_id: str) -> str:
    """Return the id of the case that the evaluator makes of an answer."""
    return identity(deployment or "", event_id)


def source_rows(
    logs: Table, cases: Sequence[Row], columns: Iterable[str] = (), where: ds.Expression = IS_ANSWER
) -> dict[str, Row]:
    """Read by `case_id` what each case was made of: `event_id`, `date` and `columns` of that answer's row.

    Arguments are those of `possible_sources`. Where the answers that it gives are of several people or conversations it
    is not known whose the case is: it is absent, as where the answer is no longer in the log.
    """
    chosen = {}
    for case_id, rows in possible_sources(logs, cases, where).items():
        if len(rows) == 1 or len({(row["chat_id"], row["user_id"]) for row in rows}) == 1:
            chosen[case_id] = min(rows, key=lambda row: row["requested_at"])
    if not chosen:
        return {}
    days = pa.array({row["date"] for row in chosen.values()}, pa.date32())
    events = pa.array({row["event_id"] for row in chosen.values()}, pa.string())
    of_events = where & ds.field("date").isin(days) & ds.field("event_id").isin(events)
    rows = logs.read(sorted({"event_id", "date", *columns}), of_events).to_pylist()
    by_event = {row["event_id"]: row for row in rows}
    return {case: by_event[row["event_id"]] for case, row in chosen.items() if row["event_id"] in by_event}


def possible_sources(logs: Table, cases: Sequence[Row], where: ds.Expression = IS_ANSWER) -> dict[str, Sequence[Row]]:
    """Return by `case_id` the answers (`event_id`, `date`, `requested_at`) that each case can be made of.

    `cases` have `case_id`, `deployment`, `source_response_id`, `source_date`, `question` and `answer`; `where` says
    which rows may be meant. Of several answers with one id it is the one whose case has this `case_id`, else they are
    those of the case's day, with its answer and with its question. What none of them has, since the case was edited,
    says nothing.
    """
    days = {case["source_date"] for case in cases}
    in_days = where if None in days else where & ds.field("date").isin(pa.array(days, pa.date32()))
    by_name = _read(logs, _PLACE, in_days, {case["source_response_id"] for case in cases} - {None})
    found = {case["case_id"]: _nearest(case, by_name.get(case["source_response_id"], [])) for case in cases}
    shared = [case for case in cases if len(found[case["case_id"]]) > 1]
    if shared:
        events = {row["event_id"] for case in shared for row in found[case["case_id"]]}
        dates = pa.array({row["date"] for case in shared for row in found[case["case_id"]]}, pa.date32())
        by_name = _read(logs, _LIKENESS, where & ds.field("date").isin(dates), events)
        for case in shared:
            rows = [row for one in found[case["case_id"]] for row in by_name[one["event_id"]]]
            found[case["case_id"]] = _most_like(case, rows)
    return {case_id: rows for case_id, rows in found.items() if rows}


def _read(logs: Table, columns: Iterable[str], where: ds.Expression, names: Iterable[str]) -> dict[str, list[Row]]:
    """Read rows by each name that a case may have of them."""
    wanted = pa.array(sorted(names), pa.string())
    named = where & (ds.field("response_id").isin(wanted) | ds.field("event_id").isin(wanted))
    found: dict[str, list[Row]] = defaultdict(list)
    for row in logs.read(list(columns), named).to_pylist() if len(wanted) else ():
        for name in {row[column] for column in _NAMES} - {None}:
            found[name].append(row)
    return found


def _nearest(case: Row, rows: Sequence[Row]) -> Sequence[Row]:
    """Return the row that a case names or that it was made of by its id, else those of its day."""
    own = [row for row in rows if row["event_id"] == case["source_response_id"] or _is_made_of(case, row)]
    return own or [row for row in rows if row["date"] == case["source_date"]] or rows


def _is_made_of(case: Row, row: Row) -> bool:
    return bool(case["case_id"] == case_id_of(case["deployment"], row["event_id"]))


def _most_like(case: Row, rows: Sequence[Row]) -> Sequence[Row]:
    narrowings: tuple[Callable[[Row], bool], ...] = (
        lambda row: case["answer"] in (row["answer"], without_thoughts(row["answer"] or "")),
        lambda row: case["question"] in (row["question"], row["standalone_question"]),
    )
    for is_like in narrowings:
        rows = [row for row in rows if is_like(row)] or rows
    return rows
