"""Upkeep of the index of ids: new files of `parsed_logs` are added, and what it says of files that are gone is removed.

A file of the index holds all ids of the files that it names, sorted by key. It stays until one of these is gone, or,
while it is small, until its date has new files: then its rows are written anew beside theirs.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.delta_log.change import LostRaceError
from lake.delta_log.delta_log import DataFile, live_files
from lake.delta_log.writing import DENSE, NewFile
from lake.spec.root_tables import ID_INDEX
from lake.spec.schemas import PARSED_LOGS
from lake.store.store_errors import in_one_line
from lake.tables.id_index import ID_COLUMNS, Keys, Place, keys_by_place, keys_of, known_places
from lake.tables.lake import Lake
from lake.tables.reading import open_parquet
from lake.tables.rewriting import replace
from lake.tables.table import Table

_MANY_KEYS = 1 << 19
"""Of a file of the index; with what is needed to sort them, some 50 MB of memory."""
_KEYS_AT_ONCE = 1 << 16
_ATTEMPTS = 20
_KEYS_A_PASS = 20 << 20
"""So many take about a minute. What is left of a large lake that had no index is left to the next passes."""

Row = tuple[Place, Keys]
Places = Mapping[Place, DataFile]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Indexing:
    """Files of `parsed_logs` that an update of the index added, and files of the index that it replaced.

    `lost_race` says that another one was at work: nothing was changed.
    """

    added: int = 0
    replaced: int = 0
    lost_race: bool = False


def update_id_index(lake: Lake, is_stopping: Callable[[], bool] = lambda: False) -> Indexing:
    """Add the files that are new, the latest dates first, and remove those that are gone, in one commit.

    Ends with what it has once `is_stopping` says so.
    """
    table = lake.table(ID_INDEX)
    if table.version() is None:
        if not lake.deployments():
            return Indexing()
        table.append(ID_INDEX.rows([]), {"id_index": 1})
    return _update(lake, table, is_stopping, adds=True)


def forget_gone_files(lake: Lake) -> Indexing:
    """Remove what the index says of files that are gone, for an erasure; an update that is under way is refused.

    Files that are new are left to the next update. Raises LostRaceError where others rewrite the index all the time.
    """
    table = lake.table(ID_INDEX)
    for _ in range(_ATTEMPTS):
        if table.version() is None:
            return Indexing()
        done = _update(lake, table, lambda: False, adds=False)
        if not done.lost_race:
            return done
    raise LostRaceError(f"{table.uri} was changed by others {_ATTEMPTS} times in a row; run again")


def _update(lake: Lake, table: Table, is_stopping: Callable[[], bool], *, adds: bool) -> Indexing:
    # Before the logs are looked at: where an erasure comes between, it changes the index too, and this one is refused.
    delta = table.snapshot()
    if delta is None:
        return Indexing()
    places, index = _places_by_date(lake), defaultdict[str | None, list[DataFile]](list)
    for file in live_files(delta):
        index[file.date].append(file)
    update = _Update(table)
    try:
        for day in sorted({*places, *index}, key=lambda day: day or "", reverse=True):
            if is_stopping():
                break
            update.of_day(day, index[day], places.get(day, {}), lake if adds and update.keys < _KEYS_A_PASS else None)
    except BaseException:
        table.discard(update.new)
        raise
    if adds and not update.new and not update.old:
        return Indexing()
    try:
        replace(table, delta, update.old, update.new)
    except (LostRaceError, FileNotFoundError) as error:
        logger.info("left the index of ids of %s to the next time: %s", lake.root, error)
        return Indexing(lost_race=True)
    return Indexing(update.added, len(update.old))


def _places_by_date(lake: Lake) -> dict[str | None, dict[Place, DataFile]]:
    found: dict[str | None, dict[Place, DataFile]] = defaultdict(dict)
    for deployment in lake.deployments():
        for file in lake.table(PARSED_LOGS, deployment).live_files():
            found[file.date][deployment, file.path] = file
    return found


@dataclass
class _Update:
    """Files of the index that are to go, and those that come in their place."""

    table: Table
    old: list[DataFile] = field(default_factory=list)
    new: list[NewFile] = field(default_factory=list)
    added: int = 0
    keys: int = 0

    def of_day(self, day: str | None, index: list[DataFile], places: Places, lake: Lake | None) -> None:
        """Bring a date up to date; files of `parsed_logs` are added with a lake to read them from.

        Where none of them can be read the files of the index stay as they are.
        """
        known = {file: known_places(self.table, file) for file in index}
        stays = {file: some for file, some in known.items() if some is not None and some <= places.keys()}
        reader = None if lake is None else _Reader(lake, places)
        if reader is not None and reader.has_any(places.keys() - _all_of(known.values())):
            stays = {file: some for file, some in stays.items() if (file.rows or 0) >= _MANY_KEYS // 2}
        old = [file for file in index if file not in stays]
        if old or (reader is not None and reader.found):
            self.old += old
            left = places.keys() - _all_of(stays.values())
            self._write_all(day, self._rows([file for file in old if known[file] is not None], left, reader))
        if reader is not None:
            reader.tell_unread(day)

    def _write_all(self, day: str | None, found: Iterator[Row]) -> None:
        rows: list[Row] = []
        for row in found:
            if rows and sum(len(keys) for _, keys in rows) + len(row[1]) > _MANY_KEYS:
                self._write(day, rows)
                rows = []
            rows.append(row)
        if rows:
            self._write(day, rows)

    def _rows(self, old: list[DataFile], left: set[Place], reader: _Reader | None) -> Iterator[Row]:
        """Yield which keys the files have that are `left`: as the index says it, or by reading them."""
        for file in old:
            for place, keys in keys_by_place(self.table, file):
                if place in left:
                    left.discard(place)
                    yield place, keys
        if reader is None:
            return
        for place in _in_order(left):
            read = reader.keys_of(place)
            if read is not None:
                self.added += 1
                self.keys += len(read)
                yield place, read

    def _write(self, day: str | None, rows: list[Row]) -> None:
        self.new += self.table.write(_batches(day, rows), DENSE)


class _Reader:
    """Reads the keys of files of `parsed_logs`, each once, and says which cannot be read."""

    def __init__(self, lake: Lake, places: Places) -> None:
        self._lake, self._places = lake, places
        self.found: dict[Place, Keys] = {}
        """What `has_any` read, until it is asked for."""
        self._unread: dict[Place, Exception] = {}

    def has_any(self, places: Iterable[Place]) -> bool:
        """Whether one of these can be read; what comes after it is not tried."""
        for place in _in_order(places):
            keys = self.keys_of(place)
            if keys is not None:
                self.found[place] = keys
                return True
        return False

    def keys_of(self, place: Place) -> Keys | None:
        """Return the keys of a file; None where it is gone, or damaged."""
        if place in self._unread:
            return None
        if place in self.found:
            return self.found.pop(place)
        try:
            return _keys_of_file(self._lake, place, self._places[place])
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            self._unread[place] = error
            return None

    def tell_unread(self, day: str | None) -> None:
        """Log which files of a date could not be read."""
        if not self._unread:
            return
        place = _in_order(self._unread)[0]
        file = f"{self._lake.table(PARSED_LOGS, place[0]).uri}/{place[1]}"
        said = "files of %s left out of the index of ids, to be tried again at the next pass: %d; the first is %s: %s"
        logger.warning(said, day, len(self._unread), file, in_one_line(self._unread[place]))


def _in_order(places: Iterable[Place]) -> list[Place]:
    return sorted(places, key=lambda one: (one[0] or "", one[1]))


def _all_of(known: Iterable[set[Place] | None]) -> set[Place]:
    return set[Place]().union(*(some for some in known if some is not None))


def _keys_of_file(lake: Lake, place: Place, file: DataFile) -> Keys:
    """Return the keys of a file of `parsed_logs`; raises what reading it raises."""
    table = lake.table(PARSED_LOGS, place[0])
    with open_parquet(table.files(), file, table.fetch) as opened:
        rows = opened.read(list(ID_COLUMNS), use_threads=False)
    ids = set[str]()
    for column in rows.columns:
        ids.update((pc.list_flatten(column) if pa.types.is_list(column.type) else column).unique().to_pylist())
    return keys_of(one for one in ids if one is not None)


def _batches(day: str | None, rows: list[Row]) -> Iterator[pa.Table]:
    """Yield the rows of a file of the index: first which files it holds, then the keys in order."""
    names = pa.array([deployment for (deployment, _), _ in rows], pa.string())
    paths = pa.array([path for (_, path), _ in rows], pa.string())
    keys = np.concatenate([some for _, some in rows])
    order = np.argsort(keys)
    numbers = np.repeat(np.arange(len(rows), dtype=np.int32), [len(some) for _, some in rows])[order]
    yield _table(day, names, paths, pa.nulls(len(rows), pa.int32()))
    for begin in range(0, len(keys), _KEYS_AT_ONCE):
        some = slice(begin, begin + _KEYS_AT_ONCE)
        yield _table(day, names.take(numbers[some]), paths.take(numbers[some]), pa.array(keys[order[some]]))


def _table(day: str | None, names: pa.Array, paths: pa.Array, keys: pa.Array) -> pa.Table:
    dates = pa.repeat(pa.scalar(None if day is None else date.fromisoformat(day), pa.date32()), len(keys))
    return pa.Table.from_arrays([dates, names, paths, keys], schema=ID_INDEX.schema)
