"""Cases of ground truth as a list."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.console import Console

from dialwatch.actions.console import print_list
from dialwatch.actions.ground_truth.finding import FoundCase, all_cases, short
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.reports.terminal_text import in_one_line
from dialwatch.times import format_time
from lake.queries.alike_cases import AlikeCases, alike_cases
from lake.queries.json_values import json_values
from lake.spec.case_vocabulary import CaseStatus

_HEAD = ("id", "deployment", "status", "facts", "confidence", "by", "when", "alike", "question")
_LEAST_QUESTION = 30
_MOST_QUESTION = 120


def show(settings: Settings, deployment: str | None, status: Sequence[CaseStatus], *, as_json: bool) -> None:
    """Print the cases of these statuses, all where there is none, the newest first."""
    cases = list(all_cases(open_filled(settings), deployment))
    alike = _alike(cases)
    wanted = [one for one in cases if not status or one.case["status"] in status]
    wanted.sort(key=lambda one: (_since(one.case), one.case_id), reverse=True)
    wanted.sort(key=lambda one: one.deployment)
    if as_json:
        # In ASCII: no character of a text reaches the terminal as it is.
        rows = [_as_json(one, alike.get((one.deployment, one.case_id), AlikeCases())) for one in wanted]
        typer.echo(json.dumps(json_values(rows), indent=2, ensure_ascii=True))
        return
    if not wanted:
        typer.echo("there is no such case" if cases else "there is no case of ground truth")
        return
    _print([_cells(one, alike.get((one.deployment, one.case_id), AlikeCases())) for one in wanted])
    counts = Counter(one.case["status"] for one in wanted)
    typer.echo(", ".join(f"{counts[name]:,} {name}" for name in CaseStatus if counts[name]))


def _alike(cases: Sequence[FoundCase]) -> Mapping[tuple[str, str], AlikeCases]:
    names = {one.deployment for one in cases}
    of_each = {name: alike_cases(one.case for one in cases if one.deployment == name) for name in names}
    return {(name, case_id): alike for name, some in of_each.items() for case_id, alike in some.items()}


def _print(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows whose last cell, the question, is cut to what the others leave of the terminal."""
    console = Console()
    taken = sum(max(map(len, column)) + 3 for column in list(zip(_HEAD, *rows, strict=True))[:-1])
    most = max(console.width - taken - 4, _LEAST_QUESTION) if console.is_terminal else _MOST_QUESTION
    print_list(_HEAD, [(*cells[:-1], in_one_line(cells[-1], most)) for cells in rows])


def _cells(one: FoundCase, alike: AlikeCases) -> tuple[str, ...]:
    case, at = one.case, _since(one.case)
    return (
        short(one.case_id),
        in_one_line(one.deployment),
        in_one_line(case["status"] or ""),
        str(len(case["facts"] or ())),
        "" if case["confidence"] is None else f"{case['confidence']:.2f}",
        in_one_line(case["status_by"] or case["updated_by"] or ""),
        at and format_time(case["status_at"] or case["updated_at"]),
        ", ".join(_words("contradicts", alike.contradicting) + _words("same as", alike.duplicates)),
        case["question"] or "",
    )


def _words(what: str, ids: Sequence[str]) -> list[str]:
    if not ids:
        return []
    more = f" +{len(ids) - 1}" if len(ids) > 1 else ""
    return [f"{what} {short(ids[0])}{more}"]


def _since(case: Mapping[str, Any]) -> str:
    at = case["status_at"] or case["updated_at"]
    return "" if at is None else str(at)


def _as_json(one: FoundCase, alike: AlikeCases) -> dict[str, Any]:
    same = {"duplicates": alike.duplicates, "contradicts": alike.contradicting}
    return one.case | {"deployment": one.deployment} | same
