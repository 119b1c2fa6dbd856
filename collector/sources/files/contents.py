"""Contents of files, by which a file is known after it was renamed, copied or compressed, so that it is read on.

The content of a file is committed with the position up to which its lines were taken, so it is known whenever the
process ends. Of each file the newest one is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

import pyarrow.compute as pc

from collector.commit.committed_offsets import newest_rows
from collector.commit.position import Content, Partition
from collector.pipeline.collector import Collector
from collector.sources.files.identity import checksum_after
from collector.sources.lines import read_lines
from lake.spec.root_tables import BATCHES
from lake.spec.vocabulary import SourceKind
from lake.tables.table import Table

_ROW_OF_ITS_OWN = "content of files"
"""Name in rows of `_batches` by which an earlier version stored contents, apart from positions."""

Place = tuple[int, int | None]
"""Position and the checksum of the lines up to there; None where no line ends there any more."""


class Taken(NamedTuple):
    """Position up to which lines were taken from another file, that file, and what it holds up to there if known."""

    offset: int
    partition: Partition
    content: Content | None


class KnownContents:
    """File contents whose lines are in the lake or in uncommitted batches of this collector; it reads the lake.

    They are current until the collector gives up what is not committed: the lake alone knows the place that a file had
    reached before that.

    `is_growing` tells whether a file is still there under its name and grows: another one that begins with all that it
    holds so far, such as the same greeting, is then not taken for it.
    """

    def __init__(self, collector: Collector, is_growing: Callable[[Taken], bool] = lambda _: False) -> None:
        self.collector = collector
        self._times_given_up = collector.times_given_up
        self._is_growing = is_growing
        self._places: dict[str, dict[Partition, Place]] = defaultdict(dict)
        for partition, offset, content in _read(collector.lake.table(BATCHES)):
            self.note(partition, content.begins, (offset, content.checksum))

    def are_current(self, collector: Collector) -> bool:
        """Whether they are of this collector, and it has given up nothing since they were read."""
        return self.collector is collector and self._times_given_up == collector.times_given_up

    def begins_as_known(self, begins: str) -> bool:
        """Whether there is a content whose first line has this hash."""
        return begins in self._places

    def place(self, partition: Partition, begins: str, offset: int) -> Place | None:
        """Return the newest place in this file if it is at `offset`; None where nothing is known of that."""
        place = self._places.get(begins, {}).get(partition)
        return place if place is not None and place[0] == offset else None

    def note(self, partition: Partition, begins: str, place: Place) -> None:
        """Note the place up to which the lines of a file were taken, instead of what was known of it."""
        self._places[begins][partition] = place

    def find(self, stream: BinaryIO, begins: str) -> Taken | None:
        """Find how many lines of this stream were taken from another file; None where none were.

        Only a stream with a known first line is read, as far as such a file was read, without being parsed.
        """
        known: dict[Place, list[Partition]] = defaultdict(list)
        for partition, place in self._places.get(begins, {}).items():
            # Lines of a batch that was given up are not taken.
            if self.collector.offset(partition) >= place[0]:
                known[place].append(partition)
        furthest, so_far, found = max((offset for offset, _ in known), default=0), 0, list[Taken]()
        stream.seek(0)
        for line in read_lines(stream) if known else ():
            so_far = checksum_after(line, so_far)
            found += [
                Taken(line.offset, partition, Content(begins, so_far))
                for partition in known.get((line.offset, so_far), ())
            ]
            if line.offset >= furthest:
                break
        return next((taken for taken in reversed(found) if not self._is_growing(taken)), None)


def _read(table: Table) -> Iterator[tuple[Partition, int, Content]]:
    rows = newest_rows(table)
    is_apart = pc.equal(rows["name"], _ROW_OF_ITS_OWN)
    for row in rows.filter(pc.or_(pc.is_valid(rows["content"]), is_apart)).to_pylist():
        stored = row["content"]
        if stored is None:
            _, begins, _, checksum = row["partition"].split(":")
            stored = f"{begins}:{checksum}"
        yield Partition(SourceKind.FILE, row["name"], row["partition"]), row["offset"], Content.parse(stored)
