"""Schema evolution: a table that an older version made gets the columns that it lacks."""

from __future__ import annotations

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError

from lake.table_spec import TableSpec


def add_missing_columns(delta: DeltaTable, spec: TableSpec) -> bool:
    """Add the columns of `spec` that the table lacks, null in its rows; gives whether there were any."""
    there = {field.name for field in delta.schema().fields}
    missing = [field for field in spec.schema if field.name not in there]
    if not missing:
        return False
    try:
        delta.alter.add_columns(Schema.from_arrow(pa.schema(missing)).fields)
    except CommitFailedError:
        # Another writer of this version may just have done so.
        newest = DeltaTable(delta.table_uri, storage_options=delta._storage_options)
        if not {field.name for field in missing} <= {field.name for field in newest.schema().fields}:
            raise
    return True
