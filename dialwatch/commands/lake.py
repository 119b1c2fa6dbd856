"""The commands `dialwatch lake ...`: look at the tables, look after them by hand, and erase what is of somebody."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.answers import print_addresses
from dialwatch.commands.console import grid_of, print_grid, print_result
from dialwatch.commands.options import ConfigOption, LakeOption, open_filled, settings_of
from dialwatch.errors import ConfigError

if TYPE_CHECKING:
    from collector.settings import CollectorSettings
    from dialwatch.config import Settings
    from lake.erasure.erasure import Receipt, TableReceipt
    from lake.erasure.erasure_scope import Subject
    from lake.tables.lake import Lake
    from lake.tables.table import Table

app = typer.Typer(no_args_is_help=True, help="Look at the tables, and look after them.")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]

_NOBODY = 3
"""Exit code of an erasure of an id that no row has."""


@app.command("ls")
def list_tables(
    lake: LakeOption = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of a table.")] = False,
) -> None:
    """List the deployments and how many rows their tables have."""
    opened = open_filled(settings_of(config, lake))
    from lake.spec.case_tables import GROUND_TRUTH
    from lake.spec.root_tables import BATCHES
    from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
    from lake.spec.service_vocabulary import LineOutcome

    # A case has a row a version.
    counted = {"requests": PARSED_LOGS, "signals": USER_SIGNALS, "scores": SCORES, "cases": GROUND_TRUTH}
    counts: list[dict[str, Any]] = [
        {"deployment": deployment} | {name: _count(opened.table(spec, deployment)) for name, spec in counted.items()}
        for deployment in opened.deployments()
    ]
    batches = opened.table(BATCHES).read(["lines", LineOutcome.REJECTED])
    lines, rejected = (sum(batches[name].to_pylist()) for name in ("lines", LineOutcome.REJECTED))
    if as_json:
        typer.echo(json.dumps({"deployments": counts, "lines": lines, "rejected": rejected}, indent=2))
        return
    grid = grid_of("deployment", *counted)
    for one in counts:
        grid.add_row(one["deployment"] or "(none)", *(f"{one[name]:,}" for name in counted))
    print_grid(grid)
    typer.echo(f"{lines:,} lines collected, {rejected:,} of them rejected (table _rejected)")


def _count(table: Table) -> int:
    from lake.queries.ground_truth.case_versions import newest_versions
    from lake.spec.case_tables import GROUND_TRUTH

    is_versioned = table.spec is GROUND_TRUTH
    rows = newest_versions(table.read(["case_id", "version"])) if is_versioned else table.read(["deployment"])
    return int(rows.num_rows)


@app.command("compact")
def merge_files(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Merge small files into few large ones, and update the index of ids; services may go on meanwhile."""
    opened = open_filled(settings_of(config, lake))
    from lake.maintenance.compaction import compact
    from lake.maintenance.id_index import update_id_index

    grid = grid_of("table", "files before", "files after", "MiB rewritten", "note")
    for name, table in _named(opened):
        done = compact(table, dry_run=dry_run)
        if done.files_before != done.files_after or done.lost_race:
            note = "another one was at work: run again" if done.lost_race else ""
            size = f"{done.rewritten_bytes / 2**20:,.1f}"
            grid.add_row(name, f"{done.files_before:,}", f"{done.files_after:,}", size, note)
    if not dry_run:
        update_id_index(opened)
    print_result(grid, "no table has several small files of one date", dry_run)


@app.command("vacuum")
def remove_files(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Remove files that were replaced or never committed, and the log's entries that nobody needs."""
    settings = settings_of(config, lake)
    from lake.maintenance.cleaning import clean_log, vacuum

    maintenance = settings.lake.maintenance
    grid = grid_of("table", "files removed", "log entries removed")
    for name, table in _named(open_filled(settings)):
        files = vacuum(table, timedelta(seconds=maintenance.vacuum_after), dry_run=dry_run)
        retention = timedelta(seconds=maintenance.log_retention)
        entries = clean_log(table, datetime.now(UTC), retention, dry_run=dry_run).removed
        if files or entries:
            grid.add_row(name, f"{len(files):,}", f"{entries:,}")
    print_result(grid, "nothing is old enough to be removed", dry_run)


@app.command("retention")
def drop_dates(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Drop the rows that are older than lake.maintenance.retention says."""
    settings = settings_of(config, lake)
    from lake.maintenance.maintenance import all_tables
    from lake.maintenance.retention import drop_before
    from lake.maintenance.text_retention import text_age

    opened, maintenance = open_filled(settings), settings.lake.maintenance
    texts = text_age(opened)
    if texts is None and not maintenance.retention and not maintenance.deployments:
        raise ConfigError("no retention is configured; write lake.maintenance.retention, such as {parsed_logs: 90d}")
    grid = grid_of("table", "dates dropped", "files", "MiB", "note")
    for deployment, table in all_tables(opened):
        limit = maintenance.age_limit(table.spec, deployment, texts)
        if limit is None:
            continue
        done = drop_before(table, (datetime.now(UTC) - limit).date(), dry_run=dry_run)
        if done.files or done.lost_race:
            note = "another one was at work: run again" if done.lost_race else ""
            counts = (f"{done.dates:,}", f"{done.files:,}", f"{done.bytes / 2**20:,.1f}")
            grid.add_row(_name(deployment, table), *counts, note)
    print_result(grid, "no row is older than it may be", dry_run)


def _named(lake: Lake) -> Iterator[tuple[str, Table]]:
    from lake.maintenance.maintenance import all_tables

    for deployment, table in all_tables(lake):
        yield _name(deployment, table), table


def _name(deployment: str | None, table: Table) -> str:
    return f"{deployment or '(none)'} {table.spec.name}" if table.spec.per_deployment else table.spec.name


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
    from lake.erasure.erasure_scope import Subject

    opened, receipts = open_filled(settings), []
    for one in _as_written(Subject(user=user, chat=chat, response=response), settings.collector):
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
    from lake.erasure.erasure import erase
    from lake.erasure.scope_search import SeveralAnswersError

    try:
        return erase(lake, subject, datetime.now(UTC), dry_run=dry_run)
    except SeveralAnswersError as error:
        print_addresses(error.answers)
        raise ConfigError(
            f"nothing was erased: {error} (--response EVENT_ID, --user USER_ID, --chat CHAT_ID)"
        ) from None


def _forget_replies(settings: Settings, lake: Lake) -> bool:
    """Forget replies of judges, print how many, and return whether nothing of them is left in the file."""
    from evaluator.service.judge_pool import forget_replies, forget_shared_replies

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
    """Return the subject, and with redaction also its redacted id, which rows have since that was switched on."""
    if not settings.redaction.enabled:
        return [subject]
    from collector.redaction import Redactor

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
