"""One case of ground truth with all that is known of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import typer

from dialwatch.actions.ground_truth.finding import FoundCase, cases_named
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from dialwatch.reports.case_report import CaseDetails, format_case
from lake.queries.alike_cases import AlikeCases, alike_cases
from lake.queries.answer_details import read_answer_signals
from lake.queries.answer_lookup import locate_source
from lake.queries.case_versions import cases_in, history_in
from lake.queries.json_values import json_values
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake


def show(settings: Settings, written_id: str, deployment: str | None, version: int | None, *, as_json: bool) -> None:
    """Print a case; raises BadParameter where no id begins so, ConfigError where there is no such version."""
    lake = open_filled(settings)
    (found,) = cases_named(lake, [written_id], deployment)
    details = _details(lake, found)
    if version is not None:
        of_version = [case for case in details.history if case["version"] == version]
        if not of_version:
            newest = details.history[0]["version"]
            raise ConfigError(f"{found.name} has no version {version}: it has 1 to {newest}")
        details = replace(details, case=of_version[0])
    typer.echo(_as_json(details) if as_json else format_case(details))


def _details(lake: Lake, found: FoundCase) -> CaseDetails:
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
