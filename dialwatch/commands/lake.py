"""The commands `dialwatch lake ...`: look at the tables, and look after them by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, settings_of

app = typer.Typer(no_args_is_help=True, help="Look at the tables, and look after them.")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


@app.command("ls")
def list_tables(
    lake: LakeOption = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of a table.")] = False,
) -> None:
    """List the deployments and how many rows their tables have."""
    settings = settings_of(config, lake)
    from dialwatch.actions import tables

    tables.show(settings, as_json=as_json)


@app.command("compact")
def merge_files(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Merge small files into few large ones; services may go on meanwhile."""
    settings = settings_of(config, lake)
    from dialwatch.actions import tables

    tables.merge_files(settings, dry_run=dry_run)


@app.command("vacuum")
def remove_files(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Remove files that were replaced or never committed, and the log's entries that nobody needs."""
    settings = settings_of(config, lake)
    from dialwatch.actions import tables

    tables.remove_files(settings, dry_run=dry_run)


@app.command("retention")
def drop_dates(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Drop the rows that are older than lake.maintenance.retention says."""
    settings = settings_of(config, lake)
    from dialwatch.actions import tables

    tables.drop_dates(settings, dry_run=dry_run)


@app.command("erase")
def erase(
    user: Annotated[str | None, typer.Option(help="user_id, as parsed_logs has it.")] = None,
    chat: Annotated[str | None, typer.Option(help="chat_id.")] = None,
    response: Annotated[
        str | None, typer.Option(help="response_id of an answer, or its event_id where several answers have it.")
    ] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
    dry_run: DryRun = False,
) -> None:
    """Erase a person, a conversation or an answer from every table, and print a receipt.

    Replies of judges that are kept on this machine (evaluator.judge_calls) or shared in the lake are forgotten, all of
    them.

    The exit code is 1 where files are left that may hold something of it, or of those replies: erase again ten minutes
    later. It is 3 where no row was found.
    """
    if sum(map(bool, (user, chat, response))) != 1:
        raise typer.BadParameter(
            "name one user, one chat or one response to erase, not none and not several: give --user, --chat or "
            "--response"
        )
    settings = settings_of(config, lake)
    from dialwatch.actions.erasure import erase_subject
    from lake.erasure.erasure_scope import Subject

    erase_subject(settings, Subject(user=user, chat=chat, response=response), dry_run=dry_run)
