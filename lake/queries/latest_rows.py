"""Latest score of each answer and metric: a retried score replaces the pending one, a new version the one before."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_ORDER = [("scored_at", "descending"), ("metric_version", "descending"), ("score_id", "descending")]
LATEST_COLUMNS = ("score_id", "event_id", "metric", "metric_version", "value", "scored_at")
"""Columns that `latest_scores` needs."""


def latest_scores(scores: pa.Table) -> pa.Table:
    """Keep, of rows of `scores`, the one of each `event_id` and `metric` that was made last."""
    key = pa.array(range(scores.num_rows), pa.int64())
    ordered = scores.select(["event_id", "metric"]).append_column("row", key).take(_in_order(scores))
    first = ordered.group_by(["event_id", "metric"], use_threads=False).aggregate([("row", "first")])
    return scores.take(first["row_first"])


def _in_order(scores: pa.Table) -> pa.Array:
    return pc.sort_indices(scores, sort_keys=_ORDER)


def each_once(rows: pa.Table) -> pa.Table:
    """Keep of the rows with the same `event_id` the one that was written first."""
    if pc.count_distinct(rows["event_id"]).as_py() == rows.num_rows:
        return rows
    places: dict[str, int] = {}
    for place in pc.sort_indices(rows, sort_keys=[("ingested_at", "ascending")]).to_pylist():
        places.setdefault(rows["event_id"][place].as_py(), place)
    return rows.take(sorted(places.values()))
