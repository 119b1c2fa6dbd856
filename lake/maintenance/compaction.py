"""Compaction: few large files out of many small ones."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lake.delta_log.change import LostRaceError
from lake.delta_log.delta_log import DataFile, live_files
from lake.delta_log.writing import DENSE
from lake.spec.root_tables import ID_INDEX
from lake.tables.rewriting import batches, replace
from lake.tables.table import Table

TARGET_BYTES = 128 << 20
"""Size of the files that a compaction makes of small ones."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Compaction:
    """Result of a compaction: the number of files before and after it, and the bytes that were rewritten.

    `lost_race` says that another one replaced files meanwhile: what was not done is left to the next time.
    """

    files_before: int = 0
    files_after: int = 0
    rewritten_bytes: int = 0
    lost_race: bool = False


def compact(
    table: Table,
    *,
    target_bytes: int = TARGET_BYTES,
    dry_run: bool = False,
    is_stopping: Callable[[], bool] = lambda: False,
) -> Compaction:
    """Merge the small files of each date into files of up to `target_bytes`, oldest rows first.

    Files of at least half of that stay as they are, and so does a date that has only one small file. Each merged file
    is a commit of its own, and none begins once `is_stopping` says so. Neither readers nor writers are disturbed.
    """
    files = table.live_files()
    after, rewritten = len(files), 0
    # What is in the index of ids is merged when it is updated, so that each of its files stays in order.
    for group in () if table.spec is ID_INDEX else _groups(files, target_bytes):
        if is_stopping():
            break
        if not dry_run:
            delta = table.snapshot()
            if delta is None or not set(group) <= set(live_files(delta)):
                return Compaction(len(files), after, rewritten, lost_race=True)
            try:
                replace(table, delta, group, table.write(batches(table, group), DENSE))
            except (LostRaceError, FileNotFoundError) as error:
                logger.info("left the rest of %s to the next compaction: %s", table.uri, error)
                return Compaction(len(files), after, rewritten, lost_race=True)
        after -= len(group) - 1
        rewritten += sum(file.size for file in group)
    return Compaction(len(files), after, rewritten)


def _groups(files: Iterable[DataFile], target_bytes: int) -> Iterator[list[DataFile]]:
    by_date: dict[str | None, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.size < target_bytes // 2:
            by_date[file.date].append(file)
    for small in by_date.values():
        group: list[DataFile] = []
        for file in small:
            if group and sum(one.size for one in group) + file.size > target_bytes:
                yield from [group] if len(group) > 1 else []
                group = []
            group.append(file)
        if len(group) > 1:
            yield group
