"""One answer of the lake, found by its id and printed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import typer

from dialwatch.actions.console import print_list
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from dialwatch.reports.answer_report import format_answer
from dialwatch.reports.terminal_text import in_one_line
from dialwatch.times import format_time
from lake import AnswerAddress, AnswerDetails, Lake, locate_response, read_answer

_RECENT = timedelta(days=7)


def show(
    settings: Settings, response_id: str, deployment: str | None, day: date | None, now: datetime, *, as_json: bool
) -> None:
    """Print an answer; raises ConfigError where there is none of this id, or several.

    Without a `day`, the last week is searched first, and all days where it has none.
    """
    opened = open_filled(settings)
    everybody = opened.deployments()
    if deployment is not None and deployment not in everybody:
        raise ConfigError(f"there is no deployment {deployment!r} in {opened.root}; `dialwatch lake ls` lists them")
    found = _found(opened, response_id, everybody if deployment is None else [deployment], day, now)
    if not found:
        raise ConfigError(f"no answer has the id {response_id!r}: is the deployment or the date another one?")
    if len(found) > 1:
        print_list(("deployment", "date", "requested", "event id"), map(_cells, found))
        raise ConfigError("several answers have this id: name one by --deployment, --date or its event id")
    details = read_answer(opened, found[0].deployment, found[0].date, found[0].event_id, everybody)
    if details is None:
        raise ConfigError(f"the answer {response_id!r} was removed a moment ago")
    typer.echo(_as_json(details) if as_json else format_answer(details))


def _found(
    lake: Lake, response_id: str, deployments: Sequence[str | None], day: date | None, now: datetime
) -> list[AnswerAddress]:
    """Find the calls with an id; of those that people made, where there are some, these alone."""
    if day is not None:
        found = locate_response(lake, response_id, deployments, day, day)
    else:
        recent = (now - _RECENT).astimezone(UTC).date()
        found = locate_response(lake, response_id, deployments, recent)
        found = found or locate_response(lake, response_id, deployments, last=recent - timedelta(days=1))
    return [one for one in found if one.is_entry] or found


def _cells(address: AnswerAddress) -> tuple[str, ...]:
    name = in_one_line(address.deployment or "(none)")
    return name, str(address.date), format_time(address.requested_at), in_one_line(address.event_id)


def _as_json(details: AnswerDetails) -> str:
    # In ASCII: no character of a text reaches the terminal as it is.
    return json.dumps(_finite(msgspec.to_builtins(details, enc_hook=str)), indent=2, ensure_ascii=True)


def _finite(value: Any) -> Any:
    """Give JSON's null for infinities and NaN, which JSON cannot write."""
    if isinstance(value, dict):
        return {name: _finite(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
