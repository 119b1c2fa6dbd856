"""Position of a line: the partition of a source, and the offset in it."""

from __future__ import annotations

from typing import NamedTuple, Self

import msgspec

from collector.parsing import SignalRecord
from lake.spec.vocabulary import SourceKind


class Partition(msgspec.Struct, frozen=True, gc=False):
    """A part of a source whose lines are in order: a file, a Kafka partition, one run of the HTTP endpoint.

    `kind` is file, http or kafka. `name` is the path or topic. `key` identifies the partition among all of that kind,
    also after the file of that name was replaced.
    """

    kind: str
    name: str
    key: str

    @property
    def app_id(self) -> str:
        """Name of this partition in the transaction logs of the tables, which keep its committed offset."""
        if self.kind == SourceKind.KAFKA:
            return f"{self.name}-{self.key}"
        return f"{self.kind}:{self.key}"

    @property
    def start(self) -> int:
        """Offset before the first line. Kafka counts messages from 0; for the others an offset is the end of a line."""
        return -1 if self.kind == SourceKind.KAFKA else 0

    def source(self, offset: int) -> dict[str, str | int]:
        """Return the value of the column `source` for a row of this partition; `offset` is that of its piece."""
        return {"kind": self.kind, "name": self.name, "partition": self.key, "offset": offset}


class Content(NamedTuple):
    """What a file holds up to a position: the hash of its first line, and a checksum of all its lines up to there."""

    begins: str
    checksum: int

    def __str__(self) -> str:
        """Return the text that is stored, which `parse` reads."""
        return f"{self.begins}:{self.checksum:08x}"

    @classmethod
    def parse(cls, stored: str) -> Self:
        """Return the content of a text of `__str__`."""
        begins, checksum = stored.split(":")
        return cls(begins, int(checksum, 16))


class Piece(msgspec.Struct, frozen=True, gc=False):
    """One item that a source delivers: a line of a file, the value of a Kafka message, a line of an HTTP body.

    `offset` is that of the message in Kafka, else the position after the line. `begin` is the `offset` of the piece
    before, from which the source can be read again. `problem` is a reason and a message if the source could not read
    on; `raw` is then the part that it had read. `record` is set for a signal that is not a log line: it is stored as
    it is. `content` is that of the file up to `offset`, if the file may be renamed.
    """

    partition: Partition
    raw: bytes
    offset: int
    begin: int | None = None
    problem: tuple[str, str] | None = None
    record: SignalRecord | None = None
    content: Content | None = None
