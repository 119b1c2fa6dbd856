"""Topics for tests, and what fills them."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from kafka import KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

from tests.servers import needed, wait_for


def make_topic(address: str, partitions: int = 1, name: str = "") -> str:
    """Make a topic, of its own for a test where no name is given; gives its name."""
    name = name or f"dial-{uuid.uuid4().hex[:8]}"
    with administration(address) as admin:
        admin.create_topics({name: {"num_partitions": partitions, "replication_factor": 1}}, wait_for_metadata=True)
    return name


def delete_topic(address: str, name: str) -> None:
    """Delete a topic; returns when it is gone."""
    with administration(address) as admin:
        admin.delete_topics([name])
        wait_for(lambda: name not in admin.list_topics())


def delete_records(address: str, topic: str, before: int) -> None:
    """Delete the messages of partition 0 whose offsets are below."""
    with administration(address) as admin:
        admin.delete_records({TopicPartition(topic, 0): before})


@contextmanager
def administration(address: str) -> Iterator[KafkaAdminClient]:
    admin = KafkaAdminClient(bootstrap_servers=address)
    try:
        yield admin
    finally:
        admin.close()


def produce(address: str, topic: str, values: Iterable[bytes], compression: str | None = None) -> None:
    """Send values, spread over the topic's partitions; returns when the broker has them all."""
    producer = KafkaProducer(
        bootstrap_servers=address,
        compression_type=compression,
        max_request_size=48_000_000,
        linger_ms=20,
        acks="all",
    )
    for value in values:
        producer.send(topic, value)
    producer.flush()
    producer.close()


def produce_by_kcat(address: str, topic: str, values: Iterable[bytes], *options: str) -> None:
    """The same by Debian's kcat (librdkafka), a value a line."""
    command = [needed("kcat"), "-P", "-b", address, "-t", topic, "-X", "acks=all", *options]
    subprocess.run(command, input=b"\n".join(values) + b"\n", check=True)


@contextmanager
def feeding(address: str, topic: str) -> Iterator[Callable[[list[bytes]], None]]:
    """Give a function that sends values, one half by kcat and one by kafka-python.

    At the end of the block the broker has them all; kcat holds its last one back until then.
    """
    command = [needed("kcat"), "-P", "-b", address, "-t", topic, "-X", "acks=all", "-z", "lz4"]
    kcat = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert kcat.stdin is not None
    producer = KafkaProducer(bootstrap_servers=address, compression_type="zstd", linger_ms=20, acks="all")

    def send(values: list[bytes]) -> None:
        half = len(values) // 2
        kcat.stdin.write(b"\n".join(values[:half]) + b"\n")
        kcat.stdin.flush()
        for value in values[half:]:
            producer.send(topic, value)

    try:
        yield send
        producer.flush()
    finally:
        producer.close()
        kcat.stdin.close()
        assert kcat.wait() == 0
