"""Specification of a kind of table, and the types that columns of several tables share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
STRINGS = pa.list_(pa.string())
CONTEXT = pa.struct(
    [("text", pa.string()), ("title", pa.string()), ("url", pa.string()), ("page", pa.int32()), ("id", pa.string())]
)
TOOL_CALL = pa.struct(
    [("id", pa.string()), ("name", pa.string()), ("arguments", pa.string()), ("result", pa.string()),
     ("is_error", pa.bool_())]
)  # fmt: skip
EXPECTED_CALL = pa.struct([("name", pa.string()), ("arguments", pa.string())])
ATTACHMENT = pa.struct([("type", pa.string()), ("title", pa.string()), ("url", pa.string()), ("size", pa.int64())])
CITATION = pa.struct([("statement", pa.string()), ("chunk", pa.int32()), ("start", pa.int64()), ("end", pa.int64())])
REPLAY_SCORE = pa.struct(
    [("metric", pa.string()), ("metric_version", pa.string()), ("value", pa.float64()), ("reason", pa.string()),
     ("failed_part", pa.string())]
)  # fmt: skip
SOURCE = pa.struct([("kind", pa.string()), ("name", pa.string()), ("partition", pa.string()), ("offset", pa.int64())])


# Compared by identity: there is one of each, and hashing a schema for every row would be slow.
@dataclass(frozen=True, eq=False)
class TableSpec:
    """One kind of table.

    `per_deployment` tables stand under a deployment's folder, the others under the root. A `by_date`
    table is partitioned by its `date` column. `long_text` names the columns that hold texts of people and
    models: no word of them may stand in statistics.
    """

    name: str
    doc: str
    schema: pa.Schema
    per_deployment: bool = True
    by_date: bool = True
    long_text: tuple[str, ...] = ()

    def rows(self, rows: Sequence[dict[str, Any]]) -> pa.Table:
        """Turn dicts into a table of this schema; an absent key is null, an unknown one is a KeyError."""
        known = set(self.schema.names)
        for row in rows:
            if not known.issuperset(row):
                raise KeyError(f"{self.name} has no column {sorted(set(row) - known)}; it has {sorted(known)}")
        columns = [pa.array([row.get(f.name) for row in rows], f.type) for f in self.schema]
        return pa.Table.from_arrays(columns, schema=self.schema)


def described(*columns: tuple[str, pa.DataType, str]) -> pa.Schema:
    """Return a schema of columns: name, type, and what it means."""
    return pa.schema([pa.field(name, kind, metadata={"doc": doc}) for name, kind, doc in columns])
