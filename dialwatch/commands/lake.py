"""The commands `dialwatch lake ...`: look at the tables, and look after them by hand."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.table import Table as Grid

from collector import CollectorSettings
from dialwatch.commands.console import print_grid
from dialwatch.commands.options import ConfigOption, LakeOption, settings_of
from dialwatch.config import ConfigError, Settings
from evaluator import forget_replies, forget_shared_replies
from lake import (
    BATCHES,
    GROUND_TRUTH,
    PARSED_LOGS,
    SCORES,
    USER_SIGNALS,
    Lake,
    Receipt,
    Subject,
    Table,
    all_tables,
    clean_log,
    compact,
    erase,
    forget_before,
    vacuum,
)

app = typer.Typer(no_args_is_help=True, help="Look at the tables, and look after them.")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


_COUNTED = {"requests": PARSED_LOGS, "signals": USER_SIGNALS, "scores": SCORES, "cases": GROUND_TRUTH}
"""Tables whose rows are counted, by what the rows are called."""


@app.command("ls")
def list_tables(
    lake: LakeOption = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of a table.")] = False,
) -> None:
    """List the deployments and how many rows their tables have."""
    opened = open_filled(settings_of(config, lake))
    counts = [
        {"deployment": deployment}
        | {name: opened.table(spec, deployment).read(["deployment"]).num_rows for name, spec in _COUNTED.items()}
        for deployment in opened.deployments()
    ]
    batches = opened.table(BATCHES).read(["lines", "rejected"])
    lines, rejected = (sum(batches[name].to_pylist()) for name in ("lines", "rejected"))
    if as_json:
        typer.echo(json.dumps({"deployments": counts, "lines": lines, "rejected": rejected}, indent=2))
        return
    grid = grid_of("deployment", *_COUNTED)
    for one in counts:
        grid.add_row(one["deployment"] or "(none)", *(f"{one[name]:,}" for name in _COUNTED))
    print_grid(grid)
    typer.echo(f"{lines:,} lines collected, {rejected:,} of them rejected (table _rejected)")


@app.command("compact")
def merge_files(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Merge small files into few large ones; services may go on meanwhile."""
    opened = open_filled(settings_of(config, lake))
    grid = grid_of("table", "files before", "files after", "MiB rewritten", "note")
    for name, table in _named(opened):
        done = compact(table, dry_run=dry_run)
        if done.files_before != done.files_after or done.lost_race:
            note = "another one was at work: run again" if done.lost_race else ""
            size = f"{done.rewritten_bytes / 2**20:,.1f}"
            grid.add_row(name, f"{done.files_before:,}", f"{done.files_after:,}", size, note)
    _print(grid, "no table has several small files of one date", dry_run)


@app.command("vacuum")
def remove_files(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Remove files that were replaced or never committed, and the log's entries that nobody needs."""
    settings = settings_of(config, lake)
    opened, maintenance = open_filled(settings), settings.lake.maintenance
    grid = grid_of("table", "files removed", "log entries removed")
    for name, table in _named(opened):
        files = vacuum(table, timedelta(seconds=maintenance.vacuum_after), dry_run=dry_run)
        retention = timedelta(seconds=maintenance.log_retention)
        entries = clean_log(table, datetime.now(UTC), retention, dry_run=dry_run).removed
        if files or entries:
            grid.add_row(name, f"{len(files):,}", f"{entries:,}")
    _print(grid, "nothing is old enough to be removed", dry_run)


@app.command("retention")
def drop_dates(lake: LakeOption = None, config: ConfigOption = None, dry_run: DryRun = False) -> None:
    """Drop the rows that are older than lake.maintenance.retention says."""
    settings = settings_of(config, lake)
    opened, maintenance = open_filled(settings), settings.lake.maintenance
    if not maintenance.retention and not maintenance.deployments:
        raise ConfigError("no retention is configured; write lake.maintenance.retention, such as {parsed_logs: 90d}")
    grid = grid_of("table", "dates dropped", "files", "MiB", "note")
    for deployment, table in all_tables(opened):
        limit = maintenance.age_limit(table.spec, deployment)
        if limit is None:
            continue
        done = forget_before(table, (datetime.now(UTC) - limit).date(), dry_run=dry_run)
        if done.files or done.lost_race:
            note = "another one was at work: run again" if done.lost_race else ""
            counts = (f"{done.dates:,}", f"{done.files:,}", f"{done.bytes / 2**20:,.1f}")
            grid.add_row(_name(deployment, table), *counts, note)
    _print(grid, "no row is older than it may be", dry_run)


@app.command("erase")
def erase_subject(
    user: Annotated[str | None, typer.Option(help="user_id, as parsed_logs has it.")] = None,
    chat: Annotated[str | None, typer.Option(help="chat_id.")] = None,
    response: Annotated[str | None, typer.Option(help="response_id of an answer.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
    dry_run: DryRun = False,
) -> None:
    """Erase a person, a conversation or an answer from every table, and print a receipt.

    Replies of judges that are kept on this machine (evaluator.judge_calls) or shared in the lake are forgotten, all of
    them.

    The exit code is 1 where files are left that may hold something of it, or of those replies: erase again ten minutes
    later.
    """
    try:
        subject = Subject(user=user, chat=chat, response=response)
    except ValueError as error:
        raise typer.BadParameter(f"{error}: give --user, --chat or --response") from None
    settings = settings_of(config, lake)
    opened = open_filled(settings)
    receipts = [
        erase(opened, one, datetime.now(UTC), dry_run=dry_run) for one in _as_written(subject, settings.collector)
    ]
    for receipt in receipts:
        _print_receipt(receipt)
    are_forgotten = dry_run or _forget_replies(settings, opened)
    if not are_forgotten or not all(receipt.is_complete for receipt in receipts):
        sys.exit(1)


def _forget_replies(settings: Settings, lake: Lake) -> bool:
    """Forget replies of judges, tell of it, and give whether nothing of them is left in the file."""
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
    """The subject, and where redaction makes another id of it, as rows have it since that was switched on."""
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
    _print(grid, "nothing of it was found", receipt.dry_run)
    for table in receipt.tables:
        for path in table.young_files:
            typer.echo(f"not removed, for it may be a writer's at work: {path} of {table.table}; erase again later")
    typer.echo("What this cannot know:")
    for note in receipt.cannot_know:
        typer.echo(f"- {note}")


def grid_of(*columns: str) -> Grid:
    """Give an empty grid for the terminal, with these heads."""
    grid = Grid()
    for name in columns:
        # A name that is cut cannot be copied into a configuration.
        grid.add_column(name, overflow="fold")
    return grid


def open_filled(settings: Settings) -> Lake:
    """Open a lake that has tables; raises ConfigError for one without, which is a mistyped root."""
    opened = settings.lake.open()
    if next(all_tables(opened), None) is None:
        raise ConfigError(f"there is no table under {opened.root}: is that the lake's root?")
    return opened


def _named(lake: Lake) -> list[tuple[str, Table]]:
    return [(_name(deployment, table), table) for deployment, table in all_tables(lake)]


def _name(deployment: str | None, table: Table) -> str:
    return f"{deployment or '(none)'} {table.spec.name}" if table.spec.per_deployment else table.spec.name


def _print(grid: Grid, nothing: str, dry_run: bool) -> None:
    if grid.row_count:
        print_grid(grid)
    else:
        typer.echo(nothing)
    if dry_run:
        typer.echo("This was a dry run: nothing was changed.")
