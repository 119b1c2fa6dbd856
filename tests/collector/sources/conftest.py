"""The lake and the folder of logs that tests of the sources share, and the broker of the Kafka source."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from lake.tables.lake import Lake
from tests.collector.sources.faults import Door
from tests.kafka.broker import Broker, NoKafkaError

_REASON = pytest.StashKey[str]()
_ADVICE = (
    "install Java 17 and Maven, and see that Maven Central can be reached; or give a broker in KAFKA_BOOTSTRAP_SERVERS"
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake."""
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """An empty folder for log files."""
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.fixture
def door(s3_endpoint: str) -> Iterator[Door]:
    """The way to the S3-like server, without faults."""
    made = Door(s3_endpoint)
    yield made
    made.shut()


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker | NoKafkaError]:
    """A broker of the tests' own, or why there is none."""
    made = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        made.format()
        made.start()
    except NoKafkaError as error:
        yield error
        return
    yield made
    made.kill()


@pytest.fixture(scope="session")
def broker(apache_kafka: Broker | NoKafkaError, pytestconfig: pytest.Config) -> Broker:
    """Apache Kafka, with listeners for TLS and SASL, which may be stopped and started; in CI it must be there."""
    if isinstance(apache_kafka, NoKafkaError):
        _do_without(apache_kafka, pytestconfig)
    return apache_kafka


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> str:
    """Address of the broker in KAFKA_BOOTSTRAP_SERVERS, else of Apache Kafka of the tests' own."""
    given = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if given:
        return given
    made: Broker = request.getfixturevalue("broker")
    return made.address


def _do_without(reason: NoKafkaError, config: pytest.Config) -> NoReturn:
    message = f"THIS TEST DID NOT RUN, it needs Apache Kafka: {reason}; {_ADVICE}"
    if os.environ.get("CI"):
        pytest.fail(message)
    note = f"{reason}; {_ADVICE}"
    config.stash[_REASON] = note
    if hasattr(config, "workeroutput"):
        config.workeroutput["no_kafka"] = note
    pytest.skip(message)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Take over the reason that a worker of pytest-xdist has reported."""
    reason = getattr(node, "workeroutput", {}).get("no_kafka")
    if reason:
        node.config.stash[_REASON] = reason  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say loudly that the tests of the Kafka source did not run."""
    if _REASON in config.stash:
        terminalreporter.section("THE TESTS OF KAFKA DID NOT RUN: THERE IS NO APACHE KAFKA", red=True, bold=True)
        terminalreporter.line(config.stash[_REASON], red=True)
