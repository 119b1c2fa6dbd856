"""Age of files that were written and not yet committed: a vacuum takes an old one for that of a killed writer."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from lake.store.whole_files import WholeFiles

WRITER_GRACE = timedelta(minutes=10)
"""How long a file that no commit has added may still be that of a writer at work."""
LOOK_AFTER = WRITER_GRACE / 2
"""Age from which a file is looked at before a commit names it: its writer may have been suspended."""


class FilesGoneError(FileNotFoundError):
    """A file that was written is gone, or about to go, before a commit has named it: write its rows anew."""


@dataclass(frozen=True)
class Moment:
    """A time by both clocks: the monotonic one may stand still while a machine sleeps, the other may be set back."""

    monotonic: float = field(default_factory=time.monotonic)
    wall: float = field(default_factory=time.time)

    def age(self) -> timedelta:
        """Return the time since then by the clock that says more."""
        return timedelta(seconds=max(time.monotonic() - self.monotonic, time.time() - self.wall))


def require_in_folder(folder: Path, files: Iterable[str]) -> None:
    """Raise FilesGoneError where a file below a folder is gone; an old one is made young, for the vacuum."""
    for file in files:
        path = folder / file
        try:
            if time.time() - path.stat().st_mtime > LOOK_AFTER.total_seconds():
                os.utime(path)
        except FileNotFoundError as error:
            raise FilesGoneError(f"{path} was removed before its commit: its rows must be written anew") from error


class Written(Protocol):
    """A file that was written below a table's folder."""

    @property
    def path(self) -> str:
        """Below the folder."""
        ...

    @property
    def written(self) -> Moment:
        """When it was written."""
        ...


def require_files(uri: str, fetch: WholeFiles | None, files: Iterable[Written]) -> None:
    """Raise FilesGoneError where files of the table at `uri` are gone, or old enough for the next vacuum.

    `fetch` reads files of a store, None in a folder. Of a store only files are asked for that were written a while ago.
    """
    if fetch is None:
        require_in_folder(Path(uri.removeprefix("file://")), [file.path for file in files])
        return
    for file in files:
        if file.written.age() < LOOK_AFTER:
            continue
        try:
            is_old = fetch.age(file.path) > LOOK_AFTER
        except FileNotFoundError:
            is_old = True
        if is_old:
            raise FilesGoneError(
                f"{uri}/{file.path} was written {file.written.age()} ago, and a vacuum takes it for unused: "
                "its rows must be written anew"
            )
