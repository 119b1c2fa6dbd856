"""One answer of the lake, found by its id and printed or labelled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import typer

from dialwatch.actions.console import print_list
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from dialwatch.reports.answer_report import format_answer
from dialwatch.reports.terminal_text import in_one_line
from dialwatch.times import format_time
from lake.queries.answer_details import AnswerDetails, read_answer, read_answer_row
from lake.queries.answer_lookup import AnswerAddress, locate_response
from lake.queries.json_values import json_values
from lake.spec.vocabulary import Signal
from lake.tables.lake import Lake
from monitor.alerting.controls.labels import Label, write_label

_RECENT = timedelta(days=7)
_MOST_LISTED = 20


def show(
    settings: Settings, response_id: str, deployment: str | None, day: date | None, now: datetime, *, as_json: bool
) -> None:
    """Print an answer; raises ConfigError where there is none of this id, or several.

    Without a `day`, the last week is searched first, and all days where it has none.
    """
    opened = open_filled(settings)
    address = _address(opened, response_id, deployment, day, since=now - _RECENT)
    details = read_answer(opened, address.deployment, address.date, address.event_id, opened.deployments())
    if details is None:
        raise ConfigError(f"the answer {response_id!r} was removed a moment ago")
    typer.echo(_as_json(details) if as_json else format_answer(details))


def label(
    settings: Settings, response_id: str, deployment: str | None, day: date | None, said: Label, now: datetime
) -> None:
    """Write a label; raises ConfigError where there is no answer of this id, or several, of any age."""
    opened = open_filled(settings)
    address = _address(opened, response_id, deployment, day)
    row = read_answer_row(opened, address.deployment, address.date, address.event_id)
    if row is None:
        raise ConfigError(f"the answer {response_id!r} was removed a moment ago")
    write_label(opened, row, said, now)
    of, word = in_one_line(address.deployment or "(none)"), Signal.RIGHT if said.is_right else Signal.WRONG
    typer.echo(f"labelled {word}: the answer {in_one_line(response_id)} of {of}")


def print_addresses(answers: Sequence[AnswerAddress]) -> None:
    """Print which answers have an id, the first 20 of them, so that one can be named."""
    print_list(("deployment", "date", "requested", "event id"), map(_cells, answers[:_MOST_LISTED]))
    if len(answers) > _MOST_LISTED:
        typer.echo(f"... and {len(answers) - _MOST_LISTED:,} more")


def _address(
    lake: Lake, response_id: str, deployment: str | None, day: date | None, *, since: datetime | None = None
) -> AnswerAddress:
    """Find the one answer of an id; raises ConfigError. One that was asked for `since` then comes before older ones."""
    everybody = lake.deployments()
    if deployment is not None and deployment not in everybody:
        raise ConfigError(f"there is no deployment {deployment!r} in {lake.root}; `dialwatch lake ls` lists them")
    found = _found(lake, response_id, everybody if deployment is None else [deployment], day, since)
    if not found:
        raise ConfigError(f"no answer has the id {response_id!r}: is the deployment or the date another one?")
    if len(found) > 1:
        print_addresses(found)
        raise ConfigError("several answers have this id: name one by --deployment, --date or its event id")
    return found[0]


def _found(
    lake: Lake, response_id: str, deployments: Sequence[str | None], day: date | None, since: datetime | None
) -> list[AnswerAddress]:
    """Find the calls with an id; of those that people made, where there are some, these alone."""
    if day is not None:
        found = locate_response(lake, response_id, deployments, day, day)
    elif since is None:
        found = locate_response(lake, response_id, deployments)
    else:
        recent = since.astimezone(UTC).date()
        found = locate_response(lake, response_id, deployments, recent)
        found = found or locate_response(lake, response_id, deployments, last=recent - timedelta(days=1))
    return [one for one in found if one.is_entry] or found


def _cells(address: AnswerAddress) -> tuple[str, ...]:
    name = in_one_line(address.deployment or "(none)")
    return name, str(address.date), format_time(address.requested_at), in_one_line(address.event_id)


def _as_json(details: AnswerDetails) -> str:
    # In ASCII: no character of a text reaches the terminal as it is.
    return json.dumps(json_values(details), indent=2, ensure_ascii=True)
