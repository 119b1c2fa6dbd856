"""Index of ids (`_id_index`): which files of `parsed_logs` surely have none of some ids."""

from __future__ import annotations

import logging
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lake.delta_log.delta_log import DataFile, day_of
from lake.spec.root_tables import ID_INDEX
from lake.store.store_errors import TableError, in_one_line
from lake.tables.day_reading import map_at_once
from lake.tables.lake import Lake
from lake.tables.reading import open_parquet
from lake.tables.table import Table

logger = logging.getLogger(__name__)

ID_COLUMNS = ("event_id", "response_id", "response_ids", "chat_id", "user_id", "trace_id", "parent_history_hash")
"""Columns of `parsed_logs` whose ids are in the index."""
_NAMES = ("deployment", "path")
_COLUMNS = (*_NAMES, "key")
_FILES_AT_ONCE = 1024
_DAMAGES = (OSError, KeyError, ValueError, pa.ArrowException)

Place = tuple[str | None, str]
"""A file of `parsed_logs`: its deployment, and its path below the folder of the table."""
Keys = NDArray[np.int32]


def keys_of(ids: Iterable[str]) -> Keys:
    """Return the keys of ids, each once and in order. Several ids may have one key."""
    sums = [zlib.crc32(one.encode("utf-8", "replace")) for one in ids]
    return np.unique(np.array(sums, np.uint32).view(np.int32))


def files_without(
    lake: Lake, ids: Iterable[str | None], first: date = date.min, last: date = date.max
) -> Mapping[str | None, frozenset[str]]:
    """Return the files of `parsed_logs`, by deployment, that have none of the ids in any of `ID_COLUMNS`.

    A file never changes, so this stays true of it. Files that are not in the index are not among them, nor are those of
    a date whose index cannot be read. No index has rows without an id: who looks for these too searches every file.
    """
    asked = list(ids)
    wanted = [one for one in asked if one is not None]
    if len(wanted) < len(asked):
        return {}
    table, keys = lake.table(ID_INDEX), keys_of(wanted)
    try:
        files = [file for file in table.live_files() if first <= (day_of(file) or first) <= last]
    except (OSError, ValueError, TableError) as error:
        logger.warning(
            "%s: every file is searched, as the index of ids cannot be opened: %s", table.uri, in_one_line(error)
        )
        return {}
    looks = map_at_once(table.uri, lambda file: _look(table, file, keys), files)
    unread = {file.date for file, look in zip(files, looks, strict=True) if look is None}
    known, having = set[Place](), set[Place]()
    for file, look in zip(files, looks, strict=True):
        if look is not None and file.date not in unread:
            known |= look[0]
            having |= look[1]
    found = defaultdict[str | None, set[str]](set)
    for deployment, path in known - having:
        found[deployment].add(path)
    return {deployment: frozenset(paths) for deployment, paths in found.items()}


def known_places(table: Table, file: DataFile) -> set[Place] | None:
    """Return which files a file of the index holds; None where it cannot be read."""
    look = _look(table, file, keys_of([]))
    return None if look is None else look[0]


def keys_by_place(table: Table, file: DataFile) -> Iterator[tuple[Place, Keys]]:
    """Yield what a file of the index holds; nothing where it cannot be read."""
    try:
        with open_parquet(table.files(), file, table.fetch) as opened:
            rows = opened.read(list(_COLUMNS), use_threads=False)
    except _DAMAGES as error:
        _warn(table, file, error)
        return
    for row in rows.group_by(list(_NAMES)).aggregate([("key", "list")]).to_batches(1):
        keys = row["key_list"].flatten()
        # Without the row that has no key nothing says that these are all.
        if keys.null_count:
            yield (row["deployment"][0].as_py(), row["path"][0].as_py()), keys.drop_null().to_numpy()


def _look(table: Table, file: DataFile, keys: Keys) -> tuple[set[Place], set[Place]] | None:
    """Return which files a file of the index holds, and which have one of the keys; None where it cannot be read."""
    try:
        with open_parquet(table.files(), file, table.fetch) as opened:
            having = [_having(opened, number, keys) for number in range(opened.num_row_groups)]
            return _known(opened), set[Place]().union(*having)
    except _DAMAGES as error:
        _warn(table, file, error)
        return None


def _known(opened: pq.ParquetFile) -> set[Place]:
    """Return the files whose ids are all here: they stand before the keys."""
    found = set[Place]()
    for rows in opened.iter_batches(_FILES_AT_ONCE, columns=list(_COLUMNS), use_threads=False):
        of_files = rows.filter(pc.is_null(rows["key"]))
        found |= _places(of_files)
        if of_files.num_rows < rows.num_rows:
            break
    return found


def _having(opened: pq.ParquetFile, group: int, keys: Keys) -> set[Place]:
    """Return the files that have one of the keys in a group of rows; few groups are read for it."""
    place = opened.schema_arrow.get_field_index("key")
    told = opened.metadata.row_group(group).column(place).statistics
    is_told = told is not None and told.has_min_max
    if not len(keys) or (is_told and np.searchsorted(keys, told.min) == np.searchsorted(keys, told.max, side="right")):
        return set()
    has_key = pc.is_in(opened.read_row_group(group, ["key"], use_threads=False)["key"], pa.array(keys))
    if not pc.any(has_key).as_py():
        return set()
    return _places(opened.read_row_group(group, list(_NAMES), use_threads=False).filter(has_key))


def _places(rows: pa.Table | pa.RecordBatch) -> set[Place]:
    return set(zip(rows["deployment"].to_pylist(), rows["path"].to_pylist(), strict=True))


def _warn(table: Table, file: DataFile, error: Exception) -> None:
    said = "%s: the files of %s are searched one by one, as their index cannot be read: %s"
    logger.warning(said, table.uri, file.date, in_one_line(error))
