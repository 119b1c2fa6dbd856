"""Erasure of a person, a conversation or an answer, and of the judges' replies that may quote it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import typer

from collector import CollectorSettings
from dialwatch.actions.answers import print_addresses
from dialwatch.actions.console import grid_of, print_result
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from evaluator import forget_replies, forget_shared_replies
from lake.erasure.erasure import Receipt, TableReceipt, erase
from lake.erasure.erasure_scope import Subject
from lake.erasure.scope_search import SeveralAnswersError
from lake.tables.lake import Lake

_NOBODY = 3
"""Exit code of an erasure of an id that no row has."""


def erase_subject(settings: Settings, subject: Subject, *, dry_run: bool) -> None:
    """Erase a subject from every table, forget what judges replied, and print a receipt.

    Raises SystemExit with code 1 where files are left that may hold something of either, with 3 where no row was found,
    and ConfigError for an id of several answers, which are printed.
    """
    opened, receipts = open_filled(settings), []
    for one in _as_written(subject, settings.collector):
        receipts.append(_erase(opened, one, dry_run=dry_run))
        _print_receipt(receipts[-1])
    are_forgotten = dry_run or _forget_replies(settings, opened)
    if not are_forgotten or not all(receipt.is_complete for receipt in receipts):
        sys.exit(1)
    if not any(table.erased or table.changed or table.files for receipt in receipts for table in receipt.tables):
        typer.echo(
            "No row was found: check that the id is written as in the lake (columns user_id, chat_id, response_id)"
        )
        sys.exit(_NOBODY)


def _erase(lake: Lake, subject: Subject, *, dry_run: bool) -> Receipt:
    try:
        return erase(lake, subject, datetime.now(UTC), dry_run=dry_run)
    except SeveralAnswersError as error:
        print_addresses(error.answers)
        raise ConfigError(
            f"nothing was erased: {error} (--response EVENT_ID, --user USER_ID, --chat CHAT_ID)"
        ) from None


def _forget_replies(settings: Settings, lake: Lake) -> bool:
    """Forget replies of judges, print how many, and give whether nothing of them is left in the file."""
    if shared := forget_shared_replies(lake):
        typer.echo(f"{shared:,} replies of judges that workers share were forgotten: {lake.root}")
    path = settings.evaluator.judge_calls
    forgotten = forget_replies(path)
    if forgotten is not None:
        kept = f"{forgotten.replies:,} kept replies of judges, which may quote answers of anybody"
        typer.echo(f"{kept}, were forgotten: {path}")
        if not forgotten.is_overwritten:
            typer.echo(
                f"their bytes, or those of earlier ones, are still in {path} or {path}-wal, as another process reads "
                "the file and did not end within 30 s: end what reads it (an sqlite3 shell, say) and erase again"
            )
            return False
    elif settings.evaluator.judges:
        typer.echo(
            f"no replies of judges are kept here ({path}); where the evaluator runs on another machine, erase there "
            "too, or they go after evaluator.judge_calls_retention"
        )
    return True


def _as_written(subject: Subject, settings: CollectorSettings) -> list[Subject]:
    """Give the subject, and with redaction also its redacted id, which rows have since that was switched on."""
    if not settings.redaction.enabled:
        return [subject]
    from collector.redaction import Redactor  # takes a while to load

    redactor = Redactor(settings.redaction)
    redacted = {name: redactor.redact_id(one) for name, one in vars(subject).items() if one}
    return list(dict.fromkeys([subject, replace(subject, **redacted)]))


def _print_receipt(receipt: Receipt) -> None:
    given = {name: value for name, value in vars(receipt.subject).items() if value}
    grid = grid_of("table", "rows erased", "rows changed", "files removed")
    for table in receipt.tables:
        if table.erased or table.changed or table.files:
            grid.add_row(table.table, f"{table.erased:,}", f"{table.changed:,}", f"{table.files:,}")
    typer.echo(f"Erasure of {', '.join(f'{name} {value}' for name, value in given.items())}, {receipt.at:%F %T} UTC")
    print_result(grid, "nothing of it was found", receipt.dry_run)
    for table in receipt.tables:
        for line in _in_doubt(table):
            typer.echo(line)
        for path in table.young_files:
            typer.echo(f"not removed, for it may be a writer's at work: {path} of {table.table}; erase again later")
    for note in receipt.lost:
        typer.echo(note)
    typer.echo("What this cannot know:")
    for note in receipt.cannot_know:
        typer.echo(f"- {note}")


def _in_doubt(table: TableReceipt) -> Iterator[str]:
    """Say how many rows name an answer by an id of several answers, with nothing else that says whose they are."""
    why = f"of {table.table}: an id that other answers have too, and nothing says whose they are"
    if table.in_doubt:
        yield f"rows in doubt: {table.in_doubt:,} {why}; they may hold the subject's words, and were erased"
    if table.left_in_doubt:
        yield f"rows in doubt: {table.left_in_doubt:,} {why}; they hold no words, and stay"
