"""Collectors that are killed, stopped, paused and joined by others: every line is in the lake exactly once."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.collector.lines import chat_line
from tests.kafka.broker import Broker
from tests.kafka.collectors import Collectors
from tests.kafka.topics import feeding, make_topic

pytestmark = pytest.mark.slow

PARTITIONS = 6
SLOT = "@" * 16


@pytest.fixture
def collectors(broker: Broker, tmp_path: Path) -> Iterator[Collectors]:
    made = Collectors(tmp_path, broker.address, make_topic(broker.address, PARTITIONS))
    yield made
    made.kill_all()


def small_lines() -> Iterator[bytes]:
    """Whole lines of 0.9 KB, each with a span of its own."""
    before, _, after = chat_line(0, trace={"trace_id": "1" * 32, "core_span_id": SLOT}).partition(SLOT.encode())
    number = 0
    while True:
        number += 1
        yield before + b"%016x" % number + after


def test_a_hundred_kills(collectors: Collectors) -> None:
    """Three collectors are killed a hundred times at random moments while kcat and kafka-python produce."""
    kills, lines_per_kill = 100, 2000
    generator, lines = random.Random(11), small_lines()
    due = {number: time.monotonic() + generator.uniform(1.0, 4.0) for number in range(3)}
    with feeding(collectors.address, collectors.topic) as feed:
        for number in due:
            collectors.start(number, flush_seconds=0.3)
        for _ in range(kills):
            feed(list(islice(lines, lines_per_kill)))
            number = min(due, key=lambda number: due[number])
            time.sleep(max(0.0, due[number] - time.monotonic()))
            collectors.kill(number)
            collectors.start(number, flush_seconds=0.3)
            # From before it joins to the middle of some commit.
            due[number] = time.monotonic() + generator.uniform(0.1, 4.0)
    collectors.wait_for(kills * lines_per_kill)
    for number in due:
        collectors.terminate(number)
    collectors.assert_exactly_once(kills * lines_per_kill)


def test_members_join_and_leave(collectors: Collectors) -> None:
    """Three collectors share the topic; one leaves in order or is killed, and another one joins, twelve times."""
    changes, lines_per_change = 12, 5000
    generator, lines = random.Random(12), small_lines()
    with feeding(collectors.address, collectors.topic) as feed:
        for number in range(3):
            collectors.start(number, static=False)
        for number in range(3, 3 + changes):
            feed(list(islice(lines, lines_per_change)))
            time.sleep(generator.uniform(0.5, 4.0))
            leaving = generator.choice(sorted(collectors.running))
            if number % 3:
                assert collectors.terminate(leaving) < 15
            else:
                collectors.kill(leaving)
            collectors.start(number, static=False)
    collectors.wait_for(changes * lines_per_change)
    for number in sorted(collectors.running):
        collectors.terminate(number)
    collectors.assert_exactly_once(changes * lines_per_change)


def test_broker_goes_and_comes_back(collectors: Collectors, broker: Broker) -> None:
    """The broker is away for 20 s in the middle: the collectors wait, say so, and read on."""
    half, lines = 20_000, small_lines()
    with feeding(collectors.address, collectors.topic) as feed:
        feed(list(islice(lines, half)))
    for number in range(2):
        collectors.start(number, static=False, flush_seconds=5)
    collectors.wait_until_logged(0, "ready")
    time.sleep(4)
    broker.stop()
    time.sleep(20)
    broker.start()
    with feeding(collectors.address, collectors.topic) as feed:
        feed(list(islice(lines, half)))
    collectors.wait_for(2 * half)
    for number in range(2):
        collectors.wait_until_logged(number, "cannot be read")
        assert collectors.terminate(number) < 15
    collectors.assert_exactly_once(2 * half)


def test_terminated_under_load(collectors: Collectors) -> None:
    """SIGTERM in the middle of many lines ends a collector within 15 s; another one reads on, nothing twice."""
    count, lines = 150_000, small_lines()
    with feeding(collectors.address, collectors.topic) as feed:
        for number in range(3):
            feed(list(islice(lines, count // 3)))
            collectors.start(number, static=False, flush_seconds=60)
            collectors.wait_until_logged(number, "ready")
            time.sleep(3)
            assert collectors.terminate(number) < 15
    collectors.start(3, static=False)
    collectors.wait_for(count)
    collectors.terminate(3)
    collectors.assert_exactly_once(count)


def test_paused_collector_has_lost_its_partitions(collectors: Collectors) -> None:
    """One that slept with an open batch, and lost its partitions, adds nothing of it when it wakes up."""
    half, lines = 20_000, small_lines()
    with feeding(collectors.address, collectors.topic) as feed:
        feed(list(islice(lines, half)))
    collectors.start(0, static=False, flush_seconds=600)
    collectors.wait_until_logged(0, "ready")
    time.sleep(5)
    assert collectors.rows() == 0
    collectors.send_signal(0, signal.SIGSTOP)
    collectors.start(1, static=False)
    collectors.wait_for(half)
    collectors.send_signal(0, signal.SIGCONT)
    with feeding(collectors.address, collectors.topic) as feed:
        feed(list(islice(lines, half)))
    collectors.wait_until_logged(0, "the open batch is given up")
    for number in (0, 1):
        collectors.terminate(number)
    collectors.start(2, static=False)
    collectors.wait_for(2 * half)
    collectors.terminate(2)
    collectors.assert_exactly_once(2 * half)
