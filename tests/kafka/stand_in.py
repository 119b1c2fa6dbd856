"""A small broker from PyPI that speaks Kafka's protocol, for machines on which Apache Kafka cannot be had."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kafka.broker import NoKafkaError, wait_for_port
from tests.servers import free_port

ADVICE = (
    "install Java 17 and Maven, and see that Maven Central can be reached; or give a broker in KAFKA_BOOTSTRAP_SERVERS"
)


@contextmanager
def stand_in(folder: Path) -> Iterator[str]:
    """Run noida-db in this folder and give its address; NoKafkaError where it is not installed or does not start.

    Offsets, groups and transactions are right. It evicts no member that was killed, takes no value over a few MiB, and
    has neither TLS nor SASL.
    """
    found = importlib.util.find_spec("noida_db")
    if found is None or found.origin is None:
        raise NoKafkaError(f"there is no stand-in either: pip install noida-db; better, {ADVICE}")
    program, port = Path(found.origin).with_name("noida-db"), free_port()
    # Its wheel leaves that to a launcher in Python, which would not pass on that it is told to end.
    program.chmod(0o755)
    command = [program, "start", "--only", "kafka", "--kafka-port", str(port), "--data-dir", folder]
    with (folder / "broker.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        try:
            wait_for_port(port, process)
        except OSError as error:
            raise NoKafkaError(f"noida-db does not come up: {(folder / 'broker.log').read_text()[-1000:]}") from error
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
