"""The commands `dialwatch show` and `dialwatch label`: one answer of the lake, found by its id."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.console import print_list
from dialwatch.commands.options import (
    ConfigOption,
    LakeOption,
    account,
    check_name,
    comment_of,
    open_filled,
    settings_of,
)
from dialwatch.errors import ConfigError
from dialwatch.reports.terminal_text import in_one_line
from dialwatch.times import day_of, format_time
from lake.spec.vocabulary import Signal

if TYPE_CHECKING:
    from lake.queries.answer_lookup import AnswerAddress
    from lake.tables.lake import Lake

_RECENT = timedelta(days=7)
_MOST_LISTED = 20

_IdArgument = Annotated[
    str, typer.Argument(metavar="RESPONSE_ID", help="Id as alerts and messages name it, or an event id.")
]
_DeploymentOption = Annotated[str | None, typer.Option(help="Deployment that answered; all by default.")]
_DateOption = Annotated[str | None, typer.Option(help="UTC date of the answer, as 2026-11-20; any by default.")]


def show(
    response_id: _IdArgument,
    deployment: _DeploymentOption = None,
    date: _DateOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object, with all texts as a whole.")] = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Print an answer: question, conversation, contexts, scores with their reasons, signals and the calls behind it.

    The texts are those that people wrote and were given: show them only to those who may read them.
    """
    day = None if date is None else day_of(date, "--date")
    opened = open_filled(settings_of(config, lake))
    from dialwatch.reports.answer_report import format_answer
    from lake.queries.answer_details import read_answer
    from runtime.json_values import json_values

    # Without a day the last week is searched first, and all days where it has none.
    address = _address(opened, response_id, deployment, day, since=datetime.now(UTC) - _RECENT)
    details = read_answer(opened, address.deployment, address.date, address.event_id, opened.deployments())
    if details is None:
        raise ConfigError(f"the answer {response_id!r} was removed a moment ago")
    # In ASCII: no character of a text reaches the terminal as it is.
    typer.echo(json.dumps(json_values(details), indent=2, ensure_ascii=True) if as_json else format_answer(details))


def label(
    response_id: _IdArgument,
    is_right: Annotated[bool | None, typer.Option("--right/--wrong", help="What the answer is.")] = None,
    comment: Annotated[str, typer.Option(help="Why.")] = "",
    by: Annotated[str | None, typer.Option(help="Who says so; by default the account that runs this.")] = None,
    deployment: _DeploymentOption = None,
    date: _DateOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Label an answer as right or wrong; of each person the last label counts.

    Labels are what `dialwatch judge calibrate` compares scores with. They are no ratings and raise no alert.
    """
    if is_right is None:
        raise typer.BadParameter("say what the answer is: --right or --wrong")
    comment = comment_of(comment)
    check_name("--by", by, "give a name")
    day = None if date is None else day_of(date, "--date")
    settings = settings_of(config, lake)
    from lake.queries.answer_details import read_answer_row
    from monitor.alerting.controls.labels import MOST_CHARACTERS, Label, write_label

    if len(comment) > MOST_CHARACTERS:
        raise typer.BadParameter(f"it has more than {MOST_CHARACTERS:,} characters", param_hint="--comment")
    if (who := by or account()) is None:
        raise typer.BadParameter("this account has no name: say who labels", param_hint="--by")
    opened = open_filled(settings)
    address = _address(opened, response_id, deployment, day)
    row = read_answer_row(opened, address.deployment, address.date, address.event_id)
    if row is None:
        raise ConfigError(f"the answer {response_id!r} was removed a moment ago")
    write_label(opened, row, Label(is_right, comment, who, uuid.uuid4().hex), datetime.now(UTC))
    of, word = in_one_line(address.deployment or "(none)"), Signal.RIGHT if is_right else Signal.WRONG
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
    from lake.queries.answer_lookup import locate_response

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
