"""The command `dialwatch label`: say that an answer is right or wrong."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Annotated

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, account, check_name, comment_of, settings_of
from dialwatch.times import day_of


def label(
    response_id: Annotated[
        str, typer.Argument(metavar="RESPONSE_ID", help="Id as alerts and messages name it, or an event id.")
    ],
    is_right: Annotated[bool | None, typer.Option("--right/--wrong", help="What the answer is.")] = None,
    comment: Annotated[str, typer.Option(help="Why.")] = "",
    by: Annotated[str | None, typer.Option(help="Who says so; by default the account that runs this.")] = None,
    deployment: Annotated[str | None, typer.Option(help="Deployment that answered; all by default.")] = None,
    date: Annotated[str | None, typer.Option(help="UTC date of the answer, as 2026-11-20; any by default.")] = None,
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
    from dialwatch.actions import answers
    from monitor.alerting.controls.labels import MOST_CHARACTERS, Label

    if len(comment) > MOST_CHARACTERS:
        raise typer.BadParameter(f"it has more than {MOST_CHARACTERS:,} characters", param_hint="--comment")
    if (who := by or account()) is None:
        raise typer.BadParameter("this account has no name: say who labels", param_hint="--by")
    said = Label(is_right, comment, who, uuid.uuid4().hex)
    answers.label(settings, response_id, deployment, day, said, datetime.now(UTC))
