"""TLS and SASL, against listeners of a real broker."""

from __future__ import annotations

import base64
import gc
import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.kafka.settings import KafkaSettings
from collector.sources.kafka.source import KafkaSource
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.kafka.broker import PASSWORD, USER, Broker
from tests.kafka.topics import make_topic, produce
from tests.servers import wait_for


def unsigned_token() -> str:
    """A token that the broker's login for tests takes."""
    now = int(time.time())
    parts = [{"alg": "none"}, {"sub": "collector", "iat": now, "exp": now + 600}]
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."


class TokenServer(BaseHTTPRequestHandler):
    """Gives a token for the right client id and secret."""

    asked: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        right = "Basic " + base64.b64encode(b"client:secret").decode()
        self.asked.append(body)
        self.send_response(200 if self.headers["Authorization"] == right else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": unsigned_token(), "expires_in": 600}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def token_url() -> Iterator[str]:
    TokenServer.asked = []
    server = HTTPServer(("127.0.0.1", 0), TokenServer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/token"
    server.shutdown()
    thread.join()
    server.server_close()


def read_one(broker: Broker, path: Path, **options: Any) -> None:
    """Read a topic of one line by a listener that wants encryption, a login, or both."""
    topic, lake, stop = make_topic(broker.address), Lake(str(path / "lake")), threading.Event()
    produce(broker.address, topic, [chat_line(0)])
    settings = KafkaSettings.model_validate(
        {
            "bootstrap_servers": [broker.address_of(options["security_protocol"])],
            "topics": [topic],
            "group_id": topic,
            "ssl_cafile": str(broker.ca),
        }
        | options
    )
    collector = Collector(lake, CollectorSettings(flush_seconds=0.2))
    thread = threading.Thread(target=KafkaSource(settings, collector).run, args=(stop,))
    thread.start()
    try:
        wait_for(lambda: lake.table(PARSED_LOGS, "rag-app").read().num_rows == 1)
    finally:
        stop.set()
        thread.join()


def refused(settings: KafkaSettings, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Try to read until it is clear that nobody lets us in, and once more."""
    stop = threading.Event()
    collector = Collector(Lake(str(path / "lake")), CollectorSettings())
    thread = threading.Thread(target=KafkaSource(settings, collector).run, args=(stop,))
    thread.start()
    wait_for(lambda: "cannot be read" in caplog.text)
    time.sleep(4)
    stop.set()
    thread.join()


def collect_sockets(caplog: pytest.LogCaptureFixture) -> None:
    """Close the sockets of refused connections, which kafka-python leaves to the garbage collector, in this test.

    Tracebacks of the log hold them, in the records of caplog and in those of pytest's report.
    """
    caplog.clear()
    for handler in logging.getLogger().handlers:
        if isinstance(handler, type(caplog.handler)):
            handler.reset()
    gc.collect()


def test_tls(broker: Broker, tmp_path: Path) -> None:
    """With the authority's certificate an encrypted listener is read."""
    read_one(broker, tmp_path, security_protocol="SSL")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_broker_that_nobody_vouches_for(broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A certificate of an unknown authority is not trusted; that is logged once."""
    refused(
        KafkaSettings(bootstrap_servers=[broker.address_of("SSL")], topics=["any"], security_protocol="SSL"),
        tmp_path,
        caplog,
    )
    assert caplog.text.count("cannot be read") == 1
    collect_sockets(caplog)


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_password(broker: Broker, tmp_path: Path, protocol: str, mechanism: str) -> None:
    """A username and a password log in, with and without encryption."""
    login = {"sasl_mechanism": mechanism, "sasl_username": USER, "sasl_password": PASSWORD}
    read_one(broker, tmp_path, security_protocol=protocol, **login)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_wrong_password_is_reported(broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A refused login is logged once by the source, and never with the password."""
    settings = KafkaSettings(
        bootstrap_servers=[broker.address_of("SASL_SSL")],
        topics=["any"],
        security_protocol="SASL_SSL",
        ssl_cafile=str(broker.ca),
        sasl_mechanism="PLAIN",
        sasl_username=USER,
        sasl_password="wrong-secret",
    )
    refused(settings, tmp_path, caplog)
    assert "wrong-secret" not in caplog.text
    assert caplog.text.count("cannot be read") == 1
    collect_sockets(caplog)


def test_oauthbearer(broker: Broker, tmp_path: Path, token_url: str) -> None:
    """A token that a client id and secret got from the token server logs in; it is asked for once."""
    read_one(
        broker,
        tmp_path,
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
        oauth_token_url=token_url,
        oauth_client_id="client",
        oauth_client_secret="secret",
        oauth_scope="kafka",
    )
    assert TokenServer.asked == ["grant_type=client_credentials&scope=kafka"]
