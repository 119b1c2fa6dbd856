"""Tables that worker processes read ahead of a reader whose order is known beforehand."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from lake.runtime.worker_pool import WorkerDiedError, WorkerPool
from lake.schemas import TABLES
from lake.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from lake.tables.table import Change

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wanted:
    """Columns of a table of one deployment."""

    spec: TableSpec
    deployment: str | None
    columns: tuple[str, ...]


class ReadAhead:
    """Reads whole tables in worker processes, about two tables a process ahead of `take`.

    Processes and not threads: to read many small files keeps the interpreter busy. Where no process can be started, or
    one is killed, the tables that are left are given as None. A context manager, which ends the processes.
    """

    def __init__(self, lake: Lake, wanted: Sequence[Wanted], processes: int) -> None:
        self._pool = WorkerPool(processes)
        self._left = deque((one.spec.name, one.deployment) for one in wanted)
        items = [(one.spec.name, one.deployment, one.columns) for one in wanted]
        self._changes: Iterator[Change | None] = self._pool.map(_read, (lake.root, lake.storage), items)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def take(self, spec: TableSpec, deployment: str | None) -> Change | None:
        """Give all rows of a table, once, passing over those before it.

        None where it was not wanted or could not be read: read it yourself.
        """
        change, key = None, (spec.name, deployment)
        if key not in self._left:
            return None
        try:
            while self._left.popleft() != key:
                next(self._changes)
            change = next(self._changes)
        except (OSError, WorkerDiedError) as error:
            logger.warning("tables are no longer read ahead, which takes longer: %s", error)
            self._left.clear()
        return change


def _read(lake: tuple[str, Storage], wanted: tuple[str, str | None, tuple[str, ...]]) -> Change | None:
    spec, deployment, columns = wanted
    try:
        change = Lake(*lake).table(TABLES[spec], deployment).read_since(None, columns)
    except Exception:
        # Who wanted it reads it then, and meets the error where it is logged and counted.
        return None
    # A year of small files is thousands of small pieces, each with its own cost in every step.
    return Change(change.rows.combine_chunks(), change.version)
