"""Changes of one case by a person, in an editor or by options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import typer

from dialwatch.actions.ground_truth.case_content import CONTENT, LISTS, changes_of, problems_of
from dialwatch.actions.ground_truth.case_yaml import NOTE, CaseYamlError, content_of, edited, yaml_of
from dialwatch.actions.ground_truth.finding import FoundCase, cases_named
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.reports.terminal_text import visible
from lake.queries.case_versions import CaseChangedError, change_case
from lake.spec.case_vocabulary import CaseStatus
from lake.tables.lake import Lake


def edit(
    settings: Settings,
    written_id: str,
    deployment: str | None,
    given: Mapping[str, str],
    note: str | None,
    who: str,
    now: datetime,
    *,
    accept: bool,
) -> None:
    """Write a new version of a case with what is `given`, or with what a person writes in an editor.

    Raises BadParameter for what cannot be used. Ends with exit code 1 where the person gives up, and where somebody
    else has changed the case meanwhile.
    """
    lake = open_filled(settings)
    (found,) = cases_named(lake, [written_id], deployment)
    content = _checked(found, given) if given else _in_editor(found)
    note = content.pop(NOTE, None) or note
    columns = changes_of(found.case, content)
    if accept and found.case["status"] != CaseStatus.ACCEPTED:
        columns["status"] = CaseStatus.ACCEPTED
    if not columns:
        typer.echo(f"nothing is changed in {found.name}")
        return
    _save(lake, found, columns | {"note": note}, who, now)


def _save(lake: Lake, found: FoundCase, columns: Mapping[str, Any], who: str, now: datetime) -> None:
    try:
        made = change_case(lake, found.deployment, found.case_id, columns, who, now, of_version=found.case["version"])
    except CaseChangedError as error:
        typer.echo(f"nothing is changed: {visible(str(error))}; edit it again", err=True)
        raise typer.Exit(1) from None
    if made is None:
        typer.echo(f"nothing is changed: {found.name} was removed meanwhile", err=True)
        raise typer.Exit(1)
    names = [name for name in (*CONTENT, "status") if name in columns]
    typer.echo(f"{found.name} is version {made['version']}: {', '.join(names)} changed, {made['status']}")
    if columns.get("conversation_hash", "") is None:
        typer.echo("its question stands by itself now: answers in other conversations are compared with it")


def _checked(found: FoundCase, given: Mapping[str, str]) -> dict[str, Any]:
    content = {name: _value(name, text) for name, text in given.items()}
    problems = problems_of({**found.case, **content})
    if problems:
        raise typer.BadParameter(visible("; ".join(problems)), param_hint="--set")
    return content


def _value(name: str, text: str) -> Any:
    if name not in CONTENT:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(CONTENT)}", param_hint="--set")
    if name not in LISTS:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise typer.BadParameter(f'{name} must be a list as JSON, such as ["a", "b"]', param_hint="--set")
    return value


def _in_editor(found: FoundCase) -> dict[str, Any]:
    """Give what a person leaves in the editor; it is asked again as long as something is wrong with it."""
    text = before = yaml_of(found.case)
    problems: list[str] = []
    title = f"{found.name}, version {found.case['version']}, {found.case['status']}"
    while True:
        text = edited(text, title, problems)
        if text == before:
            return {}
        try:
            content = content_of(text)
            problems = problems_of({**found.case, **content})
        except CaseYamlError as error:
            problems = str(error).split("\n")
        if not problems:
            return content
        for problem in problems:
            typer.echo(visible(problem), err=True)
        if not typer.confirm("Edit it again?", default=True, err=True):
            typer.echo("nothing is changed", err=True)
            raise typer.Exit(1)
