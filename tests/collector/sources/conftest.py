"""The lake and the folder of logs that tests of the sources share, and the broker of the Kafka source."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lake import Lake
from tests.kafka.broker import Broker, NoKafkaError
from tests.kafka.stand_in import ADVICE, stand_in

_REASON = pytest.StashKey[str]()


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
def broker(apache_kafka: Broker | NoKafkaError) -> Broker:
    """Apache Kafka, with listeners for TLS and SASL, which may be stopped and started; in CI it must be there."""
    if isinstance(apache_kafka, Broker):
        return apache_kafka
    message = f"THIS TEST DID NOT RUN, it needs Apache Kafka: {apache_kafka}; {ADVICE}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def kafka(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[str]:
    """Address of the broker in KAFKA_BOOTSTRAP_SERVERS, else of Apache Kafka, else of a stand-in for it."""
    given = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    made = None if given else request.getfixturevalue("apache_kafka")
    if given:
        yield given
    elif isinstance(made, Broker):
        yield made.address
    else:
        with stand_in(tmp_path_factory.mktemp("stand-in")) as address:
            _tell(pytestconfig, f"Apache Kafka cannot be had here ({made}); {ADVICE}")
            yield address


def _tell(config: pytest.Config, reason: str) -> None:
    config.stash[_REASON] = reason
    if hasattr(config, "workeroutput"):
        config.workeroutput["kafka_stand_in"] = reason


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Take over what a worker of pytest-xdist has told."""
    reason = getattr(node, "workeroutput", {}).get("kafka_stand_in")
    if reason:
        node.config.stash[_REASON] = reason  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say loudly that the tests did not meet the real thing."""
    if _REASON in config.stash:
        terminalreporter.section("KAFKA TESTS RAN AGAINST A STAND-IN, NOT AGAINST APACHE KAFKA", red=True, bold=True)
        terminalreporter.line(config.stash[_REASON], red=True)
