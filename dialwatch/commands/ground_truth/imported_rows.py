"""Rows of a file of cases: checked, and made into new cases or into what changes in cases that the lake has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from dialwatch.commands.ground_truth.case_content import (
    CALLS,
    CONTENT,
    LISTS,
    TEXTS,
    changes_of,
    is_utf8,
    problems_of,
    written,
    wrong_calls,
)
from dialwatch.commands.ground_truth.case_files import FileRow
from dialwatch.reports.fact_places import found_places
from evaluator.metrics import CITATION
from lake.queries.ground_truth.case_versions import next_version
from lake.queries.ground_truth.cases import citations_of, statements_of
from lake.spec.case_vocabulary import CaseStatus
from lake.spec.tool_calls import call_line, call_of_line
from runtime.identity import identity

_EXTRACTOR = "import"
"""`ground_truth.extractor` of what a file gave."""

_LABEL = "is_answerable_label"
_BESIDE = ("conversation_hash", "source_response_id", "confidence", _LABEL)
"""Columns beside the content that a file may give."""

Case = Mapping[str, Any]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Import:
    """Whose cases a file gives, who gives them, and when; with `accept` their answers are right."""

    deployment: str
    who: str
    now: datetime
    accept: bool


@dataclass
class ImportOutcome:
    """What became of the rows of a file."""

    new: list[Case] = field(default_factory=list)
    changed: list[Case] = field(default_factory=list)
    unchanged: int = 0
    problems: list[str] = field(default_factory=list)
    taken: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By the id of a case: the row that gave it, and what that says."""


def take(rows: Iterable[FileRow], cases: Mapping[str, Case], about: Import) -> ImportOutcome:
    """Return what rows make of the cases that the lake has, by their ids."""
    outcome = ImportOutcome()
    for row in map(_with_call_lines, rows):
        _take(row, cases, about, outcome)
    return outcome


def _with_call_lines(row: FileRow) -> FileRow:
    """The row with each call of a tool as a line; an export has them as objects."""
    calls = row.values.get(CALLS)
    if not isinstance(calls, list):
        return row
    return replace(row, values={**row.values, CALLS: [_line(call) for call in calls]})


def _line(call: Any) -> Any:
    is_call = isinstance(call, dict) and all(isinstance(call.get(one, ""), str | None) for one in ("name", "arguments"))
    return call_line({"name": call.get("name"), "arguments": call.get("arguments")}) if is_call else call


def _take(row: FileRow, cases: Mapping[str, Case], about: Import, outcome: ImportOutcome) -> None:
    """Add to the outcome what a row makes."""
    problems = [row.problem] if row.problem else list(_wrong_values(row.values))
    if problems:
        outcome.problems += [f"{row.name}: {problem}" for problem in problems]
        return
    # A row without these says what it said before they had a column.
    absent = {name for name in (CALLS, _LABEL) if row.values.get(name) is None}
    names = (name for name in (*CONTENT, *_BESIDE) if name not in absent)
    said = json.dumps([row.values.get(name) for name in names])
    case_id = _id_of(row.values, said, cases, about.deployment, outcome)
    other, said_there = outcome.taken.setdefault(case_id, (row.name, said))
    if other != row.name and said_there == said:
        outcome.unchanged += 1
    elif other != row.name:
        outcome.problems.append(f"{row.name}: it is the same case as {other}: leave one of them out")
    else:
        _take_case(row, case_id, cases.get(case_id), about, outcome)


def _take_case(row: FileRow, case_id: str, case: Case | None, about: Import, outcome: ImportOutcome) -> None:
    columns = _new_columns(row.values) if case is None else _changed_columns(case, row.values)
    if case is not None and about.accept and case["status"] != CaseStatus.ACCEPTED:
        columns["status"] = CaseStatus.ACCEPTED
    if not columns:
        outcome.unchanged += 1
        return
    merged = {**(case or {}), **columns}
    note = {"note": row.values.get("note")}
    if problems := problems_of(written(merged)):
        outcome.problems += [f"{row.name}: {problem}" for problem in problems]
    elif case is None:
        outcome.new.append(_made(case_id, about) | merged | note)
    else:
        outcome.changed.append(next_version(case, columns | note, about.who, about.now))


def _id_of(values: Values, said: str, cases: Mapping[str, Case], deployment: str, outcome: ImportOutcome) -> str:
    """Return the id that a row names, if the lake has it, else one of that name, its question and its documents.

    A second row with the same ones gets one of all that it says.
    """
    named = values.get("case_id") or ""
    if named in cases:
        return str(named)
    asked = (named, values.get("conversation_hash") or "", values.get("question") or "")
    first = identity(deployment, _EXTRACTOR, *asked, *sorted(set(values.get("documents") or ())))
    is_other = first in outcome.taken and outcome.taken[first][1] != said
    return identity(first, said) if is_other else first


def _made(case_id: str, about: Import) -> dict[str, Any]:
    status = CaseStatus.ACCEPTED if about.accept else CaseStatus.PROPOSED
    by = {"status": status, "status_by": about.who, "status_at": about.now, "updated_by": about.who}
    at = {"created_at": about.now, "updated_at": about.now}
    return {"case_id": case_id, "deployment": about.deployment, "version": 1, "extractor": _EXTRACTOR} | by | at


def _wrong_values(values: Values) -> Iterator[str]:
    """Say which values of a row are of another kind than the column; what is not given is right."""
    for name in (*TEXTS, "case_id", "conversation_hash", "source_response_id", "note"):
        if problem := _no_text(values.get(name)):
            yield f"{name} {problem}"
    for name in (*LISTS, "context_ids"):
        items = values.get(name)
        if items is not None and not isinstance(items, list):
            yield f"{name} must be a list of texts, and not {items!r:.60}"
            continue
        for place, item in enumerate(items or (), 1):
            if problem := _no_text(item, may_be_null=name == "context_ids"):
                yield f"{name}, no. {place}: it {problem}"
    if isinstance(values.get(CALLS), list) and all(isinstance(line, str) for line in values[CALLS]):
        yield from wrong_calls(values[CALLS])
    confidence = values.get("confidence")
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if confidence is not None and not (is_number and 0 <= confidence <= 1):
        yield f"confidence must be a number from 0 to 1, and not {confidence!r:.60}"
    if not isinstance(values.get(_LABEL), bool | None):
        yield f"{_LABEL} must be true or false, and not {values[_LABEL]!r:.60}"
    if isinstance(values.get("context_ids"), list) and len(values["context_ids"]) != len(values.get("context") or ()):
        yield "context_ids must have an id, or null, for each chunk of context"
    citations = values.get("citations")
    if citations is not None and not (isinstance(citations, list) and all(_is_citation(one) for one in citations)):
        yield "citations must be a list of objects with a statement each; leave them out if there are none"


def _new_columns(values: Values) -> dict[str, Any]:
    """Return content of a new case."""
    columns: dict[str, Any] = {name: values.get(name) for name in (*TEXTS, *_BESIDE, "context_ids")}
    columns |= {name: values.get(name) or [] for name in LISTS}
    calls = values.get(CALLS)
    columns[CALLS] = None if calls is None else [call_of_line(line) for line in calls]
    given = {"facts": values.get("facts"), "citations": values.get("citations")}
    return columns | {
        "citations": citations_of(columns["facts"], columns["context"], statements_of(given), found_places)
    }


def _changed_columns(case: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """Return the columns of a case that a row changes; what the row does not give stays as it is."""
    content = {name: values[name] for name in CONTENT if values.get(name) is not None}
    if content.get("facts") == [fact for fact in case["facts"] or () if CITATION.is_usable(fact)]:
        # An export for aidial-rag-eval has no others.
        del content["facts"]
    columns = changes_of(case, content)
    if columns:
        columns["extractor"] = _EXTRACTOR
    columns |= {name: values[name] for name in _BESIDE if values.get(name) not in (None, case[name])}
    if values.get("context_ids") not in (None, columns.get("context_ids", case["context_ids"])):
        columns["context_ids"] = values["context_ids"]
    if values.get("citations") is not None:
        new = {**case, **columns}
        statements = statements_of({"facts": new["facts"], "citations": values["citations"]})
        if statements != statements_of(new):
            columns["citations"] = citations_of(new["facts"] or [], new["context"] or [], statements, found_places)
    return columns


def _no_text(value: object, may_be_null: bool = True) -> str | None:
    if value is None and may_be_null:
        return None
    if not isinstance(value, str):
        return f"must be a text, and not {value!r:.60}"
    return None if is_utf8(value) else "is not UTF-8: write it again"


def _is_citation(value: object) -> bool:
    return isinstance(value, dict) and _no_text(value.get("statement")) is None
