"""Removal of what no version of a table needs: replaced files, files never committed, old entries of the log."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from deltalake import DeltaTable
from pyarrow import fs

from lake.delta_log.delta_log import live_files, removed_paths
from lake.delta_log.file_age import WRITER_GRACE
from lake.store.log_copy import LOG
from lake.tables.storage import is_remote
from lake.tables.table import Table

LOG_RETENTION = timedelta(days=7)
"""How long a table's log says what is new, by default."""

_COMMIT = re.compile(r"(\d{20})\.json")
_ENTRY = re.compile(r"(\d{20})\..+|\.(\d{20})\..+\.crc")
_HALF_WRITTEN = re.compile(r"\.part-.+|\.[0-9a-f-]{36}\.json|_commit_[0-9a-f-]{36}\.json\.tmp")
"""A file, a commit, and a commit of deltalake that were being written."""
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")


@dataclass(frozen=True)
class LogClean:
    """Counts of the entries of a table's log, and of those that were removed."""

    entries: int = 0
    removed: int = 0


def vacuum(table: Table, grace: timedelta, *, dry_run: bool = False) -> list[str]:
    """Remove the files that were replaced, or written and never committed, longer than `grace` ago; return their paths.

    A reader that has been reading for less than that finds all its files. Raises ValueError for a `grace` under
    `WRITER_GRACE` or over 7 days, after which the log forgets when a file was replaced.
    """
    if not WRITER_GRACE <= grace <= timedelta(days=7):
        raise ValueError(f"a grace of {grace} is not between {WRITER_GRACE} and 7 days: writers are at work meanwhile")
    delta = table.snapshot()
    if delta is None:
        return []
    # deltalake counts in hours; what is less is found by the age of the files.
    hours = max(1, round(grace.total_seconds() / 3600))
    found = _vacuum(delta, hours, dry_run=True)
    if found and not dry_run:
        found = _vacuum(delta, hours, dry_run=False)
    # In a store there is no half of a file.
    half_written = [] if is_remote(table.uri) else _half_written_files(table.files(), datetime.now(UTC) - grace)
    if not dry_run:
        _delete(table, half_written)
    return [*found, *half_written]


def clean_log(table: Table, now: datetime, retention: timedelta = LOG_RETENTION, *, dry_run: bool = False) -> LogClean:
    """Remove the log's entries that are older than `retention` and that a checkpoint makes unneeded.

    What remains begins with a checkpoint of that age, so that each younger version can still be opened. Of the later
    checkpoints the first of each day and the newest two stay: each names every source that ever wrote, so they are most
    of a log's bytes.
    """
    if table.version() is None:
        return LogClean()
    entries = _entries(table.files())
    old = [entry for entry in entries if _CHECKPOINT.fullmatch(entry.base_name) and _is_older(entry, now - retention)]
    first = max((_version(entry) for entry in old), default=0)
    unneeded = [entry for entry in entries if _version(entry) < first] + _superseded(entries, first)
    return _remove(table, unneeded, len(entries), dry_run)


def remove_history(table: Table, now: datetime) -> tuple[list[str], list[str]]:
    """Remove all files that no row is in now, and the log's entries before now; for what must not be left anywhere.

    Files and entries of the last `WRITER_GRACE` may be needed by a writer at work: of these only files that the log
    calls removed go. Returns the removed paths, and those of young files that may hold anything.
    """
    delta = table.snapshot()
    if delta is None:
        return [], []
    delta.create_checkpoint()
    table.settle(int(delta.version()))
    newest, filesystem = int(delta.version()), table.files()
    commits = [entry.base_name for entry in _entries(filesystem) if _COMMIT.fullmatch(entry.base_name)]
    replaced = _removed_paths(filesystem, commits)
    live = {file.path for file in live_files(delta)}
    unused = [file for file in _data_files(filesystem) if file.path not in live]
    gone = [file.path for file in unused if file.path in replaced or _is_older(file, now - WRITER_GRACE)]
    _delete(table, gone)
    entries = _entries(filesystem)
    old = [entry for entry in entries if _version(entry) < newest and _is_older(entry, now - WRITER_GRACE)]
    _remove(table, old, len(entries), dry_run=False)
    return gone, sorted({file.path for file in unused} - set(gone))


def _superseded(entries: Sequence[fs.FileInfo], first: int) -> list[fs.FileInfo]:
    later = [entry for entry in entries if _CHECKPOINT.fullmatch(entry.base_name) and _version(entry) > first]
    checkpoints = sorted(later, key=_version)
    # What a later cleaning begins the log with.
    of_days = {entry.mtime.astimezone(UTC).date(): entry for entry in reversed(checkpoints) if entry.mtime is not None}
    # One that is being opened may be the last but one.
    stay = {_version(entry) for entry in [*checkpoints[-2:], *of_days.values()]}
    return [entry for entry in checkpoints if _version(entry) not in stay]


def _vacuum(delta: DeltaTable, hours: int, dry_run: bool) -> list[str]:
    return list(delta.vacuum(retention_hours=hours, enforce_retention_duration=False, dry_run=dry_run, full=True))


def _half_written_files(filesystem: fs.FileSystem, before: datetime) -> list[str]:
    """Paths of files and commits that were being written, at the table's root and in its log.

    deltalake passes over names with a leading dot.
    """
    found = [info for folder in ("", LOG) for info in filesystem.get_file_info(fs.FileSelector(folder))]
    return [info.path for info in found if _HALF_WRITTEN.fullmatch(info.base_name) and _is_older(info, before)]


def _removed_paths(filesystem: fs.FileSystem, commits: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for name in commits:
        # Another cleaning may take a commit away meanwhile; what it removed is old by then.
        with contextlib.suppress(FileNotFoundError):
            found |= removed_paths(filesystem, [name])
    return found


def _delete(table: Table, paths: Sequence[str]) -> None:
    for path in paths:
        # Another cleaning may have been faster.
        with contextlib.suppress(FileNotFoundError):
            table.remove(path)


def _entries(filesystem: fs.FileSystem) -> list[fs.FileInfo]:
    infos = filesystem.get_file_info(fs.FileSelector(LOG, allow_not_found=True))
    return [info for info in infos if info.type == fs.FileType.File and _ENTRY.fullmatch(info.base_name)]


def _data_files(filesystem: fs.FileSystem) -> list[fs.FileInfo]:
    infos = filesystem.get_file_info(fs.FileSelector("", recursive=True))
    return [info for info in infos if info.type == fs.FileType.File and not info.path.startswith(f"{LOG}/")]


def _remove(table: Table, entries: Sequence[fs.FileInfo], of: int, dry_run: bool) -> LogClean:
    # The oldest first: if this is cut off, what is left is still without a gap.
    _delete(table, [] if dry_run else [entry.path for entry in sorted(entries, key=_version)])
    return LogClean(of, len(entries))


def _version(entry: fs.FileInfo) -> int:
    found = _ENTRY.fullmatch(entry.base_name)
    return 0 if found is None else int(found[1] or found[2])


def _is_older(entry: fs.FileInfo, moment: datetime) -> bool:
    return bool(entry.mtime is not None and entry.mtime.astimezone(UTC) < moment)
