"""Schema evolution: a table that an older version made gets the columns that it lacks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError

from lake.spec.table_spec import TableSpec


def missing_columns(there: Collection[str], spec: TableSpec) -> list[pa.Field]:
    """Return the columns of `spec` that are not among those that a table has."""
    return [field for field in spec.schema if field.name not in there]


def add_columns(delta: DeltaTable, missing: Sequence[pa.Field]) -> None:
    """Add columns to a table, null in its rows; does nothing where another writer has just done so."""
    try:
        delta.alter.add_columns(Schema.from_arrow(pa.schema(missing)).fields)
    except CommitFailedError:
        # Another writer of this version may just have done so.
        newest = DeltaTable(delta.table_uri, storage_options=delta._storage_options)
        if not {field.name for field in missing} <= {field.name for field in newest.schema().fields}:
            raise
