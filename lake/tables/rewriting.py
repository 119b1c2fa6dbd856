"""Replacement of files by others in one commit: what compaction, retention and erasure have in common."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from lake.delta_log.change import LostRaceError
from lake.delta_log.delta_log import DataFile, live_files
from lake.delta_log.file_age import require_files
from lake.delta_log.pending_commits import paths_of
from lake.delta_log.writing import NewFile
from lake.tables.reading import scan_fetched
from lake.tables.table import Table

_APP_ID = "dialwatch:rewrite"
_ROWS_AT_ONCE = 512
_BYTES_AT_ONCE = 16 << 20


def batches(table: Table, files: Sequence[DataFile]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of these files in their order, few at a time."""
    for some in [files] if table.fetch is None else _portions(files):
        rows = scan_fetched(table.files(), some, table.spec.schema, table.fetch)
        # One file after the other: reading ahead would hold many row groups of long texts at once.
        yield from rows.to_batches(batch_size=_ROWS_AT_ONCE, batch_readahead=1, fragment_readahead=1)


def _portions(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Yield the files in their order, few bytes at a time: small ones are fetched together."""
    some: list[DataFile] = []
    for file in files:
        if some and sum(one.size for one in some) + file.size > _BYTES_AT_ONCE:
            yield some
            some = []
        some.append(file)
    if some:
        yield some


def replace(table: Table, delta: DeltaTable, old: Sequence[DataFile], new: Sequence[NewFile]) -> None:
    """Put `new` in the place of `old`, files of the snapshot `delta`, in one commit; what others append stays.

    Raises FilesGoneError where one of `new` was removed meanwhile, and LostRaceError, after removing `new`, where
    another one has replaced files since the snapshot was taken: two rewrites of one file would each bring its rows.
    Only rewrites of this package see each other.
    """
    now = int(time.time() * 1000)
    days = [{"date": file.date} if table.spec.by_date else {} for file in old]
    # Called no change of data, also where rows go: else deltalake refuses an append that began before this commit.
    removals = [RemoveAction(file.path, False, now, file.size, day) for file, day in zip(old, days, strict=True)]
    additions = [AddAction(file.path, file.size, file.partition_values, now, False, file.statistics) for file in new]
    # deltalake lets two writers remove the same file; of two with the same app_id it refuses the second.
    turn = (delta.transaction_version(_APP_ID) or 0) + 1
    require_files(table.uri, table.fetch, new)
    table.settle(delta.version(), new)
    try:
        delta.create_write_transaction(
            [*removals, *additions],
            mode="append",
            schema=table.spec.schema,
            partition_by=["date"] if table.spec.by_date else None,
            commit_properties=CommitProperties(app_transactions=[Transaction(_APP_ID, turn)]),
        )
    except DeltaError as error:
        # A store may have taken a commit whose answer was lost, and may take it later.
        after = table.snapshot()
        live = {file.path for file in live_files(after)} if after is not None else set()
        if new and all(file.path in live for file in new):
            table.settle(delta.version())
            return
        # Only where another rewrite has taken this turn, this one can never land; else the files wait for the vacuum.
        if after is not None and after.transaction_version(_APP_ID) == turn and live.isdisjoint(paths_of(new)):
            table.discard(new)
        raise LostRaceError(f"another one has replaced files of {table.uri}: {error}") from error
    # Old files are removed later: by then this commit must be there.
    table.settle(delta.version())
