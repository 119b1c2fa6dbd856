"""An open log file: its identity, its position, and its next lines.

Files that grew recently are held open, so that lines written after a rename or deletion are read, too.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import BinaryIO, Self, cast

from collector.commit.position import Content, Partition
from collector.pipeline.collector import Collector
from collector.sources.files.contents import KnownContents, Taken
from collector.sources.files.identity import (
    checksum_after,
    content_checksum,
    ends_a_line,
    file_partition,
    hash_of_line,
    named_partition,
)
from collector.sources.files.listing import LogFile
from collector.sources.lines import SourceLine, is_packed, join_parts, read_lines
from lake.tables.storage import Storage

Inode = tuple[int, int]
MOST_OPEN = 64
"""Files held open at most; those that grew longest ago are closed first."""


class UnreadableFileError(RuntimeError):
    """A file that cannot be read now; the message says why and what to do."""


@dataclass
class OpenFile:
    """A file and the position up to which its lines were taken.

    `checksum` is that of the lines up to `offset`; None where it has to be read, or cannot be known, as no line ends
    there any more. For objects it is not kept: nobody moves or packs them.
    """

    listed: LogFile
    stream: BinaryIO
    first_line: SourceLine
    begins: str
    packed: bool
    partition: Partition
    offset: int = 0
    checksum: int | None = None
    _is_checked: bool = False

    @classmethod
    def open(cls, file: LogFile, storage: Storage) -> Self | None:
        """Open a file and read its first line; None where it has none yet. Raises UnreadableFileError."""
        try:
            stream = _open(file, storage)
        except Exception as error:
            raise _unreadable(file, error) from error
        first = None
        try:
            packed = is_packed(stream)
            first = next(read_lines(stream), None)
        except Exception as error:
            raise _unreadable(file, error) from error
        finally:
            if first is None:
                stream.close()
        if first is None:
            return None
        return cls(file, stream, first, hash_of_line(first.raw), packed, file_partition(file, first.raw))

    def close(self) -> None:
        """Close the file."""
        self.stream.close()

    def status(self) -> os.stat_result | None:
        """Size and times of a local file, wherever it is now; None for an object."""
        return None if self.listed.modified_at is None else os.fstat(self.stream.fileno())

    def inode(self) -> Inode | None:
        """Identity of a local file as long as it is open: device and inode; None for an object."""
        status = self.status()
        return status and (status.st_dev, status.st_ino)

    def size(self) -> int:
        """Bytes that it has now."""
        status = self.status()
        return self.listed.size if status is None else status.st_size

    def size_at_end(self) -> int:
        """Bytes that it had when its end was reached: it may have grown since it was listed, and since its end too."""
        return self.listed.size if self.packed else max(self.listed.size, self.offset)

    def modified_at(self) -> datetime | None:
        """When it was last written to; None for an object, which cannot change."""
        status = self.status()
        return status and datetime.fromtimestamp(status.st_mtime, UTC)

    def has_moved(self) -> bool:
        """Whether another file, or none, has its path now."""
        try:
            status = Path(self.listed.path).stat()
        except OSError:
            return True
        return (status.st_dev, status.st_ino) != self.inode()

    def find_place(self, contents: KnownContents, same_file: OpenFile | None) -> None:
        """Find the position up to which lines were read before.

        `same_file` is the same file as it was held open, under this name or its earlier one. Raises LostRaceError if
        lines before that position are given up meanwhile.
        """
        collector = contents.collector
        if same_file is not None and (
            same_file.first_line.raw != self.first_line.raw
            # Its lines may be of a batch that was given up: they are read again.
            or collector.offset(same_file.partition) < same_file.offset
        ):
            same_file = None
        self._choose_generation(collector)
        if self.listed.modified_at is None:
            return
        if self.offset == 0:
            taken = same_file.taken() if same_file else self._known_elsewhere(contents)
            if taken is not None and taken.offset:
                collector.move(self.partition, taken.offset, taken.partition, taken.content)
                self.offset = taken.offset
                if taken.content is not None:
                    self._set_checksum(taken.content.checksum)
                return
            self._set_checksum(0)
        elif (place := contents.place(self.partition, self.begins, self.offset)) is not None:
            self._set_checksum(place[1])

    def go_to(self, offset: int) -> None:
        """Set the position to the offset of the collector, after a batch was dropped."""
        if offset != self.offset:
            self.offset, self.checksum, self._is_checked = offset, None if offset else 0, not offset

    def taken(self) -> Taken:
        """Return what was taken of it."""
        return Taken(self.offset, self.partition, self.content())

    def content(self) -> Content | None:
        """Return what it holds up to its position, if it may be renamed and that is known."""
        return self._content(self.checksum)

    def _content(self, checksum: int | None) -> Content | None:
        return None if checksum is None else Content(self.begins, checksum)

    def lines(self) -> Iterator[tuple[SourceLine, Content | None]]:
        """Yield the lines behind the position, with what the file holds up to the end of each.

        The position moves on when the next one is asked for. Raises UnreadableFileError.
        """
        self.know_checksum()
        lines = join_parts(read_lines(self.stream, self.offset))
        while True:
            try:
                line = next(lines, None)
            except Exception as error:
                raise _unreadable(self.listed, error) from error
            if line is None:
                return
            checksum = None if self.checksum is None else checksum_after(line, self.checksum)
            yield line, self._content(checksum)
            self.offset, self.checksum = line.offset, checksum

    def know_checksum(self) -> None:
        """Read the lines up to the position once more where their checksum is missing; raises UnreadableFileError."""
        if self.listed.modified_at is None or self._is_checked:
            return
        try:
            self._set_checksum(content_checksum(self.stream, self.offset))
        except Exception as error:
            raise _unreadable(self.listed, error) from error

    def _set_checksum(self, checksum: int | None) -> None:
        self.checksum, self._is_checked = checksum, True

    def is_of(self, earlier: Partition, collector: Collector) -> bool:
        """Whether this would be the partition of its first line if the file had the name of that one."""
        partitions = (named_partition(earlier.name, self.first_line.raw, generation) for generation in count())
        return earlier == next(one for one in partitions if one == earlier or not collector.offset(one))

    def is_known(self, contents: KnownContents) -> bool:
        """Whether it cannot be renamed, or a file that begins like it is known by its content."""
        return self.listed.modified_at is None or contents.begins_as_known(self.begins)

    def note_content(self, contents: KnownContents) -> None:
        """Note what the file holds up to its position, so that it is known under another name."""
        if self._is_checked and self.offset:
            contents.note(self.partition, self.begins, (self.offset, self.checksum))

    def _choose_generation(self, collector: Collector) -> None:
        self.offset = collector.offset(self.partition)
        for generation in count(1):
            following = file_partition(self.listed, self.first_line.raw, generation)
            offset = collector.offset(following)
            if not offset and (not self.offset or self._can_have_ended_at(self.offset)):
                return
            self.partition, self.offset = following, offset

    def _can_have_ended_at(self, offset: int) -> bool:
        if self.packed or self.listed.modified_at is None:
            return True
        try:
            return ends_a_line(self.stream, self.size(), offset)
        except OSError as error:
            raise _unreadable(self.listed, error) from error

    def _known_elsewhere(self, contents: KnownContents) -> Taken | None:
        try:
            return contents.find(self.stream, self.begins)
        except Exception as error:
            raise _unreadable(self.listed, error) from error


class Tails:
    """The files that are held open, by device and inode."""

    def __init__(self) -> None:
        self._files: OrderedDict[Inode, OpenFile] = OrderedDict()

    def hold(self, file: OpenFile) -> None:
        """Hold a file that has just grown, in place of what was held of it before."""
        inode = file.inode()
        if inode is None:
            return
        before = self._files.pop(inode, None)
        if before is not None and before is not file:
            before.close()
        self._files[inode] = file
        while len(self._files) > MOST_OPEN:
            self._files.popitem(last=False)[1].close()

    def get(self, inode: Inode | None) -> OpenFile | None:
        """Return what is held of this file."""
        return None if inode is None else self._files.get(inode)

    def holds(self, file: OpenFile) -> bool:
        """Whether this file is held and must stay open."""
        return any(held is file for held in self._files.values())

    def moved(self) -> list[OpenFile]:
        """Return those whose path names another file now, or none."""
        return [file for file in self._files.values() if file.has_moved()]

    def let_go(self, file: OpenFile) -> None:
        """Close a file."""
        inode = file.inode()
        if inode is not None and self._files.get(inode) is file:
            del self._files[inode]
        file.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let all files go."""
        while self._files:
            self._files.popitem()[1].close()


def _open(file: LogFile, storage: Storage) -> BinaryIO:
    if file.modified_at is not None:
        # What was listed is opened, also if somebody has put a link in its place since.
        return os.fdopen(os.open(file.real or file.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb")
    filesystem, _ = storage.filesystem(file.uri)
    return cast(BinaryIO, filesystem.open(file.path, "rb"))


def _unreadable(file: LogFile, error: Exception) -> UnreadableFileError:
    if isinstance(error, FileNotFoundError):
        return UnreadableFileError(f"{file.uri} went away before it was read; what was read of it is kept")
    if isinstance(error, PermissionError):
        return UnreadableFileError(f"{file.uri} cannot be read ({error}): give the collector the right to read it")
    return UnreadableFileError(
        f"{file.uri} cannot be read now ({type(error).__name__}: {error}); it is tried again at the next look"
    )
