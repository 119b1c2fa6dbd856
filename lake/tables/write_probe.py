"""Look whether a lake can be written: whether its store creates a name once only, and which time it has."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lake.store.log_copy import LOG, commit_name
from lake.tables.lake import PROBE_FOLDER, Lake
from lake.tables.storage import is_remote


@dataclass(frozen=True)
class WriteProbe:
    """What a store did with a file of ours.

    `is_conditional`: a second file of the same name was refused, without which two writers overwrite each other's
    commits. `can_remove`: the file could be removed again. `clock_ahead`: how much the store's clock is
    ahead of ours.
    """

    is_conditional: bool
    can_remove: bool
    clock_ahead: timedelta


def probe_writes(lake: Lake, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> WriteProbe:
    """Create a small file below the lake's root as a commit is created, try it again, and remove it.

    No table is touched. Raises what the store raises where it takes no file.
    """
    place = f"{lake.root}/{PROBE_FOLDER}/{uuid.uuid4().hex}"
    filesystem, path = lake.storage.filesystem(place)
    if not is_remote(lake.root):
        filesystem.makedirs(f"{path}/{LOG}")
    log, began = lake.storage.log_files(place), clock()
    try:
        log.create(0, b"{}\n")
        ended, is_conditional = clock(), not log.create(0, b"{}\n")
        modified = filesystem.modified(f"{path}/{LOG}/{commit_name(0)}").astimezone(UTC)
    finally:
        can_remove = _remove(filesystem, path)
    return WriteProbe(is_conditional, can_remove, _outside(modified, began, ended))


def _remove(filesystem: object, path: str) -> bool:
    try:
        filesystem.rm(path, recursive=True)  # type: ignore[attr-defined]
    except Exception:  # whatever a store raises: it says that it removes nothing, which is what is asked
        return False
    with contextlib.suppress(OSError):
        # On a disk the folder stays otherwise; another probe may be in it.
        filesystem.rmdir(path.rpartition("/")[0])  # type: ignore[attr-defined]
    return True


def _outside(modified: datetime, began: datetime, ended: datetime) -> timedelta:
    """Return how far a time is before or after a span; stores round down to seconds, which is no difference."""
    if modified > ended:
        return modified - ended
    return min(timedelta(0), modified + timedelta(seconds=1) - began)
