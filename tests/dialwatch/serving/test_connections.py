"""Connections of clients that are slow, many, or refused, on a real server."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.http import bodies
from collector.sources.http.app import create_app
from collector.sources.http.settings import HttpSettings
from dialwatch.serving import connections
from dialwatch.serving.addresses import parse_address
from dialwatch.serving.server import BackgroundServer
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

JSON = {"Content-Type": "application/json"}
HEAD = b"POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def url(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(bodies, "_IDLE_SECONDS", 0.5)
    monkeypatch.setattr("collector.sources.http.app.RECEIVE_SECONDS", 2.0)
    settings = HttpSettings(max_body_bytes=100_000, commit_seconds=0)
    app = create_app(Collector(Lake(str(tmp_path)), CollectorSettings()), settings)
    with BackgroundServer(app, "127.0.0.1:0") as server:
        yield server.url


def connect(url: str) -> socket.socket:
    return socket.create_connection(parse_address(url.removeprefix("http://")), timeout=30)


def connect_from(address: str, url: str) -> socket.socket:
    """Connect from an address of loopback."""
    return socket.create_connection(parse_address(url.removeprefix("http://")), timeout=30, source_address=(address, 0))


def drip(connection: socket.socket, pieces: Iterator[bytes]) -> bytes:
    """Send a piece now and then until the server hangs up, and give its answer; AssertionError where it never does."""
    connection.settimeout(0.1)
    deadline, answer = time.monotonic() + 30, b""
    while time.monotonic() < deadline:
        try:
            received = connection.recv(10_000)
        except TimeoutError:
            received = None
        except ConnectionError:
            return answer
        if received == b"":
            return answer
        answer += received or b""
        try:
            connection.sendall(next(pieces, b""))
        except ConnectionError:
            return answer
    raise AssertionError("the connection is still open")


def bytes_of(text: bytes) -> Iterator[bytes]:
    return (text[place : place + 1] for place in range(len(text)))


def test_a_connection_that_says_nothing_is_closed(url: str) -> None:
    """No connection waits for ever for its first request."""
    with connect(url) as connection:
        assert drip(connection, iter(())) == b""


def test_a_head_that_comes_in_drops_is_cut_off(url: str) -> None:
    """A byte now and then keeps no connection open, be it of the first request or of the next."""
    with connect(url) as connection:
        assert drip(connection, bytes_of(HEAD)) == b""
    with connect(url) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = connection.recv(10_000) + drip(connection, bytes_of(HEAD * 10))
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'{"status":"ok"}')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pieces", "says"),
    [(iter(()), b"nothing came for 0.5 s"), (bytes_of(b" " * 1_000), b"it took over 2 s")],
    ids=["no-more", "in-drops"],
)
def test_a_body_that_comes_too_slowly_is_refused(url: str, pieces: Iterator[bytes], says: bytes) -> None:
    """The answer is 408 and says why; then the connection is closed."""
    with connect(url) as connection:
        connection.sendall(HEAD + b"Content-Length: 90000\r\n\r\n[")
        answer = drip(connection, pieces)
    assert answer.startswith(b"HTTP/1.1 408")
    assert says in answer


def test_a_client_that_does_not_read_its_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that nobody takes does not wait for ever."""
    monkeypatch.setattr(connections, "READING_SECONDS", 0.5)
    ended = []

    async def app(scope: object, receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        for _ in range(2_000):
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})  # type: ignore[operator]
        ended.append(True)

    with BackgroundServer(app, "127.0.0.1:0") as server, connect(server.url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        deadline = time.monotonic() + 30
        while not ended and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ended


def test_connections_are_bounded(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more than the most is hung up on where all the others are at work; these are served."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)
    monkeypatch.setattr(bodies, "_IDLE_SECONDS", 60)
    monkeypatch.setattr("collector.sources.http.app.RECEIVE_SECONDS", 60)
    with ExitStack() as stack:
        at_work = [stack.enter_context(connect(url)) for _ in range(3)]
        for one in at_work:
            one.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            assert one.recv(10_000).startswith(b"HTTP/1.1 100")
        with connect(url) as surplus:
            assert drip(surplus, iter(())) == b""
        for one in at_work:
            one.sendall(b"[]")
            assert one.recv(10_000).startswith(b"HTTP/1.1 200")


def is_open(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False


def test_half_open_connections_shut_nobody_out(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request finds a place among 600 connections of its own and of another address that never end their heads."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)
    with ExitStack() as stack:
        for number in range(600):
            held = stack.enter_context(connect_from(f"127.0.0.{2 + number % 2}", url))
            held.sendall(b"GET /metrics HTTP/1.1\r\n")
        for address in ("127.0.0.1", "127.0.0.2"):
            with connect_from(address, url) as asked:
                asked.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert asked.recv(10_000).startswith(b"HTTP/1.1 200")


def test_of_one_address_the_oldest_without_a_head_is_dropped(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of others stay, and those whose request is at work."""
    monkeypatch.setattr(connections, "MOST_OF_ADDRESS", 3)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)
    with ExitStack() as stack:
        other = stack.enter_context(connect(url))
        held = [stack.enter_context(connect_from("127.0.0.2", url)) for _ in range(5)]
        assert [is_open(one) for one in [other, *held]] == [True, False, False, True, True, True]


def test_where_all_is_full_the_address_with_the_most_goes_first(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older connection of another address stays."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 4)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)
    with ExitStack() as stack:
        older = stack.enter_context(connect(url))
        crowd = [stack.enter_context(connect_from("127.0.0.2", url)) for _ in range(3)]
        newer = stack.enter_context(connect_from("127.0.0.3", url))
        assert [is_open(one) for one in [older, *crowd, newer]] == [True, False, True, True, True]


@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [("/data", "application/json", 413), ("/data", "text/plain", 415), ("/nowhere", "application/json", 404)],
    ids=["too-large", "no-json", "no-such-path"],
)
@pytest.mark.parametrize(
    "framing", [b"Content-Length: 30000000", b"Transfer-Encoding: chunked"], ids=["length", "chunked"]
)
def test_a_client_that_is_refused_can_read_why(url: str, path: str, kind: str, status: int, framing: bytes) -> None:
    """One that sends all of its 30 MB before it reads is not reset meanwhile, and gets its answer."""
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n%s\r\n\r\n"
    piece = b" " * 1_000_000
    with connect(url) as connection:
        connection.sendall(head % (path.encode(), kind.encode(), framing))
        for _ in range(30):
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if b"chunked" in framing else piece)
            time.sleep(0.01)
        if b"chunked" in framing:
            connection.sendall(b"0\r\n\r\n")
        assert connection.recv(10_000).startswith(b"HTTP/1.1 %d" % status)


def test_a_connection_that_was_refused_goes_on(url: str) -> None:
    """After a refusal whose body was read to its end the same connection takes the next request."""
    with httpx.Client(base_url=url, timeout=60) as client:
        assert client.post("/data", content=b"x" * 50_000).status_code == 415
        assert client.post("/data", content=json.dumps({"message": chat_line(1).decode()}), headers=JSON).is_success
