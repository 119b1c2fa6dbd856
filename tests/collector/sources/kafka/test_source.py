"""Kafka messages to rows, on a real broker."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.kafka.settings import KafkaSettings
from collector.sources.kafka.source import KafkaSource
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.kafka.broker import Broker
from tests.kafka.topics import delete_records, delete_topic, make_topic, produce, produce_by_kcat
from tests.servers import wait_for


def lake_at(path: Path) -> Lake:
    return Lake(str(path / "lake"))


def stored(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["response_id"])["response_id"].to_pylist())


def ids(count: int) -> list[str]:
    return sorted(f"r-{number}" for number in range(count))


@contextmanager
def reading(
    lake: Lake, address: str, topic: str, flush_seconds: float = 0.3, **options: object
) -> Iterator[KafkaSource]:
    settings = KafkaSettings.model_validate(
        {"bootstrap_servers": [address], "topics": [topic], "group_id": topic, "session_timeout_seconds": 6} | options
    )
    source = KafkaSource(settings, Collector(lake, CollectorSettings(flush_seconds=flush_seconds)))
    stop = threading.Event()
    thread = threading.Thread(target=source.run, args=(stop,))
    thread.start()
    try:
        yield source
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


def read_all(lake: Lake, address: str, topic: str, count: int, **options: object) -> None:
    with reading(lake, address, topic, **options):
        wait_for(lambda: len(stored(lake)) >= count)


@pytest.mark.parametrize("compression", [None, "gzip", "snappy", "lz4", "zstd"])
def test_compressions(kafka: str, tmp_path: Path, compression: str | None) -> None:
    """Values come through whatever the producer compressed them with."""
    lake, topic = lake_at(tmp_path), make_topic(kafka, 3)
    produce(kafka, topic, [chat_line(number) for number in range(100)], compression)
    read_all(lake, kafka, topic, 100)
    assert stored(lake) == ids(100)


def test_shapes_of_values(kafka: str, tmp_path: Path) -> None:
    """A value is a bare line, an envelope, or an array; what is none of them is rejected with its bytes."""
    lake, topic = lake_at(tmp_path), make_topic(kafka)
    lines = [chat_line(number).decode() for number in range(4)]
    values = [
        lines[0].encode(),
        json.dumps({"message": lines[1], "host": "core-1"}).encode(),
        json.dumps([{"message": line} for line in lines[2:]]).encode(),
        b"",
        b"no line",
    ]
    produce(kafka, topic, values)
    with reading(lake, kafka, topic):
        wait_for(lambda: lake.table(REJECTED).read().num_rows)
    assert stored(lake) == ids(4)
    rejected = lake.table(REJECTED).read().to_pylist()
    assert [row["raw"] for row in rejected] == [b"no line"]
    assert rejected[0]["source"] == {"kind": "kafka", "name": topic, "partition": "0", "offset": 4}


def test_values_of_32_mib(broker: Broker, tmp_path: Path) -> None:
    """A value far larger than a fetch still comes, and the ones around it."""
    kafka = broker.address
    lake, topic = lake_at(tmp_path), make_topic(kafka)
    answer = {"id": "r-1", "choices": [{"index": 0, "message": {"content": "x" * (32 << 20)}, "finish_reason": "stop"}]}
    large = chat_line(1, assembled_response=json.dumps(answer))
    produce(kafka, topic, [chat_line(0), large, chat_line(2)])
    read_all(lake, kafka, topic, 3)
    assert stored(lake) == ids(3)
    answers = lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist()
    assert sorted(map(len, answers))[-1] == 32 << 20


def test_the_lake_gives_the_offset_to_go_on_from(kafka: str, tmp_path: Path) -> None:
    """Another group, of which the broker knows nothing, goes on after what the lake has."""
    lake, topic = lake_at(tmp_path), make_topic(kafka, 2)
    produce(kafka, topic, [chat_line(number) for number in range(50)])
    read_all(lake, kafka, topic, 50)
    produce_by_kcat(kafka, topic, [chat_line(number) for number in range(50, 80)])
    read_all(lake, kafka, topic, 80, group_id=f"{topic}-other")
    assert stored(lake) == ids(80)
    assert sum(lake.table(BATCHES).read(["lines"])["lines"].to_pylist()) == 80


def test_members_of_a_group_may_subscribe_to_different_topics(
    kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each reads its own, whichever of them leads the group; the log says what to do."""
    lake, one, two = lake_at(tmp_path), make_topic(kafka, 2), make_topic(kafka, 2)
    both = {"topics": [one, two], "group_id": one}
    with reading(lake, kafka, one), reading(lake, kafka, two, **both), reading(lake, kafka, two, group_id=one):
        for topic, first in ((one, 0), (two, 30)):
            produce(kafka, topic, [chat_line(number) for number in range(first, first + 30)])
        wait_for(lambda: len(stored(lake)) == 60)
    assert stored(lake) == ids(60)
    assert f"subscribe to different topics, in all to {', '.join(sorted([one, two]))}" in caplog.text


def test_deleted_messages_are_reported(kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Where the broker deleted messages that the lake had not, the gap is counted and logged with its numbers."""
    lake, topic = lake_at(tmp_path), make_topic(kafka)
    produce(kafka, topic, [chat_line(number) for number in range(10)])
    read_all(lake, kafka, topic, 10)
    produce(kafka, topic, [chat_line(number) for number in range(10, 25)])
    delete_records(kafka, topic, 20)
    with reading(lake, kafka, topic) as source:
        wait_for(lambda: len(stored(lake)) == 15)
        assert source.missed_messages == 10
    assert f"{topic}-0: the broker deleted messages 10 to 19" in caplog.text


def test_messages_that_are_deleted_after_they_were_read_are_not_missed(
    kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If the broker deleted only what the lake has, nothing is reported, and reading goes on with the next message."""
    lake, topic = lake_at(tmp_path), make_topic(kafka)
    produce(kafka, topic, [chat_line(number) for number in range(10)])
    read_all(lake, kafka, topic, 10)
    delete_records(kafka, topic, 10)
    produce(kafka, topic, [chat_line(number) for number in range(10, 13)])
    with reading(lake, kafka, topic) as source:
        wait_for(lambda: len(stored(lake)) == 13)
        assert source.missed_messages == 0
    assert "the broker deleted" not in caplog.text


def test_topic_made_anew_is_refused(kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A topic that ends before the lake's position is not read, since its messages would pass for known ones."""
    lake, topic = lake_at(tmp_path), make_topic(kafka)
    produce(kafka, topic, [chat_line(number) for number in range(10)])
    read_all(lake, kafka, topic, 10)
    delete_topic(kafka, topic)
    make_topic(kafka, name=topic)
    produce(kafka, topic, [chat_line(number) for number in range(10, 13)])
    with reading(lake, kafka, topic):
        wait_for(lambda: "the topic was made anew or cut" in caplog.text)
    assert stored(lake) == ids(10)


def test_topic_that_is_missing_is_waited_for(kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A topic that does not exist yet is reported once, and read when it comes."""
    lake, topic = lake_at(tmp_path), f"dial-{tmp_path.name}"
    with reading(lake, kafka, topic):
        wait_for(lambda: f"there is no topic {topic} yet" in caplog.text)
        make_topic(kafka, name=topic)
        produce(kafka, topic, [chat_line(0)])
        wait_for(lambda: stored(lake) == ids(1), 120)
    assert caplog.text.count("there is no topic") == 1


def test_lag_is_what_the_lake_has_not(kafka: str, tmp_path: Path) -> None:
    """Lag counts messages that are not committed, also those that were fetched."""
    lake, topic = lake_at(tmp_path), make_topic(kafka)
    produce(kafka, topic, [chat_line(number) for number in range(30)])
    with reading(lake, kafka, topic, flush_seconds=60) as source:
        wait_for(lambda: source.waiting_bytes() > 0)
        assert source.lag() == {(topic, 0): 30}
    assert stored(lake) == ids(30)


def test_fetched_bytes_have_a_limit(kafka: str, tmp_path: Path) -> None:
    """No more than the limit and one poll wait to become rows, and all lines come in the end."""
    lake, topic = lake_at(tmp_path), make_topic(kafka, 2)
    big = "x" * 100_000
    produce(kafka, topic, [chat_line(number, padding=big) for number in range(200)])
    most = 0
    with reading(lake, kafka, topic, flush_seconds=0.5, max_fetched_bytes=2_000_000) as source:
        while len(stored(lake)) < 180:
            most = max(most, source.queued_bytes())
            time.sleep(0.005)
    # What was fetched but not yet taken when it was asked to stop is read by the next.
    read_all(lake, kafka, topic, 200)
    assert stored(lake) == ids(200)
    assert most < 2_000_000 + 6_500_000


def test_lake_that_is_away_is_waited_for(kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While nothing can be written the source waits, says so once, and loses nothing."""
    lake, topic = lake_at(tmp_path), make_topic(kafka)
    produce(kafka, topic, [chat_line(0)])
    hidden = tmp_path / "hidden"
    with reading(lake, kafka, topic):
        wait_for(lambda: len(stored(lake)) == 1)
        wait_for(lambda: lake.table(BATCHES).read().num_rows == 1)
        (tmp_path / "lake").rename(hidden)
        (tmp_path / "lake").write_text("no folder")
        produce(kafka, topic, [chat_line(number) for number in range(1, 40)])
        wait_for(lambda: "the lake does not take rows" in caplog.text)
        time.sleep(2.5)
        (tmp_path / "lake").unlink()
        hidden.rename(tmp_path / "lake")
        wait_for(lambda: len(stored(lake)) == 40)
    assert stored(lake) == ids(40)
    assert caplog.text.count("the lake does not take rows") == 1
