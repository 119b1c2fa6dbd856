"""Creation of a table, empty, by deltalake."""

from __future__ import annotations

from collections.abc import Mapping

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake.table_spec import TableSpec
from lake.tables.writing import statistics_columns

COMMITS_PER_CHECKPOINT = 20
"""Opening a table reads the log from the last checkpoint on; with deltalake's 100 it takes twice as long."""


def create_table(uri: str, spec: TableSpec, title: str, storage_options: Mapping[str, str]) -> None:
    """Make a table where no other writer has made it in the meantime."""
    try:
        DeltaTable.create(
            uri,
            schema=spec.schema,
            mode="error",
            partition_by=["date"] if spec.by_date else None,
            name=title,
            description=spec.doc,
            configuration={
                "delta.dataSkippingStatsColumns": ",".join(statistics_columns(spec)),
                "delta.checkpointInterval": str(COMMITS_PER_CHECKPOINT),
            },
            storage_options=dict(storage_options),
        )
    except DeltaError:
        # If it is not there, this says what is wrong.
        DeltaTable(uri, storage_options=dict(storage_options))
