"""How far every source is committed, as the lake's own batches tell."""

from __future__ import annotations

from dataclasses import dataclass

from collector.position import Partition
from lake import BATCHES, Lake


@dataclass(frozen=True, slots=True)
class Mark:
    """Position after the last committed line; `exhausted_size` is the file's size where its end was reached."""

    offset: int
    exhausted_size: int | None


class Books:
    """The committed position of every partition."""

    def __init__(self, lake: Lake) -> None:
        rows = lake.table(BATCHES).read(["source", "exhausted_size"]).to_pylist()
        self._marks: dict[str, Mark] = {}
        self._finished: dict[str, int] = {}
        for row in rows:
            source = row["source"]
            partition = Partition(source["kind"], source["name"], source["partition"])
            self.note(partition, Mark(source["offset"], row["exhausted_size"]))

    def note(self, partition: Partition, mark: Mark) -> None:
        """Take down that everything of this partition up to the mark is in the lake."""
        before = self._marks.get(partition.app_id)
        if before is None or mark.offset >= before.offset:
            self._marks[partition.app_id] = mark
            self._finished[partition.name] = -1 if mark.exhausted_size is None else mark.exhausted_size

    def offset(self, partition: Partition) -> int:
        """Offset of the last committed piece; the partition's start where nothing is committed."""
        mark = self._marks.get(partition.app_id)
        return partition.start if mark is None else mark.offset

    def is_finished(self, name: str, size: int) -> bool:
        """Whether the file under this name was read to its end when it had this size."""
        return self._finished.get(name) == size
