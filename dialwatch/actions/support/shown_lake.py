"""The lake as a support bundle shows it: how much is where, how its parts are, and counts; no row that people wrote."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.maintenance.maintenance import all_tables
from lake.spec.root_tables import BATCHES, REJECTED, SERVICES
from lake.spec.service_vocabulary import LineOutcome
from lake.store.store_errors import without_rows
from lake.tables.lake import Lake

_DAYS = timedelta(days=7)
_RUN = ["part", "host", "since"]
_STATE = ["heartbeat_at", "state", "last_success", "last_error", "error"]
_SIZES = {"rows": "num_records", "bytes": "size_bytes"}


def tables_of(lake: Lake) -> Iterator[dict[str, Any]]:
    """Give each table with its version, and the number of its files, rows and bytes."""
    for deployment, table in all_tables(lake):
        shown: dict[str, Any] = {"deployment": deployment, "table": table.spec.name}
        try:
            delta = table.snapshot()
            if delta is not None:
                files = pa.table(delta.get_add_actions(flatten=True))
                shown |= {"version": delta.version(), "files": files.num_rows}
                shown |= {name: pc.sum(files[column]).as_py() or 0 for name, column in _SIZES.items()}
        except Exception as error:  # one that is broken is what the bundle is for
            shown["error"] = without_rows(error)
        yield shown


def services_of(lake: Lake, now: datetime) -> list[dict[str, Any]]:
    """Give the last heartbeat of each run of a part; its error is the store's, or the kind of another."""
    rows = lake.table(SERVICES).read([*_RUN, *_STATE], where=_recent(now)).sort_by("heartbeat_at")
    last = {tuple(row[name] for name in _RUN): row for row in rows.to_pylist()}
    return list(last.values())


def lines_of(lake: Lake, now: datetime) -> list[dict[str, Any]]:
    """Give the counts of the collector's lines by day."""
    counts = ["lines", *map(str, LineOutcome)]
    rows = lake.table(BATCHES).read(["date", *counts], where=_recent(now))
    sums: pa.Table = rows.group_by("date").aggregate([(name, "sum") for name in counts]).sort_by("date")
    return list(sums.to_pylist())


def rejections_of(lake: Lake, now: datetime) -> list[dict[str, Any]]:
    """Give the number of rejected lines by day and reason."""
    rows = lake.table(REJECTED).read(["date", "reason"], where=_recent(now))
    return list(rows.group_by(["date", "reason"]).aggregate([([], "count_all")]).sort_by("date").to_pylist())


def _recent(now: datetime) -> ds.Expression:
    return ds.field("date") >= (now - _DAYS).date()
