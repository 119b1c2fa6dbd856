"""Last lines of topics, with a consumer that answers what it is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition

from collector.metrics.last_lines import LastLines
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.kafka.settings import KafkaSettings
from collector.sources.kafka.source import KafkaSource
from lake.tables.lake import Lake


@pytest.fixture
def seconds() -> list[float]:
    return [0.0]


def consumer_of(topics: set[str], assigned: set[TopicPartition]) -> Any:
    return SimpleNamespace(
        assignment=lambda: assigned, end_offsets=lambda *_, **__: {}, _client=None, topics=lambda: topics
    )


def test_a_topic_that_is_missing_or_silent_is_told(
    lake: Lake, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member without a partition stands by; a topic that is not there, or gives nothing, is a problem."""
    lines = LastLines(monotonic=lambda: seconds[0])
    settings = KafkaSettings(bootstrap_servers=["127.0.0.1:9"], topics=["core", "other", "typo"])
    source = KafkaSource(settings, Collector(lake, CollectorSettings()), lines)
    monkeypatch.setattr("collector.sources.kafka.source.known_topics", lambda _: {"core", "other"})
    consumer = consumer_of({"core", "other"}, {TopicPartition("core", 0)})
    for _ in range(3):
        source._next_question = 0.0
        source._ask(consumer)
        seconds[0] += 1799
    source._next_question = 0.0
    source._ask(consumer)
    assert (lines.problem(3600) or "").split("; ") == [
        "kafka core: no line came for 90 minutes: see that what writes to this topic is at work",
        "kafka typo: there is no such topic, or this user may not see it: check collector.kafka.topics and the "
        "broker's rights",
    ]
    record = SimpleNamespace(offset=0, value=b"{}")
    source._handed[TopicPartition("core", 0)] = -1
    source._hand_over({TopicPartition("core", 0): [record]})
    assert lines.newest()["kafka core"] is not None
    assert "core" not in (lines.problem(3600) or "").split("; ")[0]
