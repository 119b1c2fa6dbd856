"""Tables of a single row that hold what the monitor has made of all other rows up to a position."""

from __future__ import annotations

import pyarrow as pa

from lake.spec.table_spec import TIMESTAMP, TableSpec, described

_COLUMNS = described(
    ("saved_at", TIMESTAMP, "When the row was written."),
    ("format", pa.int32(), "Hash of the names and types in `state`; one of another format is learned anew."),
    ("settings", pa.string(), "Hash of the settings that the detectors ran with."),
    ("positions", pa.string(), "JSON object: up to which version of each table its rows are part of the state."),
    ("texts", pa.string(), "JSON array: all texts of the state, such as names of metrics and ids of answers, "
     "conversations and people. An erasure takes the ids of a person out of it."),
    ("state", pa.binary(), "Detectors, references, counts and sums in MessagePack; texts by their places in `texts`."),
)  # fmt: skip

MONITOR_STATE = TableSpec(
    "monitor_state",
    "One row: the monitor's state of this deployment, and up to where it has read. It is replaced as a whole.",
    _COLUMNS,
    by_date=False,
    long_text=("texts",),
)

ROOT_STATE = TableSpec(
    "_monitor_state",
    "One row: the monitor's state that is of no deployment, as `monitor_state`.",
    _COLUMNS,
    per_deployment=False,
    by_date=False,
    long_text=("texts",),
)
