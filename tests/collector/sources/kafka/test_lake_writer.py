"""Tests of the thread that feeds fetched values to the collector, without a broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.kafka.lake_writer import LakeWriter
from lake.delta_log.change import LostRaceError
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import wait_for

TOPIC_PARTITION = ("topic", 0)
FILE = Partition("file", "/logs/a.log", "a")


@pytest.fixture
def collector(tmp_path: Path) -> Collector:
    return Collector(Lake(str(tmp_path / "lake")), CollectorSettings(flush_seconds=600))


@pytest.fixture
def writer(collector: Collector) -> Iterator[LakeWriter]:
    made = LakeWriter(collector, 1 << 30)
    yield made
    made.close()


def test_values_that_do_not_go_on_are_a_loss(writer: LakeWriter) -> None:
    """Values after a gap are not taken: the partition is read again from after what was taken before."""
    writer.put(TOPIC_PARTITION, -1, [(0, chat_line(0))])
    writer.put(TOPIC_PARTITION, 4, [(5, chat_line(5))])
    wait_for(writer.take_loss)
    writer.locate([TOPIC_PARTITION])
    assert wait_for(writer.located) == {TOPIC_PARTITION: 0}


def test_a_race_that_another_source_lost_is_a_loss_here_too(writer: LakeWriter, collector: Collector) -> None:
    """Lines that were given up with a file's are read again, also where the topic gains no more."""
    values = [(number, chat_line(number)) for number in range(3)]
    writer.put(TOPIC_PARTITION, -1, values)
    wait_for(lambda: collector.offset(Partition("kafka", *map(str, TOPIC_PARTITION))) == 2)
    collector.add(Piece(FILE, chat_line(7), 1, 0))
    other = Collector(collector.lake, CollectorSettings())
    other.commit([Piece(FILE, chat_line(number), number - 6, number - 7) for number in (7, 8)])
    with pytest.raises(LostRaceError):
        collector.flush()
    wait_for(writer.take_loss)
    assert writer.waiting_bytes() == 0
    writer.put(TOPIC_PARTITION, -1, values)
    assert writer.flush(30)
    assert (writer.committed(TOPIC_PARTITION), collector.totals.stored) == (2, 3)
