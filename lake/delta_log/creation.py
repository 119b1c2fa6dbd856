"""Creation of a table, empty: deltalake writes the first commit, into a folder of its own for a store."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake.delta_log.writing import statistics_columns
from lake.spec.table_spec import TableSpec
from lake.store.log_copy import LOG, commit_name

COMMITS_PER_CHECKPOINT = 20
"""Opening a table reads the log from the last checkpoint on; with deltalake's 100 it takes twice as long."""


def create_table(uri: str, spec: TableSpec, title: str) -> None:
    """Make a table in a folder, where no other writer has made it in the meantime."""
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
        )
    except DeltaError:
        # If it is not there, this says what is wrong.
        DeltaTable(uri)


def first_commit(spec: TableSpec, title: str) -> bytes:
    """Return the commit that makes a table."""
    with TemporaryDirectory(prefix="dialwatch-log-") as folder:
        create_table(folder, spec, title)
        return Path(folder, LOG, commit_name(0)).read_bytes()
