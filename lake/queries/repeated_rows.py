"""Rows of `parsed_logs` without repetitions: a line that came again after long may be a row twice."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def each_once(rows: pa.Table) -> pa.Table:
    """Keep of the rows with the same `event_id` the one that was written first."""
    if pc.count_distinct(rows["event_id"]).as_py() == rows.num_rows:
        return rows
    places: dict[str, int] = {}
    for place in pc.sort_indices(rows, sort_keys=[("ingested_at", "ascending")]).to_pylist():
        places.setdefault(rows["event_id"][place].as_py(), place)
    return rows.take(sorted(places.values()))
