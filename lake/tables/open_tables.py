"""Tables that a service keeps open: it looks at `_changes`, and then at those that have news."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from lake.delta_log.news import TRUE_LOOK_SECONDS, WatchedNews
from lake.spec.root_tables import CHANGES
from lake.spec.schemas import TABLES
from lake.spec.table_spec import TableSpec
from lake.store.store_errors import log_failure
from lake.tables.changes import UNNOTED, ChangedTable
from lake.tables.day_reading import map_at_once
from lake.tables.lake import Lake
from lake.tables.storage import is_remote
from lake.tables.table import Table

_SETTLED_NS = 2_000_000_000
"""A file system's clock may be as coarse: a change since the last look may have left the same time."""
logger = logging.getLogger(__name__)


class TableSource(Protocol):
    """What gives handles on tables: a `Lake`, or its tables that are kept open."""

    def table(self, spec: TableSpec, deployment: str | None = None) -> Table:
        """Return a new handle on a table."""
        ...

    def deployments(self) -> list[str | None]:
        """Return the deployments; None stands for rows that name none."""
        ...


class OpenTables:
    """Gives handles that ask a store only where `_changes` says that there is something new, or after some minutes.

    On a local disk they look each time. What a handle gives may be as old as the last `look`; an append by it is as
    safe as by any other. Not safe for use by several threads at once.
    """

    def __init__(self, lake: Lake, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._lake = lake
        self._monotonic = monotonic
        self._watches = is_remote(lake.root)
        self._feed = lake.table(CHANGES)
        self._version: int | None = None
        self._news: dict[ChangedTable, WeakSet[WatchedNews]] = {}
        self._open: WeakSet[Table] = WeakSet()
        self._deployments: list[str | None] = []
        self._listed_at: float | None = None
        self._log_times: dict[str | None, Mapping[str, int]] = {}
        """By deployment, when its folder and the logs of its tables had changed last, where they have settled."""

    def look(self) -> None:
        """Read which tables have news; where `_changes` cannot be read, each of them may have."""
        if not self._watches:
            return
        try:
            change = self._feed.read_since(self._version, ["deployment", "table", "version"])
        except Exception as error:
            log_failure(logger, error, "every table is looked at, since %s cannot be read", CHANGES.name)
            self._feed, self._version, self._listed_at = self._lake.table(CHANGES), None, None
            for watched in self._news.values():
                _tell(watched, None)
            return
        self._version = change.version
        changed = {(row["deployment"], row["table"]): row["version"] for row in change.rows.to_pylist()}
        known = set(self._deployments)
        if any(name in TABLES and TABLES[name].per_deployment and of not in known for of, name in changed):
            self._listed_at = None
        for one, version in changed.items():
            _tell(self._news.get(one, WeakSet()), version)

    def look_ahead(self) -> None:
        """Look at many tables at once that may have news: whoever then reads one after the other waits less.

        What cannot be read is met again by its reader.
        """
        map_at_once(self._lake.root, _try_to_look, [table for table in self._open if table.may_have_news()])

    def with_news(self, deployments: Iterable[str | None], specs: Sequence[TableSpec]) -> set[str | None]:
        """Return the deployments one of whose tables may have changed since the last call, as far as can be seen.

        A folder says when its log changed last, a store what `_changes` tells.
        """
        if self._watches:
            # Pages may open a table meanwhile.
            every = list(self._news.items())
            told = {of for (of, _), watched in every if any(news.may_be_there() for news in list(watched))}
            return told.intersection(deployments)
        return {deployment for deployment in deployments if self._has_changed(deployment, specs)}

    def _has_changed(self, deployment: str | None, specs: Sequence[TableSpec]) -> bool:
        known = self._log_times.get(deployment)
        if known is not None and all(_changed_ns(path) == changed for path, changed in known.items()):
            return False
        folder = self._lake.folder(deployment)
        # What cannot be read is met again by its reader, who says so.
        with suppress(OSError):
            there = {path.name for path in Path(folder).iterdir()}
            logs = [f"{folder}/{spec.name}/_delta_log" for spec in specs if spec.name in there]
            self._log_times[deployment] = {path: _changed_ns(path) for path in (folder, *logs)}
            if max(self._log_times[deployment].values()) >= time.time_ns() - _SETTLED_NS:
                del self._log_times[deployment]
        return True

    def table(self, spec: TableSpec, deployment: str | None = None) -> Table:
        """Return a new handle on a table."""
        if not self._watches or spec in UNNOTED:
            return self._lake.table(spec, deployment)
        news = WatchedNews(self._monotonic)
        self._news.setdefault((deployment, spec.name), WeakSet()).add(news)
        table = self._lake.table(spec, deployment, news)
        self._open.add(table)
        return table

    def deployments(self) -> list[str | None]:
        """Return the deployments of the lake, as `Lake.deployments` does; of a store as the last listing has them."""
        now = self._monotonic()
        if not self._watches or self._listed_at is None or now - self._listed_at >= TRUE_LOOK_SECONDS:
            self._deployments = self._lake.deployments()
            self._listed_at = now
        return list(self._deployments)


def _changed_ns(path: str) -> int:
    """Return when a folder changed last, in nanoseconds; 0 where there is none."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - of thousands of folders, every few seconds
    except OSError:
        return 0


def _try_to_look(table: Table) -> None:
    with suppress(Exception):
        table.version()


def _tell(watched: WeakSet[WatchedNews], version: int | None) -> None:
    for news in watched:
        news.tell(version)
