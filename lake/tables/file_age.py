"""Age of files that were written and not yet committed: a vacuum takes an old one for that of a killed writer."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

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
        """Give the time since then by the clock that says more."""
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
