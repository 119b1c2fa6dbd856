"""Contents of files, by which a file is known after it was renamed, copied or compressed, so that it is read on.

A content is the first line, the number of bytes and a checksum of all its lines. It is stored as a row of `_batches`
without lines, written when all its lines are in the lake. So it costs no table a transaction of its own, and where
the row is missing (a crash in between) the file is read again, and its lines are duplicates.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import BinaryIO, NamedTuple

import pyarrow.dataset as ds

from collector.commit.position import Partition
from collector.pipeline.collector import Collector
from collector.sources.files.identity import checksum_after, hash_of
from collector.sources.lines import read_lines
from lake.spec.root_tables import BATCHES
from lake.spec.service_vocabulary import LineOutcome
from lake.spec.vocabulary import SourceKind
from lake.tables.table import Table

_NAME = "content of files"
_COUNTS = ("bytes", "lines", *LineOutcome)

Content = tuple[int, int]
"""The number of bytes, which is a position, and the checksum of the lines up to there."""


class Taken(NamedTuple):
    """Position up to which lines were taken from another file, and that file, unless they are in the lake."""

    offset: int
    waiting: Partition | None = None


class KnownContents:
    """File contents whose lines are in the lake or in uncommitted batches of this collector; it reads the lake."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._written = _read(collector.lake.table(BATCHES))
        self._waiting: dict[str, dict[Content, Partition]] = defaultdict(dict)

    def begins_as_known(self, first_line: bytes) -> bool:
        """Whether there is a content that begins with this line."""
        begins = _begins(first_line)
        return begins in self._written or begins in self._waiting

    def find(self, stream: BinaryIO, first_line: bytes) -> Taken | None:
        """Find how many lines of this stream were taken from another file; None where none were.

        Only a stream with a known first line is read, without being parsed.
        """
        if not self.begins_as_known(first_line):
            return None
        begins, known, so_far = _begins(first_line), None, 0
        stream.seek(0)
        for line in read_lines(stream):
            so_far = checksum_after(line, so_far)
            known = self._taken(begins, (line.offset, so_far)) or known
        return known

    def add(self, partition: Partition, first_line: bytes, content: Content) -> None:
        """Add the content of a file that was read up to the end of that content."""
        begins = _begins(first_line)
        if content not in self._written.get(begins, ()):
            self._waiting[begins][content] = partition

    def write(self, now: datetime) -> None:
        """Write the contents whose lines are all committed. After an error they are kept for the next call."""
        committed = self.collector.committed_offsets
        done = [
            (begins, content)
            for begins, contents in self._waiting.items()
            for content, partition in contents.items()
            if committed.offset(partition) >= content[0]
        ]
        if not done:
            return
        self.collector.lake.table(BATCHES).append(BATCHES.rows([_row(*one, now) for one in done]))
        for begins, content in done:
            self._written.setdefault(begins, set()).add(content)
            del self._waiting[begins][content]
            if not self._waiting[begins]:
                del self._waiting[begins]

    def _taken(self, begins: str, content: Content) -> Taken | None:
        if content in self._written.get(begins, ()):
            return Taken(content[0])
        partition = self._waiting.get(begins, {}).get(content)
        # Its lines may be of a batch that was given up.
        if partition is None or self.collector.offset(partition) < content[0]:
            return None
        return Taken(content[0], partition)


def _read(table: Table) -> dict[str, set[Content]]:
    written: dict[str, set[Content]] = {}
    columns = {"key": ds.field("source", "partition")}
    for batch in table.dataset().to_batches(columns=columns, filter=ds.field("source", "name") == _NAME):
        for key in batch["key"].to_pylist():
            _, begins, offset, checksum = key.split(":")
            written.setdefault(begins, set()).add((int(offset), int(checksum, 16)))
    return written


def _row(begins: str, content: Content, now: datetime) -> dict[str, object]:
    offset, checksum = content
    partition = Partition(SourceKind.FILE, _NAME, f"content:{begins}:{offset}:{checksum:08x}")
    return {
        "date": now.date(),
        "source": partition.source(offset),
        "first_offset": offset,
        **dict.fromkeys(_COUNTS, 0),
        "committed_at": now,
    }


def _begins(first_line: bytes) -> str:
    return hash_of(first_line.strip())
