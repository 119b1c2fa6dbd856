"""Log files, local or on an S3-like store: found by globs, read from where the books say, once or again and again."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import fsspec
import orjson

from collector.pipeline import Collector
from collector.position import FILE, Partition, Piece
from collector.sources.lines import Line, read_lines
from lake import Storage, is_remote

logger = logging.getLogger(__name__)

REST = timedelta(minutes=5)
"""How long a local file must be unchanged until its unfinished end is taken for all that will come."""
_GLOB_MARKS = "*?["


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file as the store lists it; `modified_at` is None where it cannot change any more (an object)."""

    uri: str
    path: str
    size: int
    modified_at: datetime | None

    @property
    def name(self) -> str:
        """The URI as text that can be stored: names of files need not be Unicode."""
        return os.fsencode(self.uri).decode("utf-8", "replace")


@dataclass(frozen=True)
class FileSource:
    """The files that some paths, folders and globs name.

    A file is known by its path and its first line, so that a name that is used again is a new file. A file that was
    moved is new too; its lines are then dropped as duplicates, as far as the window of duplicates reaches.
    """

    paths: Sequence[str]
    storage: Storage
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    exclude: str | None = None
    """Folder or URI whose files are left out: the lake's own, where it stands among the logs."""

    def read_into(self, collector: Collector, stop: Callable[[], bool] = lambda: False) -> int:
        """Bring all that is new in the files into the collector, in order of their names, or until `stop` says so.

        Gives the number of files that there are. A file that cannot be read is logged and costs only itself.
        """
        files = self.find()
        for file in files:
            try:
                self._read(file, collector, stop)
            except FileNotFoundError:
                logger.warning("%s went away while it was read; what was read of it is kept", file.uri)
            except PermissionError as error:
                logger.error("%s cannot be read (%s): give the collector the right to read it", file.uri, error)
            if stop():
                break
        return len(files)

    def find(self) -> list[LogFile]:
        """List the files, each once, in order of their names."""
        found: dict[str, LogFile] = {}
        for pattern in self.paths:
            filesystem, path = self.storage.filesystem(pattern)
            for file in _matches(filesystem, path, is_remote(pattern)):
                if self.exclude is None or not file.uri.startswith(f"{self.exclude}/"):
                    found[file.uri] = file
        return [found[uri] for uri in sorted(found)]

    def _read(self, file: LogFile, collector: Collector, stop: Callable[[], bool]) -> None:
        if file.modified_at is None and collector.books.is_finished(file.name, file.size):
            return
        filesystem, _ = self.storage.filesystem(file.uri)
        with filesystem.open(file.path, "rb") as stream:
            first = next(read_lines(stream), None)
            if first is None or not self._can_take(first, file):
                return
            partition = _partition(file, first)
            start = collector.offset(partition)
            if start and collector.books.is_finished(file.name, file.size):
                return
            stream.seek(0)
            for line in read_lines(stream, start):
                if stop():
                    return
                if not self._can_take(line, file):
                    logger.info("%s: its end before byte %d is still being written", file.uri, line.offset)
                    return
                collector.add(Piece(partition, line.raw, line.offset, start, line.problem))
                start = line.offset
            collector.exhausted(partition, start, file.size)

    def _can_take(self, line: Line, file: LogFile) -> bool:
        """Whether a line is all there, or its file has rested so long that no more of it will come."""
        if line.ended or file.modified_at is None or self.clock() - file.modified_at >= REST:
            return True
        return _is_whole(line)


def _is_whole(line: Line) -> bool:
    if line.problem is not None or not line.raw.rstrip().endswith(b"}"):
        return False
    try:
        orjson.loads(line.raw)
    except orjson.JSONDecodeError:
        return False
    return True


def _partition(file: LogFile, first: Line) -> Partition:
    key = hashlib.sha256(os.fsencode(file.uri) + b"\0" + first.raw.strip()).hexdigest()[:32]
    return Partition(FILE, file.name, key)


def _matches(filesystem: Any, path: str, remote: bool) -> Iterator[LogFile]:
    if any(mark in path for mark in _GLOB_MARKS):
        found = filesystem.glob(path, detail=True)
    else:
        found = filesystem.find(path, detail=True)
    for name, info in sorted(found.items()):
        if info["type"] != "file" or name.rsplit("/", 1)[-1].startswith("."):
            continue
        modified_at = None if remote else datetime.fromtimestamp(info["mtime"], UTC)
        yield LogFile(f"{_scheme(filesystem)}{name}", name, info["size"], modified_at)


def _scheme(filesystem: fsspec.AbstractFileSystem) -> str:
    protocol = filesystem.protocol if isinstance(filesystem.protocol, str) else filesystem.protocol[0]
    return "" if protocol == "file" else f"{protocol}://"
