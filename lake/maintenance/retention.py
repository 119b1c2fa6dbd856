"""Retention: whole dates of old rows are dropped; of `_batches` the old rows of a source become one."""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake.delta_log.change import LostRaceError
from lake.delta_log.delta_log import DataFile, live_files
from lake.spec.case_tables import REPLAYS
from lake.spec.root_tables import BATCHES
from lake.spec.service_vocabulary import LineOutcome
from lake.tables.rewriting import batches, replace
from lake.tables.table import Table

_COUNTS = ("bytes", "lines", *LineOutcome)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RetentionResult:
    """Files, dates and bytes that a table lost. `lost_race`: another one replaced files meanwhile; try again later."""

    files: int = 0
    dates: int = 0
    bytes: int = 0
    lost_race: bool = False


def drop_before(table: Table, first: date, *, dry_run: bool = False) -> RetentionResult:
    """Drop all rows of dates before `first`, in one commit; the files go with the next vacuum.

    `_batches` is how the collector knows where to go on, and what the counters are made from: its old rows are not
    dropped, those of one source become one, with the last position and the sums. Of `replays` the dates of the newest
    baseline stay: without it the next run would be the baseline, however bad. Raises ValueError for a table that has no
    dates.
    """
    if not table.spec.by_date:
        raise ValueError(f"{table.spec.name} has no dates, so its rows do not age; it holds what people curate or read")
    kept = _dates_of_baseline(table) if table.spec is REPLAYS else frozenset()
    old = [
        file
        for file in table.live_files()
        if file.date is not None and date.fromisoformat(file.date) < first and file.date not in kept
    ]
    if table.spec is BATCHES and not _saves_rows(table, old):
        return RetentionResult()
    found = RetentionResult(len(old), len({file.date for file in old}), sum(file.size for file in old))
    if not old or dry_run:
        return found
    delta = table.snapshot()
    if delta is None or not set(old) <= set(live_files(delta)):
        return RetentionResult(lost_race=True)
    new = table.write([BATCHES.rows(_sums_by_source(table, old))]) if table.spec is BATCHES else []
    try:
        replace(table, delta, old, new)
    except (LostRaceError, FileNotFoundError) as error:
        logger.info("left old rows of %s to the next time: %s", table.uri, error)
        return RetentionResult(lost_race=True)
    return found


def newest_baseline(replays: Table) -> pa.Table:
    """Return the rows of the run of `replays` that later runs are compared with (columns run_id and date)."""
    rows = replays.read(["run_id", "run_started_at", "is_baseline", "date"])
    baselines = rows.filter(pc.fill_null(rows["is_baseline"], False)).sort_by(
        [("run_started_at", "ascending"), ("run_id", "ascending")]
    )
    return baselines.filter(pc.equal(baselines["run_id"], baselines["run_id"][-1])) if len(baselines) else baselines


def _dates_of_baseline(replays: Table) -> frozenset[str]:
    return frozenset(day.isoformat() for day in newest_baseline(replays)["date"].to_pylist())


def _saves_rows(table: Table, old: list[DataFile]) -> bool:
    """Whether summing makes fewer rows: rows that are sums already are read again each time."""
    rows = sum(batch.num_rows for batch in batches(table, old))
    return bool(rows > len(_sums_by_source(table, old)))


def _sums_by_source(table: Table, old: list[DataFile]) -> list[dict[str, Any]]:
    by_source: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for batch in batches(table, old):
        for row in batch.to_pylist():
            source = row["source"]
            by_source[source["kind"], source["name"], source["partition"]].append(row)
    return [_sum(rows) for rows in by_source.values()]


def _sum(rows: list[dict[str, Any]]) -> dict[str, Any]:
    # Of several rows with one position the one that found the file's end says more.
    last = max(rows, key=lambda row: (row["source"]["offset"], row["exhausted_size"] is not None, row["committed_at"]))
    newest = [row["newest_requested_at"] for row in rows if row["newest_requested_at"] is not None]
    return last | {
        "first_offset": min(row["first_offset"] for row in rows),
        "newest_requested_at": max(newest, default=None),
        **{name: sum(row[name] or 0 for row in rows) for name in _COUNTS},
    }
