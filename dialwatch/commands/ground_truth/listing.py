"""The commands `dialwatch ground-truth list` and `show`: cases as a list, and one with all that is known of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.console import print_list
from dialwatch.commands.ground_truth.cases import (
    FoundCase,
    IdArgument,
    JsonOption,
    StatusOption,
    all_cases,
    cases_named,
    short,
)
from dialwatch.commands.options import ConfigOption, LakeOption, OnlyDeploymentOption, open_filled, settings_of
from dialwatch.errors import ConfigError
from dialwatch.reports.terminal_text import in_one_line
from dialwatch.times import format_time
from lake.spec.case_vocabulary import CaseStatus

if TYPE_CHECKING:
    from dialwatch.reports.case_report import CaseDetails
    from lake.queries.ground_truth.alike_cases import AlikeCases
    from lake.tables.lake import Lake

_HEAD = ("id", "deployment", "status", "facts", "confidence", "by", "when", "alike", "question")
_LEAST_QUESTION = 30
_MOST_QUESTION = 120


def list_(
    deployment: OnlyDeploymentOption = None,
    status: StatusOption = None,
    as_json: JsonOption = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """List the cases, the newest first, with those that ask the same and those that contradict each other."""
    opened = open_filled(settings_of(config, lake))
    from lake.queries.ground_truth.alike_cases import AlikeCases
    from runtime.json_values import json_values

    cases = list(all_cases(opened, deployment))
    alike = _alike(cases)
    wanted = [one for one in cases if not status or one.case["status"] in status]
    wanted.sort(key=lambda one: (_since(one.case), one.case_id), reverse=True)
    wanted.sort(key=lambda one: one.deployment)
    if as_json:
        # In ASCII: no character of a text reaches the terminal as it is.
        rows = [_row_of(one, alike.get((one.deployment, one.case_id), AlikeCases())) for one in wanted]
        typer.echo(json.dumps(json_values(rows), indent=2, ensure_ascii=True))
        return
    if not wanted:
        typer.echo("there is no such case" if cases else "there is no case of ground truth")
        return
    _print([_cells(one, alike.get((one.deployment, one.case_id), AlikeCases())) for one in wanted])
    counts = Counter(one.case["status"] for one in wanted)
    typer.echo(", ".join(f"{counts[name]:,} {name}" for name in CaseStatus if counts[name]))


def _alike(cases: Sequence[FoundCase]) -> Mapping[tuple[str, str], AlikeCases]:
    from lake.queries.ground_truth.alike_cases import alike_cases

    names = {one.deployment for one in cases}
    of_each = {name: alike_cases(one.case for one in cases if one.deployment == name) for name in names}
    return {(name, case_id): alike for name, some in of_each.items() for case_id, alike in some.items()}


def _print(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows whose last cell, the question, is cut to what the others leave of the terminal."""
    from rich.console import Console

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


def _row_of(one: FoundCase, alike: AlikeCases) -> dict[str, Any]:
    same = {"duplicates": alike.duplicates, "contradicts": alike.contradicting}
    return one.case | {"deployment": one.deployment} | same


def show(
    written_id: IdArgument,
    deployment: OnlyDeploymentOption = None,
    version: Annotated[int | None, typer.Option(min=1, help="Its version; the newest by default.")] = None,
    as_json: JsonOption = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Print a case: its texts, its facts marked in their contexts, why it is a case, and its history."""
    opened = open_filled(settings_of(config, lake))
    from dialwatch.reports.case_report import format_case

    (found,) = cases_named(opened, [written_id], deployment)
    details = _details(opened, found)
    if version is not None:
        of_version = [case for case in details.history if case["version"] == version]
        if not of_version:
            newest = details.history[0]["version"]
            raise ConfigError(f"{found.name} has no version {version}: it has 1 to {newest}")
        details = replace(details, case=of_version[0])
    typer.echo(_as_json(details) if as_json else format_case(details))


def _details(lake: Lake, found: FoundCase) -> CaseDetails:
    from dialwatch.reports.case_report import CaseDetails
    from lake.queries.answer_details import read_answer_signals
    from lake.queries.answer_lookup import locate_source
    from lake.queries.ground_truth.alike_cases import AlikeCases, alike_cases
    from lake.queries.ground_truth.case_versions import cases_in, history_in
    from lake.spec.case_tables import GROUND_TRUTH

    rows = lake.table(GROUND_TRUTH, found.deployment).read()
    history = tuple(history_in(rows, found.case_id))
    if not history:
        raise ConfigError(f"{found.name} was removed a moment ago")
    alike = alike_cases(cases_in(rows)).get(found.case_id, AlikeCases())
    source = locate_source(lake, found.deployment, history[0])
    if source is None:
        return CaseDetails(found.deployment, history[0], history, alike, None, ())
    signals = read_answer_signals(lake, found.deployment, source.date, source.event_id)
    return CaseDetails(found.deployment, history[0], history, alike, source.event_id, signals)


def _as_json(details: CaseDetails) -> str:
    from runtime.json_values import json_values

    members: dict[str, Any] = {
        "deployment": details.deployment,
        "case": details.case,
        "history": details.history,
        "alike": details.alike,
        "source_event_id": details.source_event_id,
        "signals": details.signals,
    }
    # In ASCII: no character of a text reaches the terminal as it is.
    return json.dumps(json_values(members), indent=2, ensure_ascii=True)
