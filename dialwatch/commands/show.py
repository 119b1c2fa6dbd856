"""The command `dialwatch show`: one answer with all that is known of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, settings_of
from dialwatch.times import day_of


def show(
    response_id: Annotated[
        str, typer.Argument(metavar="RESPONSE_ID", help="Id as alerts and messages name it, or an event id.")
    ],
    deployment: Annotated[str | None, typer.Option(help="Deployment that answered; all by default.")] = None,
    date: Annotated[str | None, typer.Option(help="UTC date of the answer, as 2026-11-20; any by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object, with all texts as a whole.")] = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Print an answer: question, conversation, contexts, scores with their reasons, signals and the calls behind it.

    The texts are those that people wrote and were given: show them only to those who may read them.
    """
    day = None if date is None else day_of(date, "--date")
    settings = settings_of(config, lake)
    from dialwatch.actions import answers

    answers.show(settings, response_id, deployment, day, datetime.now(UTC), as_json=as_json)
