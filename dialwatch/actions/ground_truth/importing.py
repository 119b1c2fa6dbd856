"""Import of cases: new ones, and new versions of those that the lake has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import typer

from dialwatch.actions.ground_truth.case_content import CONTENT, problems_of
from dialwatch.actions.ground_truth.case_files import FileRow, rows_of
from dialwatch.actions.ground_truth.file_formats import CaseFormat, format_of
from dialwatch.actions.ground_truth.imported_values import (
    BESIDE,
    EXTRACTOR,
    Values,
    changed_columns,
    new_columns,
    wrong_values,
)
from dialwatch.config import Settings
from dialwatch.reports.terminal_text import in_one_line
from lake.queries.case_versions import next_version, write_cases
from lake.queries.identity import identity
from lake.spec.case_vocabulary import CaseStatus

_MOST_PROBLEMS = 50
_SHOWN = 500

Case = Mapping[str, Any]


@dataclass(frozen=True)
class _Import:
    """Whose cases a file gives, who gives them, and when; with `accept` their answers are right."""

    deployment: str
    who: str
    now: datetime
    accept: bool


@dataclass
class _Outcome:
    """What became of the rows of a file."""

    new: list[Case] = field(default_factory=list)
    changed: list[Case] = field(default_factory=list)
    unchanged: int = 0
    problems: list[str] = field(default_factory=list)
    taken: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By the id of a case: the row that gave it, and what that says."""


def import_cases(
    settings: Settings,
    deployment: str,
    path: str,
    given: CaseFormat | None,
    who: str,
    now: datetime,
    *,
    accept: bool,
) -> None:
    """Write the cases of a file that are new or say something new, in one commit, and say what became of its rows.

    Raises ConfigError for a file that cannot be read at all. Ends with exit code 1 where a row was left out.
    """
    case_format = format_of(path, given)
    lake = settings.lake.open()
    filesystem, at = settings.lake.storage.storage().filesystem(path)
    rows = rows_of(path, case_format, filesystem.cat_file(at))
    if deployment not in lake.deployments():
        name = in_one_line(deployment)
        typer.echo(f"note: the lake {lake.root} has no rows of {name} yet: are these the right names?", err=True)
    outcome, about = _Outcome(), _Import(deployment, who, now, accept)

    def make(cases: Mapping[str, Case]) -> Sequence[dict[str, Any]]:
        nonlocal outcome
        outcome = _Outcome()
        for row in rows:
            _take(row, cases, about, outcome)
        return [dict(case) for case in (*outcome.new, *outcome.changed)]

    write_cases(lake, deployment, make)
    _print(outcome)
    if outcome.problems:
        raise typer.Exit(1)


def _take(row: FileRow, cases: Mapping[str, Case], about: _Import, outcome: _Outcome) -> None:
    """Add to the outcome what a row makes."""
    problems = [row.problem] if row.problem else list(wrong_values(row.values))
    if problems:
        outcome.problems += [f"{row.name}: {problem}" for problem in problems]
        return
    said = json.dumps([row.values.get(name) for name in (*CONTENT, *BESIDE)])
    case_id = _id_of(row.values, said, cases, about.deployment, outcome)
    other, said_there = outcome.taken.setdefault(case_id, (row.name, said))
    if other != row.name and said_there == said:
        outcome.unchanged += 1
    elif other != row.name:
        outcome.problems.append(f"{row.name}: it is the same case as {other}: leave one of them out")
    else:
        _take_case(row, case_id, cases.get(case_id), about, outcome)


def _take_case(row: FileRow, case_id: str, case: Case | None, about: _Import, outcome: _Outcome) -> None:
    columns = new_columns(row.values) if case is None else changed_columns(case, row.values)
    if case is not None and about.accept and case["status"] != CaseStatus.ACCEPTED:
        columns["status"] = CaseStatus.ACCEPTED
    if not columns:
        outcome.unchanged += 1
        return
    merged = {**(case or {}), **columns}
    note = {"note": row.values.get("note")}
    if problems := problems_of(merged):
        outcome.problems += [f"{row.name}: {problem}" for problem in problems]
    elif case is None:
        outcome.new.append(_made(case_id, about) | merged | note)
    else:
        outcome.changed.append(next_version(case, columns | note, about.who, about.now))


def _id_of(values: Values, said: str, cases: Mapping[str, Case], deployment: str, outcome: _Outcome) -> str:
    """Give the id that a row names, if the lake has it, else one of that name, its question and its documents.

    A second row with the same ones gets one of all that it says.
    """
    named = values.get("case_id") or ""
    if named in cases:
        return str(named)
    asked = (named, values.get("conversation_hash") or "", values.get("question") or "")
    first = identity(deployment, EXTRACTOR, *asked, *sorted(set(values.get("documents") or ())))
    is_other = first in outcome.taken and outcome.taken[first][1] != said
    return identity(first, said) if is_other else first


def _made(case_id: str, about: _Import) -> dict[str, Any]:
    status = CaseStatus.ACCEPTED if about.accept else CaseStatus.PROPOSED
    by = {"status": status, "status_by": about.who, "status_at": about.now, "updated_by": about.who}
    at = {"created_at": about.now, "updated_at": about.now}
    return {"case_id": case_id, "deployment": about.deployment, "version": 1, "extractor": EXTRACTOR} | by | at


def _print(outcome: _Outcome) -> None:
    for problem in outcome.problems[:_MOST_PROBLEMS]:
        typer.echo(in_one_line(problem, _SHOWN), err=True)
    if more := len(outcome.problems[_MOST_PROBLEMS:]):
        typer.echo(f"... and {more:,} more problems", err=True)
    refused = len({problem.partition(":")[0] for problem in outcome.problems})
    counts = f"{len(outcome.new):,} new, {len(outcome.changed):,} changed, {outcome.unchanged:,} as they were"
    typer.echo(counts + (f"; {refused:,} rows not imported" if refused else ""))
