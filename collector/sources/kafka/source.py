"""Kafka source: each partition is read from its committed offset in the lake, whichever collector read it before."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError
from kafka.structs import OffsetAndMetadata

from collector.metrics.last_lines import LastLines
from collector.pipeline.collector import Collector
from collector.sources.kafka.client import connect, go_on_joining, known_topics
from collector.sources.kafka.lake_writer import KafkaPartition, LakeWriter, Value
from collector.sources.kafka.settings import KafkaSettings
from lake.spec.vocabulary import SourceKind

logger = logging.getLogger(__name__)

_POLL_MILLISECONDS = 200
_POLL_BYTES = 4 << 20
"""About so much is fetched at once: a poll's records are in memory before their bytes can be counted."""
_MOST_RECORDS = 4000
_ASK_SECONDS = 10.0
_ANSWER_MILLISECONDS = 3000
_NO_TOPIC = "there is no such topic, or this user may not see it: check collector.kafka.topics and the broker's rights"
_RETRY_SECONDS = 2.0
_FLUSH_SECONDS = 8.0
_LEAVE_MILLISECONDS = 2000


class KafkaSource:
    """A member of the consumer group.

    Only the offsets in the lake count. They are also committed to the broker, for people who look at the group's lag
    there.
    """

    def __init__(self, settings: KafkaSettings, collector: Collector, last_lines: LastLines | None = None) -> None:
        """`last_lines` is told of each topic whether it is there, and when it gave a message."""
        self._settings = settings
        self._last_lines = last_lines or LastLines()
        for topic in settings.topics:
            self._last_lines.expect(_source_name(topic), "see that what writes to this topic is at work")
        self._writer = LakeWriter(collector, settings.max_fetched_bytes)
        self._outage = _Outage(settings.bootstrap_servers)
        self._located: set[TopicPartition] = set()
        self._cut: set[TopicPartition] = set()
        self._handed: dict[TopicPartition, int] = {}
        self._reported: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._next_question = 0.0
        self._missing: set[str] = set()
        self._max_records = _MOST_RECORDS // 100
        self.missed_messages = 0
        """Messages that the broker had deleted before they were read."""
        self.leaving = False
        """Whether all is committed that will be."""

    @property
    def problem(self) -> str | None:
        """Why Kafka cannot be read, if so."""
        return self._outage.problem

    def lag(self) -> dict[KafkaPartition, int]:
        """Messages that this member's partitions hold and the lake does not, by topic and partition number."""
        return {
            (topic_partition.topic, topic_partition.partition): max(
                0, end - 1 - self._writer.committed(topic_partition)
            )
            for topic_partition, end in self._ends.copy().items()
        }

    def waiting_bytes(self) -> int:
        """Bytes of values that were fetched and are not yet committed."""
        return self._writer.waiting_bytes()

    def queued_bytes(self) -> int:
        """Bytes of values that were fetched and are not yet rows of a batch."""
        return self._writer.queued_bytes()

    def run(self, stop: threading.Event) -> None:
        """Read until `stop` is set; then commit what is open and leave the group, within 15 s.

        A broker or a lake that is away is waited for. Several collectors share the partitions.
        """
        try:
            while not stop.is_set():
                try:
                    consumer = connect(self._settings)
                except Exception as error:
                    self._outage.begin(error)
                    stop.wait(_RETRY_SECONDS)
                    continue
                try:
                    self._read(consumer, stop)
                except Exception as error:
                    self._outage.begin(error)
                    stop.wait(_RETRY_SECONDS)
                finally:
                    self._leave(consumer)
        finally:
            self._writer.close()

    def revoked(self, seconds: float) -> None:
        """Commit what was added, for `seconds` at most; if another member reads on, the tables refuse the rest."""
        self._located.clear()
        self._writer.drop()
        if seconds and not self._writer.flush(seconds):
            logger.warning(
                "the lake took longer than %g s; what it has not is read by the partitions' new owner", seconds
            )

    def assigned(self, consumer: KafkaConsumer, topic_partitions: Collection[TopicPartition]) -> None:
        """Find the committed offsets of these partitions before anything is fetched from them."""
        names = sorted(f"{topic_partition.topic}-{topic_partition.partition}" for topic_partition in topic_partitions)
        logger.info("reading %s", ", ".join(names) or "no partition for now")
        for topic_partition in topic_partitions:
            # Any position will do, lest the consumer looks for the one that the broker remembers.
            consumer.seek(topic_partition, 0)
        self._ends = {}
        self._locate(consumer, topic_partitions)

    def _read(self, consumer: KafkaConsumer, stop: threading.Event) -> None:
        self.leaving = False
        self._next_question = time.monotonic() + _ASK_SECONDS
        listener = _Listener(self, consumer, min(_FLUSH_SECONDS, self._settings.session_timeout_seconds / 3))
        consumer.subscribe(self._settings.topics, listener=listener)
        while not stop.is_set():
            try:
                self._poll(consumer)
            except (OffsetOutOfRangeError, LogTruncationError) as error:
                logger.warning("the broker has not what comes next: %s", error)
                self._locate(consumer, consumer.assignment())

    def _poll(self, consumer: KafkaConsumer) -> None:
        polled = consumer.poll(_POLL_MILLISECONDS, max_records=self._max_records)
        go_on_joining(consumer)
        if self._writer.take_loss():
            self._locate(consumer, consumer.assignment())
        elif polled:
            self._hand_over(polled)
            self._outage.end()
        self._go_on(consumer, self._writer.located())
        self._hold_back(consumer)
        self._report(consumer)
        self._ask(consumer)

    def _hand_over(self, polled: dict[TopicPartition, list[Any]]) -> None:
        total, count = 0, 0
        for topic_partition, records in polled.items():
            # A message without a value, which deletes its key in a compacted topic, holds no line.
            values: list[Value] = [(record.offset, record.value or b"") for record in records]
            total += self._writer.put(topic_partition, self._handed[topic_partition], values)
            self._handed[topic_partition] = values[-1][0]
            count += len(values)
            self._last_lines.note(_source_name(topic_partition.topic))
        fitting = max(1, _POLL_BYTES * count // max(total, 1))
        self._max_records = min(_MOST_RECORDS, fitting, self._max_records * 2)

    def _locate(self, consumer: KafkaConsumer, topic_partitions: Collection[TopicPartition]) -> None:
        consumer.pause(*topic_partitions)
        self._located.difference_update(topic_partitions)
        self._writer.drop()
        self._writer.locate(topic_partitions)

    def _go_on(self, consumer: KafkaConsumer, located: dict[KafkaPartition, int]) -> None:
        """Continue partitions after their committed offsets."""
        topic_partitions = consumer.assignment().intersection(
            TopicPartition(*topic_partition) for topic_partition in located
        )
        if not topic_partitions:
            return
        try:
            first = consumer.beginning_offsets(topic_partitions, timeout_ms=_ANSWER_MILLISECONDS)
            ends = consumer.end_offsets(topic_partitions, timeout_ms=_ANSWER_MILLISECONDS)
        except KafkaError as error:
            self._outage.begin(error)
            self._writer.locate(topic_partitions)
            return
        self._ends |= ends
        for topic_partition in topic_partitions:
            if located[topic_partition] >= ends[topic_partition]:
                self._refuse(topic_partition, located[topic_partition], ends[topic_partition])
            else:
                self._begin(consumer, topic_partition, located[topic_partition], first[topic_partition])

    def _refuse(self, topic_partition: TopicPartition, done: int, end: int) -> None:
        if topic_partition not in self._cut:
            logger.error(
                "%s-%d ends at %d, but the lake has it up to %d: the topic was made anew or cut. It is not read, since "
                "its first messages would pass for known ones; give the new topic another name",
                *topic_partition,
                end,
                done,
            )
        self._cut.add(topic_partition)

    def _begin(self, consumer: KafkaConsumer, topic_partition: TopicPartition, done: int, first: int) -> None:
        if 0 <= done < first - 1:
            self.missed_messages += first - 1 - done
            logger.error(
                "%s-%d: the broker deleted messages %d to %d before they were read; going on at %d. Let the topic keep "
                "its messages for longer (retention.ms, retention.bytes)", *topic_partition, done + 1, first - 1, first
            )  # fmt: skip
        consumer.seek(topic_partition, max(done + 1, first))
        self._handed[topic_partition] = done
        self._reported.pop(topic_partition, None)
        self._cut.discard(topic_partition)
        self._located.add(topic_partition)

    def _hold_back(self, consumer: KafkaConsumer) -> None:
        topic_partitions = consumer.assignment()
        if self._writer.is_full():
            consumer.pause(*topic_partitions)
        else:
            consumer.resume(*self._located.intersection(topic_partitions))

    def _report(self, consumer: KafkaConsumer) -> None:
        offsets = {}
        for topic_partition in self._located.intersection(consumer.assignment()):
            done = self._writer.committed(topic_partition)
            if done >= 0 and self._reported.get(topic_partition) != done:
                offsets[topic_partition] = OffsetAndMetadata(done + 1, "", -1)
                self._reported[topic_partition] = done
        if offsets:
            consumer.commit_async(offsets)

    def _ask(self, consumer: KafkaConsumer) -> None:
        """Ask for the end offsets at intervals; they give the lag, and show whether the broker answers at all."""
        if time.monotonic() < self._next_question:
            return
        self._next_question = time.monotonic() + _ASK_SECONDS
        self._warn_of_missing(known_topics(consumer))
        topic_partitions = consumer.assignment()
        for topic in set(self._settings.topics) - {one.topic for one in topic_partitions}:
            self._last_lines.excuse(_source_name(topic))
        if not topic_partitions:
            return
        try:
            self._ends = consumer.end_offsets(topic_partitions, timeout_ms=_ANSWER_MILLISECONDS)
            self._outage.end()
        except KafkaError as error:
            self._outage.begin(error)
        if self._cut:
            self._writer.locate(self._cut)

    def _warn_of_missing(self, known: set[str]) -> None:
        missing = set(self._settings.topics) - known
        for topic in self._settings.topics:
            self._last_lines.note_missing(_source_name(topic), _NO_TOPIC if topic in missing else None)
        if missing - self._missing:
            names = ", ".join(sorted(missing))
            logger.warning("there is no topic %s yet, or this user may not see it; waiting for it", names)
        self._missing = missing

    def _leave(self, consumer: KafkaConsumer) -> None:
        self.revoked(_FLUSH_SECONDS)
        self.leaving = True
        try:
            self._located = consumer.assignment()
            self._report(consumer)
            self._located = set()
            consumer.close(autocommit=False, timeout_ms=_LEAVE_MILLISECONDS)
        except Exception as error:
            # The group notices by itself that this member is gone, when its session ends.
            logger.warning("could not leave the group in order: %s", error)


def _source_name(topic: str) -> str:
    """Return the name of a topic in `LastLines`."""
    return f"{SourceKind.KAFKA} {topic}"


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Rebalance listener. It runs in the thread of the consumer: it must not call the broker or delay heartbeats."""

    def __init__(self, source: KafkaSource, consumer: KafkaConsumer, flush_seconds: float) -> None:
        self._source = source
        self._consumer = consumer
        self._flush_seconds = flush_seconds

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        if revoked and not self._source.leaving:
            self._source.revoked(self._flush_seconds)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._source.assigned(self._consumer, assigned)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        # Others may have them by now: what is open is committed or refused when partitions are next assigned.
        if lost:
            self._source.revoked(0)


class _Outage:
    """Logs once that Kafka cannot be read, and once that it can be read again."""

    def __init__(self, servers: list[str]) -> None:
        self._servers = ", ".join(servers)
        self.problem: str | None = None

    def begin(self, error: Exception) -> None:
        if self.problem is None:
            logger.error("Kafka at %s cannot be read: %s: %s; trying again", self._servers, type(error).__name__, error)
        self.problem = f"Kafka at {self._servers} cannot be read: {type(error).__name__}"

    def end(self) -> None:
        if self.problem is not None:
            logger.info("Kafka at %s can be read again", self._servers)
        self.problem = None
