"""Where a line stands in its source."""

from __future__ import annotations

from dataclasses import dataclass

from collector.parsing import SignalRecord
from lake import SourceKind


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of a source whose lines have one order: a file, a Kafka partition, one run of the HTTP endpoint.

    `kind` is file, http or kafka, `name` what a person calls it (a path, a topic), `key` what tells it from all other
    partitions of that kind, also after the file under that name was replaced.
    """

    kind: str
    name: str
    key: str

    @property
    def app_id(self) -> str:
        """Name under which tables remember how far they have this partition."""
        if self.kind == SourceKind.KAFKA:
            return f"{self.name}-{self.key}"
        return f"{self.kind}:{self.key}"

    @property
    def start(self) -> int:
        """Position before anything was taken. Kafka counts messages from 0, the others say where a line ends."""
        return -1 if self.kind == SourceKind.KAFKA else 0

    def source(self, offset: int) -> dict[str, str | int]:
        """Give the `source` column of a row that came from here; `offset` is its piece's."""
        return {"kind": self.kind, "name": self.name, "partition": self.key, "offset": offset}


@dataclass(frozen=True, slots=True)
class Piece:
    """What a source hands over at once: a line, a Kafka message's value, an HTTP body's line.

    `offset` is the message's own in Kafka, else the position after the line. `begin` is the `offset` before it, from
    which the source can be read again. `problem` is set where the source itself could not read on, as a reason and a
    message; `raw` is then what it had. `record` is set for a signal that is no log line: it is taken as it is.
    """

    partition: Partition
    raw: bytes
    offset: int
    begin: int | None = None
    problem: tuple[str, str] | None = None
    record: SignalRecord | None = None
