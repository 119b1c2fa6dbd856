"""Background thread that feeds Kafka records to the collector and commits, so that poll() never delays heartbeats."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from collector.commit.committed_offsets import CommittedOffset
from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import BATCHES
from lake.spec.vocabulary import SourceKind
from lake.store.store_errors import log_failure

logger = logging.getLogger(__name__)

KafkaPartition = tuple[str, int]
"""Topic and number of a partition."""
Value = tuple[int, bytes]
"""A message's offset and value."""

_IDLE_SECONDS = 0.2
_RETRY_SECONDS = 1.0


def partition_of(topic_partition: KafkaPartition) -> Partition:
    """Return the same partition as a `Partition` of the collector."""
    return Partition(SourceKind.KAFKA, topic_partition[0], str(topic_partition[1]))


@dataclass
class _Job:
    """A job, done in order of arrival: adds `values`, or locates `topic_partitions`, or flushes if neither is set."""

    topic_partition: KafkaPartition | None = None
    begin: int = -1
    values: Sequence[Value] = ()
    bytes: int = 0
    topic_partitions: frozenset[KafkaPartition] = frozenset()
    done: threading.Event = field(default_factory=threading.Event)


class LakeWriter:
    """Adds values to a collector, one after the other, in a thread of its own.

    After an error the lake is tried again once a second. All methods return at once but `flush`, `drop` and `close`.
    """

    def __init__(self, collector: Collector, max_bytes: int) -> None:
        self._collector = collector
        self._max_bytes = max_bytes
        self._batches = collector.lake.table(BATCHES)
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._dropped = 0
        self._closed = False
        self._located: dict[KafkaPartition, int] = {}
        self._lost = False
        self._failing = False
        self._lines_before_failure = 0
        self._queued_bytes = 0
        self._taken: dict[KafkaPartition, deque[tuple[int, int]]] = {}
        self._thread = threading.Thread(target=self._run, name="kafka-lake-writer", daemon=True)
        self._thread.start()

    def put(self, topic_partition: KafkaPartition, begin: int, values: Sequence[Value]) -> int:
        """Queue values of one partition, in the order of their offsets, and return their bytes.

        `begin` is the offset before them: the last one that was put or located. A gap between values is a loss, see
        `take_loss`.
        """
        size = sum(len(raw) for _, raw in values)
        with self._changed:
            self._queued_bytes += size
            self._jobs.append(_Job(topic_partition, begin, values, size))
            self._changed.notify_all()
        return size

    def locate(self, topic_partitions: Iterable[KafkaPartition]) -> None:
        """Find the committed offsets of these partitions, after open batches are committed; see `located`."""
        with self._changed:
            self._jobs.append(_Job(topic_partitions=frozenset(topic_partitions)))
            self._changed.notify_all()

    def located(self) -> dict[KafkaPartition, int]:
        """Return, once, the last committed offset of each partition that was asked for; -1 for nothing."""
        with self._changed:
            located, self._located = self._located, {}
        return located

    def take_loss(self) -> bool:
        """Whether a batch was dropped since the last call: all partitions must then be located and read again."""
        with self._changed:
            lost, self._lost = self._lost, False
        return lost

    def is_full(self) -> bool:
        """Whether the limit of bytes that wait to be taken is reached."""
        return self.queued_bytes() >= self._max_bytes

    def queued_bytes(self) -> int:
        """Bytes of values that were put and are not yet rows of a batch."""
        with self._changed:
            return self._queued_bytes

    def waiting_bytes(self) -> int:
        """Bytes of values that were put and are not yet committed."""
        with self._changed:
            return self._queued_bytes + sum(size for taken in self._taken.values() for _, size in taken)

    def committed(self, topic_partition: KafkaPartition) -> int:
        """Return the last committed offset; -1 for nothing."""
        return self._collector.committed_offsets.offset(partition_of(topic_partition))

    def drop(self) -> None:
        """Drop all queued values; returns without waiting for the value that is being added."""
        with self._changed:
            self._drop()

    def flush(self, seconds: float) -> bool:
        """Commit what was added; return whether that ended, with or without an error, within the time."""
        job = _Job()
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()
        return job.done.wait(seconds)

    def close(self) -> None:
        """Stop before the next value; nothing more is committed."""
        with self._changed:
            self._closed = True
            self._drop()

    def _drop(self) -> None:
        self._dropped += 1
        self._located = {}
        for job in self._jobs:
            job.done.set()
        self._jobs.clear()
        self._queued_bytes = 0
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._jobs and not self._closed:
                    self._changed.wait(_IDLE_SECONDS)
                if self._closed:
                    return
                job = self._jobs.popleft() if self._jobs else None
                drop = self._dropped
            if job is None:
                self._idle(drop)
            elif job.topic_partition is not None:
                self._take(job.topic_partition, job, drop)
            elif job.topic_partitions:
                self._find(job.topic_partitions, drop)
            else:
                self._try(self._collector.flush)
                job.done.set()
            self._settle()

    def _idle(self, drop: int) -> None:
        if not self._try(self._collector.flush_if_due) or not self._try(self._require_taken):
            self._pause(drop)

    def _require_taken(self) -> None:
        """Check that added lines are still there: after a lost race of another source the lines of all are dropped."""
        for topic_partition, taken in self._taken.items():
            if taken and self._collector.offset(partition_of(topic_partition)) < taken[-1][0]:
                raise LostRaceError(
                    f"lines of {topic_partition[0]}-{topic_partition[1]} were given up with those of another source"
                )

    def _take(self, topic_partition: KafkaPartition, job: _Job, drop: int) -> None:
        partition, reached, added, size = partition_of(topic_partition), job.begin, 0, 0

        def add_the_rest() -> None:
            nonlocal reached, added, size
            while added < len(job.values) and not self._is_void(drop):
                offset, raw = job.values[added]
                self._collector.add(Piece(partition, raw, offset, reached))
                reached, added, size = offset, added + 1, size + len(raw)

        self._until_done(add_the_rest, drop)
        with self._changed:
            if drop == self._dropped:
                self._queued_bytes -= job.bytes
            if size:
                self._taken.setdefault(topic_partition, deque()).append((reached, size))

    def _find(self, topic_partitions: frozenset[KafkaPartition], drop: int) -> None:
        # Where another collector went on from here, the tables refuse what is open, and it is given up.
        if not self._until_done(self._collector.flush, drop):
            return
        located: dict[KafkaPartition, int] = {}
        if self._until_done(lambda: located.update(self._look(topic_partitions)), drop):
            with self._changed:
                if drop == self._dropped:
                    self._located |= located

    def _look(self, topic_partitions: frozenset[KafkaPartition]) -> dict[KafkaPartition, int]:
        partitions = {topic_partition: partition_of(topic_partition) for topic_partition in topic_partitions}
        progress = self._batches.progress(partition.app_id for partition in partitions.values())
        for partition in partitions.values():
            if partition.app_id in progress:
                self._collector.committed_offsets.advance(partition, CommittedOffset(progress[partition.app_id], None))
        return {topic_partition: self._collector.offset(partition) for topic_partition, partition in partitions.items()}

    def _until_done(self, step: Callable[[], object], drop: int) -> bool:
        """Try until it works; False if it is no longer needed."""
        while not self._is_void(drop):
            try:
                step()
            except LostRaceError as error:
                self._give_up(error)
                return False
            except Exception as error:
                self._fail(error)
                self._pause(drop)
            else:
                self._recover()
                return True
        return False

    def _try(self, step: Callable[[], object]) -> bool:
        try:
            step()
        except LostRaceError as error:
            self._give_up(error)
        except Exception as error:
            self._fail(error)
            return False
        self._recover()
        return True

    def _is_void(self, drop: int) -> bool:
        # Without the lock: it is asked before each value, and what changes meanwhile would change a moment later too.
        return self._closed or drop != self._dropped

    def _give_up(self, error: LostRaceError) -> None:
        logger.warning("%s: the open batch is given up, and read again from where the lake is", error)
        with self._changed:
            self._lost = True
            self._taken.clear()
            self._drop()

    def _fail(self, error: Exception) -> None:
        if not self._failing:
            log_failure(logger, error, "the lake does not take rows; trying again every %g s", _RETRY_SECONDS)
            self._lines_before_failure = self._collector.totals.lines
        self._failing = True

    def _recover(self) -> None:
        # A step that went well may only have sent a batch off: it is over when lines have arrived.
        if self._failing and self._collector.totals.lines > self._lines_before_failure:
            logger.info("the lake takes rows again")
            self._failing = False

    def _pause(self, drop: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or drop != self._dropped, _RETRY_SECONDS)

    def _settle(self) -> None:
        with self._changed:
            for topic_partition, taken in self._taken.items():
                committed = self.committed(topic_partition)
                while taken and taken[0][0] <= committed:
                    taken.popleft()
