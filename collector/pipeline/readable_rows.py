"""Rows of a table with a damaged file: the collector goes on, for all deployments, without those of that file."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa
import pyarrow.dataset as ds

from lake.store.store_errors import in_one_line
from lake.tables.storage import is_remote
from lake.tables.table import Table

logger = logging.getLogger(__name__)

T = TypeVar("T")
DAMAGED = (pa.ArrowInvalid, FileNotFoundError)
"""Errors that a file gives which is gone, or not whole."""


def read_readable(table: Table, read: Callable[[ds.Dataset], T]) -> T:
    """Return what `read` makes of a table's rows, on a local disk without those of files that are gone or damaged.

    Each such file is logged. A file may be gone because the table is compacted or erased from meanwhile: so it is read
    once more as it is then. A store's answer may be wrong for a moment, so there the error is raised.
    """
    try:
        return read(table.dataset())
    except DAMAGED:
        if is_remote(table.uri):
            raise
    return read(_readable(table, table.dataset()))


def _readable(table: Table, dataset: ds.Dataset) -> ds.Dataset:
    """The files whose end can be read."""
    whole = []
    for file in dataset.get_fragments():
        try:
            file.ensure_complete_metadata()
        except DAMAGED as error:
            logger.error(
                "a file of the table %s is damaged or gone: bring %s back from a backup; until then its rows cannot be "
                "read, and lines that come are collected without a comparison with them: %s",
                table.uri,
                file.path,
                in_one_line(error),
            )
        else:
            whole.append(file)
    return ds.FileSystemDataset(whole, dataset.schema, dataset.format, dataset.filesystem)
