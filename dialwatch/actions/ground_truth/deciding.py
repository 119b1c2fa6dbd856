"""People's decisions on cases: accepted or rejected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import typer

from dialwatch.actions.ground_truth.finding import FoundCase, cases_named
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.reports.terminal_text import in_one_line
from lake.queries.case_versions import CaseChangedError, change_cases
from lake.spec.case_vocabulary import CaseStatus
from lake.tables.lake import Lake

Columns = Mapping[str, str]


def decide(
    settings: Settings,
    written_ids: Sequence[str],
    deployment: str | None,
    status: CaseStatus,
    note: str | None,
    who: str,
    now: datetime,
) -> None:
    """Give cases a status, in one commit a deployment; raises BadParameter, and changes nothing, where an id is wrong.

    Ends with exit code 1 where somebody else changed one of them meanwhile, which is left as it is.
    """
    lake = open_filled(settings)
    by_deployment: dict[str, list[FoundCase]] = defaultdict(list)
    for one in cases_named(lake, written_ids, deployment):
        by_deployment[one.deployment].append(one)
    columns: Columns = {"status": status} | ({"note": note} if note else {})
    overtaken = [lost for name, some in by_deployment.items() for lost in _decide(lake, name, some, columns, who, now)]
    for problem in overtaken:
        typer.echo(f"not {status}: {problem}", err=True)
    if overtaken:
        raise typer.Exit(1)


def _decide(
    lake: Lake, deployment: str, some: Iterable[FoundCase], columns: Columns, who: str, now: datetime
) -> list[CaseChangedError]:
    """Decide on cases of one deployment, and give those that others changed first."""
    shown = {one.case_id: one for one in some}
    overtaken: dict[str, CaseChangedError] = {}

    def change(cases: Mapping[str, Mapping[str, object]]) -> Mapping[str, Columns]:
        overtaken.clear()
        overtaken.update({one.case_id: lost for one in shown.values() if (lost := changed_since(one, cases))})
        return {
            case_id: columns
            for case_id, one in shown.items()
            if case_id not in overtaken and (one.case["status"] != columns["status"] or "note" in columns)
        }

    changed = {case["case_id"] for case in change_cases(lake, deployment, change, who, now)}
    for case_id, one in shown.items():
        if case_id not in overtaken:
            word = columns["status"] if case_id in changed else f"was {columns['status']} already"
            typer.echo(f"{word}: {one.name}: {in_one_line(one.case['question'] or '', 80)}")
    return list(overtaken.values())


def changed_since(shown: FoundCase, cases: Mapping[str, Mapping[str, object]]) -> CaseChangedError | None:
    """Say who changed a case since it was read; None where nobody did."""
    now = cases.get(shown.case_id)
    if now is None:
        return CaseChangedError(f"{shown.name} was removed meanwhile")
    if now["version"] == shown.case["version"]:
        return None
    by = in_one_line(str(now["updated_by"]))
    return CaseChangedError(f"{shown.name} was changed by {by} meanwhile: look at it, and decide again")
