"""Log files, local or on an S3-like store: found by globs, read from the committed offsets, once or repeatedly."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec

from collector.commit.position import Partition, Piece
from collector.metrics.last_lines import LastLines
from collector.pipeline.collector import Collector
from collector.sources.files.contents import KnownContents, Taken
from collector.sources.files.listing import Listing, LogFile
from collector.sources.files.open_file import OpenFile, Tails, UnreadableFileError
from collector.sources.lines import SourceLine
from lake.spec.vocabulary import SourceKind
from lake.tables.storage import Storage

logger = logging.getLogger(__name__)

REST = timedelta(minutes=5)
"""Time that a local file must be unchanged until its last line counts as complete without a newline."""
NO_FILE = "no file matches: check the path, that its disk is mounted, and that the folder was not renamed"
_LINES_PER_NOTE = 1000
_FILE_CLOCK_STEP = timedelta(seconds=2)
"""A file that changed so lately may change again and show the same time."""


@dataclass(frozen=True, slots=True)
class _Finished:
    """A file as it was when it was read to its end, and the position there."""

    listed: LogFile
    partition: Partition
    offset: int
    rested: bool


class FileSource:
    """The files that some paths, folders and globs name.

    `collector.sources.files.identity` defines the identity of a file. Files that grow are held open between two
    polls, so that the rest of a renamed or deleted file is read. `exclude` is a folder or URI whose files are left out:
    that of the lake, if it is among the logs. It is not safe for use by several threads at once.
    """

    def __init__(
        self,
        paths: Sequence[str],
        storage: Storage,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        exclude: str | None = None,
        last_lines: LastLines | None = None,
    ) -> None:
        """`last_lines` is told of each path what it lacks, and when it got a line."""
        self.paths = paths
        self.unreadable: dict[str, str] = {}
        """Files that could not be read at the last look, by URI, and why."""
        self._storage = storage
        self._clock = clock
        self._exclude = exclude
        self._listings = [Listing(path, storage, clock, exclude) for path in paths]
        self._last_lines = last_lines or LastLines()
        for path in paths:
            self._last_lines.expect(source_name(path), "see that its writer is at work and still writes there")
        self._tails = Tails()
        self._finished: dict[str, _Finished] = {}
        self._listed: dict[str, LogFile] = {}
        self._contents: KnownContents | None = None

    def read_into(self, collector: Collector, stop: Callable[[], bool] = lambda: False) -> int:
        """Add all new lines of the files to the collector, in order of their names, until `stop` returns true.

        Returns the number of files that were found. A file that cannot be read is logged, costs only itself and is
        tried again the next time. Errors of the lake are raised.
        """
        if self._contents is None or not self._contents.are_current(collector):
            self._contents = KnownContents(collector, self._is_growing)
        contents = self._contents
        files = self.find()
        self._listed = {file.name: file for file in files}
        self._note_missing(files)
        # After the listing, so that a file which was found under a new name is known to have moved.
        for moved in self._tails.moved():
            self._attempt(moved.listed.uri, partial(self._read_rest, moved, contents, stop))
        for file in files:
            if not self._is_finished(file, collector):
                self._attempt(file.uri, partial(self._read_file, file, contents, stop))
            if stop():
                break
        self._forget_what_is_gone(files)
        return len(files)

    def find(self) -> list[LogFile]:
        """List the files, each once, in order of their names; of a file and links to it the file."""
        found: dict[str, LogFile] = {}
        for listing in self._listings:
            for file in listing.find():
                if self._exclude is None or not file.uri.startswith(f"{self._exclude}/"):
                    before = found.get(file.real or file.uri)
                    if before is not None:
                        named_by = tuple(dict.fromkeys(before.named_by + file.named_by))
                        file = replace(min(before, file, key=_order), named_by=named_by)
                    found[file.real or file.uri] = file
        return sorted(found.values(), key=lambda file: file.uri)

    @property
    def problem(self) -> str | None:
        """How many files could not be read at the last look, and why the first of them."""
        reasons = list(self.unreadable.values())
        more = f" ({len(reasons) - 1} more files cannot be read)" if len(reasons) > 1 else ""
        return f"{reasons[0]}{more}" if reasons else None

    def close(self) -> None:
        """Close the open files."""
        self._tails.close()

    def _attempt(self, uri: str, read: Callable[[], None]) -> None:
        try:
            read()
        except UnreadableFileError as error:
            if self.unreadable.get(uri) != str(error):
                logger.error("%s", error)
            self.unreadable[uri] = str(error)
        else:
            self.unreadable.pop(uri, None)

    def _is_finished(self, file: LogFile, collector: Collector) -> bool:
        """Whether a file cannot have new lines; it is not opened."""
        if file.modified_at is None and collector.committed_offsets.is_finished(file.name, file.size):
            self._finished.pop(file.uri, None)
            return True
        finished = self._finished.get(file.uri)
        return (
            finished is not None
            and finished.listed == file
            and (finished.rested or not self._rests(file.modified_at))
            and collector.offset(finished.partition) == finished.offset
        )

    def _read_file(self, listed: LogFile, contents: KnownContents, stop: Callable[[], bool]) -> None:
        collector = contents.collector
        file = OpenFile.open(listed, self._storage)
        if file is None:
            return
        try:
            held = self._tails.get(file.inode())
            if held is not None and (held.first_line.raw != file.first_line.raw or held.offset > file.size()):
                held = None  # Cut short and written anew; a copy of what it held is known by its content.
            if not self._can_take(file.first_line, file):
                return
            file.find_place(contents, held)
            self._find_earlier_name(file, collector)
            if file.offset and collector.committed_offsets.is_exhausted(file.partition, listed.size):
                self._finish(file, contents)
                return
            at_end = self._read_on(file, contents, stop)
            if not file.packed and not self._rests(file.modified_at()):
                self._tails.hold(file)
            if at_end:
                self._finish(file, contents)
        finally:
            if not self._tails.holds(file):
                file.close()

    def _read_rest(self, file: OpenFile, contents: KnownContents, stop: Callable[[], bool]) -> None:
        """Read what was written to a file before, or soon after, it left its name."""
        collector = contents.collector
        file.go_to(collector.offset(file.partition))
        before = file.offset
        if not self._read_on(file, contents, stop):
            return
        if file.offset != before:
            collector.record_end_of_file(file.partition, file.offset, file.size_at_end(), file.content())
        if self._rests(file.modified_at()) and collector.committed_offsets.offset(file.partition) == file.offset:
            self._tails.let_go(file)

    def _read_on(self, file: OpenFile, contents: KnownContents, stop: Callable[[], bool]) -> bool:
        """Take the lines that are new; returns whether the file was read to its end."""
        try:
            return self._take_lines(file, contents.collector, stop)
        finally:
            file.note_content(contents)

    def _take_lines(self, file: OpenFile, collector: Collector, stop: Callable[[], bool]) -> bool:
        for number, (line, content) in enumerate(file.lines()):
            if stop():
                return False
            if not self._can_take(line, file):
                logger.debug("%s: its end before byte %d is still being written", file.listed.uri, line.offset)
                return False
            collector.add(Piece(file.partition, line.raw, line.offset, file.offset, line.problem, content=content))
            if number % _LINES_PER_NOTE == 0:
                for path in file.listed.named_by:
                    self._last_lines.note(source_name(path))
        return True

    def _finish(self, file: OpenFile, contents: KnownContents) -> None:
        collector, listed = contents.collector, file.listed
        was_finished = collector.committed_offsets.is_exhausted(file.partition, listed.size)
        if not was_finished or not file.is_known(contents):
            file.know_checksum()
            collector.record_end_of_file(file.partition, file.offset, file.size_at_end(), file.content())
            file.note_content(contents)
        rested = self._rests(listed.modified_at)
        if listed.modified_at is None or self._clock() - listed.modified_at >= _FILE_CLOCK_STEP:
            self._finished[listed.uri] = _Finished(listed, file.partition, file.offset, rested)

    def _find_earlier_name(self, file: OpenFile, collector: Collector) -> None:
        """Tell the collector the earlier name of a file that was renamed after a batch with lines of it was cut off."""
        cut_off = collector.cut_off
        cut_off.found(file.partition)
        for earlier in cut_off.partitions():
            if self._was_named(file, earlier, collector):
                cut_off.renamed(earlier, file.partition)

    def _was_named(self, file: OpenFile, earlier: Partition, collector: Collector) -> bool:
        """Whether a file begins as one of that folder that is no longer there under its name.

        Files of other folders may have the same greeting.
        """
        if Path(earlier.name).parent != Path(file.listed.name).parent or not file.is_of(earlier, collector):
            return False
        listed = self._listed.get(earlier.name)
        try:
            other = None if listed is None else OpenFile.open(listed, self._storage)
        except UnreadableFileError:
            return False
        if other is None:
            return True
        with closing(other):
            return other.begins != file.begins

    def _is_growing(self, taken: Taken) -> bool:
        """Whether a file that lines were taken from is still there under its name, and grows."""
        listed = self._listed.get(taken.partition.name)
        if listed is None or self._rests(listed.modified_at) or listed.size < taken.offset:
            return False
        try:
            file = OpenFile.open(listed, self._storage)
            if file is None:
                return False
            with closing(file):
                file.go_to(taken.offset)
                file.know_checksum()
                return file.content() == taken.content
        except UnreadableFileError:
            return True

    def _rests(self, modified_at: datetime | None) -> bool:
        return modified_at is None or self._clock() - modified_at >= REST

    def _can_take(self, line: SourceLine, file: OpenFile) -> bool:
        """Whether a line is all there, or its file has rested so long that no more of it will come."""
        return line.ended or self._rests(file.modified_at()) or _is_whole(line)

    def _note_missing(self, files: Sequence[LogFile]) -> None:
        matched = {path for file in files for path in file.named_by}
        for path in self.paths:
            self._last_lines.note_missing(source_name(path), None if path in matched else NO_FILE)

    def _forget_what_is_gone(self, files: Sequence[LogFile]) -> None:
        if self.unreadable:
            known = {file.uri for file in files} | {moved.listed.uri for moved in self._tails.moved()}
            self.unreadable = {uri: why for uri, why in self.unreadable.items() if uri in known}
        if len(self._finished) > 2 * len(files) + 1000:
            found = {file.uri for file in files}
            self._finished = {uri: seen for uri, seen in self._finished.items() if uri in found}


def _order(file: LogFile) -> tuple[bool, bool, str]:
    """Order of the names of one file: those that are no links first."""
    real = file.real or file.uri
    return file.uri != real, Path(file.uri).name != Path(real).name, file.uri


def source_name(path: str) -> str:
    """Return the name of a path, folder or glob in `LastLines`."""
    return f"{SourceKind.FILE} {path}"


def _is_whole(line: SourceLine) -> bool:
    if line.problem is not None or not line.raw.rstrip().endswith(b"}"):
        return False
    try:
        msgspec.json.decode(line.raw, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
