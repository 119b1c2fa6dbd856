"""The lake's tables: how many rows they have, and their upkeep by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import typer

from dialwatch.actions.console import grid_of, print_grid, print_result
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from lake.maintenance.cleaning import clean_log, vacuum
from lake.maintenance.compaction import compact
from lake.maintenance.maintenance import all_tables
from lake.maintenance.retention import drop_before
from lake.maintenance.text_retention import text_age
from lake.queries.case_versions import newest_versions
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.root_tables import BATCHES
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.service_vocabulary import LineOutcome
from lake.tables.lake import Lake
from lake.tables.table import Table

_COUNTED = {"requests": PARSED_LOGS, "signals": USER_SIGNALS, "scores": SCORES, "cases": GROUND_TRUTH}
"""Tables that are counted, by what their rows are called; a case has a row a version."""


def show(settings: Settings, *, as_json: bool) -> None:
    """List the deployments and how many rows their tables have."""
    opened = open_filled(settings)
    counts: list[dict[str, Any]] = [
        {"deployment": deployment} | {name: _count(opened.table(spec, deployment)) for name, spec in _COUNTED.items()}
        for deployment in opened.deployments()
    ]
    batches = opened.table(BATCHES).read(["lines", LineOutcome.REJECTED])
    lines, rejected = (sum(batches[name].to_pylist()) for name in ("lines", LineOutcome.REJECTED))
    if as_json:
        typer.echo(json.dumps({"deployments": counts, "lines": lines, "rejected": rejected}, indent=2))
        return
    grid = grid_of("deployment", *_COUNTED)
    for one in counts:
        grid.add_row(one["deployment"] or "(none)", *(f"{one[name]:,}" for name in _COUNTED))
    print_grid(grid)
    typer.echo(f"{lines:,} lines collected, {rejected:,} of them rejected (table _rejected)")


def _count(table: Table) -> int:
    is_versioned = table.spec is GROUND_TRUTH
    rows = newest_versions(table.read(["case_id", "version"])) if is_versioned else table.read(["deployment"])
    return int(rows.num_rows)


def merge_files(settings: Settings, *, dry_run: bool) -> None:
    """Merge small files into few large ones; services may go on meanwhile."""
    opened = open_filled(settings)
    grid = grid_of("table", "files before", "files after", "MiB rewritten", "note")
    for name, table in _named(opened):
        done = compact(table, dry_run=dry_run)
        if done.files_before != done.files_after or done.lost_race:
            note = "another one was at work: run again" if done.lost_race else ""
            size = f"{done.rewritten_bytes / 2**20:,.1f}"
            grid.add_row(name, f"{done.files_before:,}", f"{done.files_after:,}", size, note)
    print_result(grid, "no table has several small files of one date", dry_run)


def remove_files(settings: Settings, *, dry_run: bool) -> None:
    """Remove files that were replaced or never committed, and the log's entries that nobody needs."""
    opened, maintenance = open_filled(settings), settings.lake.maintenance
    grid = grid_of("table", "files removed", "log entries removed")
    for name, table in _named(opened):
        files = vacuum(table, timedelta(seconds=maintenance.vacuum_after), dry_run=dry_run)
        retention = timedelta(seconds=maintenance.log_retention)
        entries = clean_log(table, datetime.now(UTC), retention, dry_run=dry_run).removed
        if files or entries:
            grid.add_row(name, f"{len(files):,}", f"{entries:,}")
    print_result(grid, "nothing is old enough to be removed", dry_run)


def drop_dates(settings: Settings, *, dry_run: bool) -> None:
    """Drop the rows that are older than lake.maintenance.retention says."""
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
    for deployment, table in all_tables(lake):
        yield _name(deployment, table), table


def _name(deployment: str | None, table: Table) -> str:
    return f"{deployment or '(none)'} {table.spec.name}" if table.spec.per_deployment else table.spec.name
