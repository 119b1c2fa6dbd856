"""The Kafka source with a consumer in memory in the place of kafka-python's; see test_source.py for a true broker."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError, OffsetOutOfRangeError

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.kafka.settings import KafkaSettings
from collector.sources.kafka.source import KafkaSource
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import wait_for

PLACE = TopicPartition("logs", 0)


@dataclass
class MemoryConsumer:
    """A consumer of one partition, with what it was asked to do."""

    values: list[bytes | None] = field(default_factory=list)
    first: int = 0  # offset of the first message that is still there
    topics: set[str] = field(default_factory=lambda: {"logs"})
    failing: list[Exception] = field(default_factory=list)  # raised by the next questions, one each
    reported: list[int] = field(default_factory=list)  # offsets that were committed to the broker
    asked: list[int] = field(default_factory=list)  # most records that each poll asked for
    position: int = 0
    paused: bool = False
    closed: bool = False

    def __post_init__(self) -> None:
        self._listener: Any = None
        self._cluster = SimpleNamespace(topics=lambda: self.topics)
        self._coordinator = SimpleNamespace(rejoining=False, request_rejoin=lambda: None)

    def subscribe(self, topics: list[str], listener: Any) -> None:
        self._listener, self._assigned = listener, False

    def assignment(self) -> set[TopicPartition]:
        return {PLACE}

    def poll(self, milliseconds: int, max_records: int) -> dict[TopicPartition, list[Any]]:
        if not self._assigned:
            self._assigned = True
            self._listener.on_partitions_assigned([PLACE])
        threading.Event().wait(0.002)
        self.asked.append(max_records)
        if self.paused or self.position >= self.first + len(self.values):
            return {}
        if self.position < self.first:
            raise OffsetOutOfRangeError({PLACE: self.position})
        begin = self.position - self.first
        taken = self.values[begin : begin + max_records]
        records = [SimpleNamespace(offset=self.position + n, value=value) for n, value in enumerate(taken)]
        self.position += len(taken)
        return {PLACE: records}

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.position = offset

    def pause(self, *places: TopicPartition) -> None:
        self.paused = self.paused or PLACE in places

    def resume(self, *places: TopicPartition) -> None:
        self.paused = self.paused and PLACE not in places

    def beginning_offsets(self, places: set[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        if self.failing:
            raise self.failing.pop(0)
        return {PLACE: self.first}

    def end_offsets(self, places: set[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        return {PLACE: self.first + len(self.values)}

    def commit_async(self, offsets: dict[TopicPartition, Any]) -> None:
        self.reported.append(offsets[PLACE].offset)

    def close(self, autocommit: bool, timeout_ms: int) -> None:
        self.closed = True


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> MemoryConsumer:
    made = MemoryConsumer()
    monkeypatch.setattr("collector.sources.kafka.lake_writer._IDLE_SECONDS", 0.01)
    monkeypatch.setattr("collector.sources.kafka.source.connect", lambda settings: made)
    return made


@contextmanager
def reading(lake: Lake, **options: object) -> Iterator[KafkaSource]:
    settings = KafkaSettings.model_validate({"bootstrap_servers": ["b:1"], "topics": ["logs"]} | options)
    source = KafkaSource(settings, Collector(lake, CollectorSettings(flush_seconds=0.02)))
    stop = threading.Event()
    thread = threading.Thread(target=source.run, args=(stop,))
    thread.start()
    try:
        yield source
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


def stored(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["response_id"])["response_id"].to_pylist())


def ids(*numbers: int) -> list[str]:
    return [f"r-{number}" for number in numbers]


def test_the_offset_after_the_last_stored_message_is_reported_to_the_broker(
    lake: Lake, consumer: MemoryConsumer
) -> None:
    """Once for each that is new: what a member finds stored already, it reports too, for the group's lag."""
    consumer.values = [chat_line(number) for number in range(3)]
    with reading(lake) as source:
        wait_for(lambda: consumer.reported[-1:] == [3])
        assert source.lag() == {("logs", 0): 0}
        wait_for(lambda: (source.waiting_bytes(), source.queued_bytes(), source.problem) == (0, 0, None))
    assert consumer.reported == sorted(set(consumer.reported))
    assert consumer.closed
    assert source.leaving
    assert stored(lake) == ids(0, 1, 2)
    consumer.reported.clear()
    with reading(lake):
        wait_for(lambda: consumer.reported == [3])


def test_a_member_goes_on_after_what_the_lake_has(lake: Lake, consumer: MemoryConsumer) -> None:
    """Nothing is read twice, nothing is left out; a message without a value holds no line."""
    consumer.values = [chat_line(0), None, chat_line(1)]
    with reading(lake):
        wait_for(lambda: consumer.reported[-1:] == [3])
    consumer.values += [chat_line(2)]
    with reading(lake) as source:
        wait_for(lambda: consumer.reported[-1:] == [4])
        assert source.missed_messages == 0
    assert stored(lake) == ids(0, 1, 2)


def test_messages_that_the_broker_deleted_before_they_were_read_are_counted(
    lake: Lake, consumer: MemoryConsumer, caplog: pytest.LogCaptureFixture
) -> None:
    """Those before the first one that was ever read are no loss: the member reads a topic from where it begins."""
    consumer.first, consumer.values = 5, [chat_line(5)]
    with reading(lake) as source:
        wait_for(lambda: consumer.reported[-1:] == [6])
        assert source.missed_messages == 0
    consumer.first, consumer.values = 6, [chat_line(6)]
    with reading(lake) as source:
        wait_for(lambda: consumer.reported[-1:] == [7])
        assert source.missed_messages == 0
    consumer.first, consumer.values = 9, [chat_line(9)]
    with reading(lake) as source:
        wait_for(lambda: consumer.reported[-1:] == [10])
        assert source.missed_messages == 2
    assert "deleted messages 7 to 8 before they were read; going on at 9" in caplog.text
    assert stored(lake) == ids(5, 6, 9)


def test_messages_that_are_deleted_while_the_member_reads_are_gone_past(lake: Lake, consumer: MemoryConsumer) -> None:
    """The broker refuses the position: the member finds its place again and counts what it missed."""
    consumer.values = [chat_line(0)]
    with reading(lake) as source:
        wait_for(lambda: consumer.reported[-1:] == [1])
        consumer.first, consumer.values = 4, [chat_line(4)]
        wait_for(lambda: consumer.reported[-1:] == [5])
        assert source.missed_messages == 3
    assert stored(lake) == ids(0, 4)


def test_a_topic_that_ends_before_what_the_lake_has_is_not_read(
    lake: Lake, consumer: MemoryConsumer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at again, and said once; it is read when it reaches further than the lake."""
    monkeypatch.setattr("collector.sources.kafka.source._ASK_SECONDS", 0.01)
    consumer.values = [chat_line(0), chat_line(1)]
    with reading(lake):
        wait_for(lambda: consumer.reported[-1:] == [2])
    consumer.values = [chat_line(7)]
    with reading(lake) as source:
        wait_for(lambda: "logs-0 ends at 1, but the lake has it up to 1" in caplog.text)
        threading.Event().wait(0.1)
        assert source.lag() == {("logs", 0): 0}
        assert caplog.text.count("the topic was made anew or cut") == 1
        consumer.values += [chat_line(8), chat_line(2)]
        wait_for(lambda: consumer.reported[-1:] == [3])
    assert stored(lake) == ids(0, 1, 2)


def test_a_broker_that_does_not_answer_is_a_problem_until_it_does(
    lake: Lake, consumer: MemoryConsumer, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says both once."""
    caplog.set_level(logging.INFO)
    consumer.values = [chat_line(0)]
    consumer.failing = [KafkaTimeoutError("no answer"), KafkaTimeoutError("no answer")]
    problems = set()
    with reading(lake) as source:
        wait_for(lambda: problems.add(source.problem) or consumer.reported[-1:] == [1])
        assert source.problem is None
    assert caplog.text.count("Kafka at b:1 cannot be read: KafkaTimeoutError") == 1
    assert caplog.text.count("Kafka at b:1 can be read again") == 1


def test_a_broker_that_cannot_be_reached_is_tried_again(
    lake: Lake, consumer: MemoryConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer.values = [chat_line(0)]
    errors = [OSError("refused")]

    def connect(settings: KafkaSettings) -> MemoryConsumer:
        if errors:
            raise errors.pop()
        return consumer

    monkeypatch.setattr("collector.sources.kafka.source.connect", connect)
    monkeypatch.setattr("collector.sources.kafka.source._RETRY_SECONDS", 0.02)
    with reading(lake) as source:
        wait_for(lambda: consumer.reported[-1:] == [1])
        assert source.problem is None


def test_no_more_is_fetched_while_too_many_bytes_wait(
    lake: Lake, consumer: MemoryConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partition is paused, and read on when the lake has taken what waits."""
    held = threading.Event()
    add = Collector.add

    def slow(collector: Collector, *given: Any) -> Any:
        held.wait(20)
        return add(collector, *given)

    monkeypatch.setattr(Collector, "add", slow)
    consumer.values = [chat_line(number) for number in range(3)]
    with reading(lake, max_fetched_bytes=1) as source:
        wait_for(lambda: consumer.paused and source.queued_bytes() > 0)
        assert source.waiting_bytes() >= source.queued_bytes()
        consumer.values += [chat_line(3)]
        position = consumer.position
        threading.Event().wait(0.05)
        assert consumer.position == position
        held.set()
        wait_for(lambda: consumer.reported[-1:] == [4])
    assert stored(lake) == ids(0, 1, 2, 3)


def test_a_poll_asks_for_more_messages_as_long_as_they_are_small(
    lake: Lake, consumer: MemoryConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins with few, doubles their number, and never asks for more than fit into the bytes of a poll."""
    monkeypatch.setattr("collector.sources.kafka.source._POLL_BYTES", 200 * len(chat_line(100)))
    consumer.values = [chat_line(number) for number in range(100, 500)]
    with reading(lake):
        wait_for(lambda: consumer.reported[-1:] == [400])
    assert sorted(set(consumer.asked)) == [40, 80, 160, 200]
    consumer.asked.clear()
    monkeypatch.setattr("collector.sources.kafka.source._POLL_BYTES", 1)
    consumer.values += [chat_line(number) for number in range(500, 502)]
    with reading(lake):
        wait_for(lambda: consumer.reported[-1:] == [402])
    assert set(consumer.asked) == {40, 1}


def test_a_topic_that_is_missing_is_said_once(
    lake: Lake, consumer: MemoryConsumer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And again if it was there meanwhile."""
    monkeypatch.setattr("collector.sources.kafka.source._ASK_SECONDS", 0.01)
    consumer.topics = set()
    with reading(lake):
        wait_for(lambda: "there is no topic logs yet" in caplog.text)
        threading.Event().wait(0.05)
        assert caplog.text.count("there is no topic logs yet") == 1
        consumer.topics = {"logs"}
        threading.Event().wait(0.05)
        consumer.topics = set()
        wait_for(lambda: caplog.text.count("there is no topic logs yet") == 2)


def test_a_partition_that_is_taken_away_is_committed_first(lake: Lake, consumer: MemoryConsumer) -> None:
    """What was lost without a word is not: another member may be reading it already."""
    consumer.values = [chat_line(0)]
    settings = KafkaSettings(bootstrap_servers=["b:1"], topics=["logs"])
    source = KafkaSource(settings, Collector(lake, CollectorSettings(flush_seconds=600)))
    stop = threading.Event()
    thread = threading.Thread(target=source.run, args=(stop,))
    thread.start()
    try:
        wait_for(lambda: source.waiting_bytes() > 0 and source.queued_bytes() == 0)
        consumer._listener.on_partitions_lost([PLACE])
        consumer._listener.on_partitions_revoked([])
        assert lake.table(PARSED_LOGS, "rag-app").version() is None
        consumer._listener.on_partitions_revoked([PLACE])
        assert stored(lake) == ids(0)
    finally:
        stop.set()
        thread.join(60)
