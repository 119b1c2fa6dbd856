from __future__ import annotations

import gzip
import json
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from collector.commit.position import Piece
from collector.metrics.last_lines import LastLines
from collector.parsing import Rejection
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.http.app import create_app
from collector.sources.http.deliveries import DeliveredItem, Deliveries
from collector.sources.http.settings import HttpSettings
from dialwatch.serving.server import BackgroundServer
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import wait_for

TOKEN = "a token"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


@pytest.fixture
def url(lake: Lake) -> Iterator[str]:
    collector = Collector(lake, CollectorSettings())
    settings = HttpSettings.model_validate({"token": TOKEN, "max_body_bytes": 100_000})
    with BackgroundServer(create_app(collector, settings), "127.0.0.1:0") as server:
        yield f"{server.url}/data"


def post(url: str, body: bytes, **headers: str) -> httpx.Response:
    return httpx.post(url, content=body, headers=HEADERS | headers, timeout=60)


def envelopes(*lines: bytes) -> bytes:
    """What Vector's `http` sink sends with the codec `json`."""
    return json.dumps([{"file": "/app/log/aidial.log", "message": line.decode()} for line in lines]).encode()


def answers(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist())


@pytest.mark.parametrize(
    "body",
    [
        envelopes(chat_line(1), chat_line(2)),
        chat_line(1) + b"\n" + chat_line(2),
        chat_line(1) + b"\r\n\r\n" + chat_line(2) + b"\n",
        b"[" + chat_line(1) + b",\n" + chat_line(2) + b"]",
    ],
    ids=["envelopes", "lines", "lines-and-blanks", "array"],
)
def test_rows_are_in_the_lake_when_the_answer_comes(url: str, lake: Lake, body: bytes) -> None:
    """An array of envelopes, of lines, and a line each are all taken; 200 says that the rows are durable."""
    assert post(url, body).status_code == 200
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_lines_of_a_container_are_taken(url: str, lake: Lake) -> None:
    """The file of a container is taken as it is: Docker's or containerd's, with lines in parts."""
    stamp, line = b"2026-11-24T09:00:00.1Z stdout %b ", chat_line(1)
    assert post(url, stamp % b"P" + line[:99] + b"\n" + stamp % b"F" + line[99:] + b"\n").status_code == 200
    parts = [chat_line(2).decode()[:99], chat_line(2).decode()[99:] + "\n"]
    records = [json.dumps({"log": part, "stream": "stdout", "time": "2026-11-24T09:00:00.1Z"}) for part in parts]
    assert post(url, "\n".join(records).encode()).status_code == 200
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_an_indented_envelope_is_one_value(url: str, lake: Lake) -> None:
    """A body that is one JSON value may have newlines in it."""
    assert post(url, json.dumps({"message": chat_line(1).decode()}, indent=2).encode()).status_code == 200
    assert answers(lake) == ["Answer 1."]


def test_an_empty_array_is_nothing(url: str, lake: Lake) -> None:
    """A shipper without news is answered, and nothing is written."""
    assert post(url, b"[]").status_code == 200
    assert lake.table(BATCHES).read().num_rows == 0


def test_a_packed_body_is_unpacked(url: str, lake: Lake) -> None:
    """Content-Encoding gzip is understood."""
    body = gzip.compress(envelopes(chat_line(1)))
    assert post(url, body, **{"Content-Encoding": "gzip"}).status_code == 200
    assert answers(lake) == ["Answer 1."]


def test_what_is_sent_again_is_stored_once(url: str, lake: Lake) -> None:
    """A shipper that saw no answer may send again."""
    for _ in range(2):
        assert post(url, envelopes(chat_line(1))).status_code == 200
    assert answers(lake) == ["Answer 1."]
    assert sum(lake.table(BATCHES).read(["duplicates"])["duplicates"].to_pylist()) == 1


def test_one_bad_line_costs_only_itself(url: str, lake: Lake) -> None:
    """Beside a good line, one that cannot be read is kept as rejected."""
    assert post(url, envelopes(chat_line(1), b"a stack trace")).status_code == 200
    assert answers(lake) == ["Answer 1."]
    assert lake.table(REJECTED).read(["raw"])["raw"].to_pylist() == [b"a stack trace"]


@pytest.mark.parametrize("odd", [b'tail of a cut line"}}', b"\0\0\0", b"2026-11-20 12:00:01 INFO"])
def test_an_odd_first_line_costs_only_itself(url: str, lake: Lake, odd: bytes) -> None:
    """Lines behind one that is no JSON are stored, and a BOM before the first is nothing."""
    assert post(url, odd + b"\n" + chat_line(1)).status_code == 200
    assert post(url, b"\xef\xbb\xbf" + chat_line(2) + b"\n" + chat_line(3)).status_code == 200
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]
    assert lake.table(REJECTED).read(["raw"])["raw"].to_pylist() == [odd]


@pytest.mark.parametrize(
    ("body", "headers", "status", "says"),
    [
        (b"", {}, 400, "must be JSON"),
        (b"hello", {}, 400, "begins 'hello'"),
        (b"no gzip", {"Content-Encoding": "gzip"}, 400, "no gzip"),
        (gzip.compress(b"[]")[:-3], {"Content-Encoding": "gzip"}, 400, "not one whole gzip"),
        (b"[]", {"Content-Encoding": "br"}, 415, "br"),
        (b"[" + b" " * 200_000 + b"]", {}, 413, "100000 bytes"),
        (gzip.compress(b" " * 50_000_000), {"Content-Encoding": "gzip"}, 413, "100000 bytes"),
        (b"[]", {"Authorization": "Bearer wrong"}, 401, "token"),
        (b"[]", {"Authorization": TOKEN}, 401, "token"),
    ],
    # Without names of their own the bodies would name the tests, and gzip holds the time.
    ids=["empty", "text", "no-gzip", "cut-gzip", "brotli", "large", "gzip-bomb", "wrong-token", "no-scheme"],
)
def test_what_cannot_be_taken_is_refused_with_the_reason(
    url: str, lake: Lake, body: bytes, headers: dict[str, str], status: int, says: str
) -> None:
    """A refusal says what was wrong; a small body that unpacks to a huge one stops at the limit."""
    response = post(url, body, **headers)
    assert response.status_code == status
    assert says in response.json()["detail"]
    assert lake.deployments() == []


@pytest.mark.slow
def test_many_clients_share_commits(url: str, lake: Lake) -> None:
    """Requests that come at once are committed together: 50 clients' 200 requests need far fewer commits."""
    with ThreadPoolExecutor(50) as pool:
        responses = list(pool.map(lambda n: post(url, envelopes(chat_line(n))), range(200)))
    assert {response.status_code for response in responses} == {200}
    assert len(answers(lake)) == 200
    assert lake.table(BATCHES).read().num_rows <= 40
    assert (lake.table(PARSED_LOGS, "rag-app").version() or 0) <= 40


def test_a_packed_body_may_have_several_members(url: str, lake: Lake) -> None:
    """A body that was put together from gzip streams is read as one, padding left out."""
    body = gzip.compress(chat_line(1) + b"\n" + chat_line(2)[:50]) + gzip.compress(chat_line(2)[50:]) + b"\0" * 9
    assert post(url, body, **{"Content-Encoding": "gzip"}).status_code == 200
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_bomb_takes_no_memory(lake: Lake) -> None:
    """A small body that unpacks to gigabytes is refused at the limit, whatever its number of members."""
    settings = HttpSettings(max_body_bytes=1_000_000, commit_seconds=0)
    bomb = gzip.compress(b" " * 50_000_000)
    with BackgroundServer(create_app(Collector(lake, CollectorSettings()), settings), "127.0.0.1:0") as server:
        tracemalloc.start()
        try:
            for body in (bomb, b"".join(gzip.compress(b" " * 900_000) for _ in range(40)), bomb * 20):
                answer = post(f"{server.url}/data", body, **{"Content-Encoding": "gzip"})
                assert answer.status_code == 413
            assert tracemalloc.get_traced_memory()[1] < 15_000_000
        finally:
            tracemalloc.stop()


def send_raw(url: str, request: bytes) -> socket.socket:
    host, port = url.removeprefix("http://").partition("/")[0].split(":")
    connection = socket.create_connection((host, int(port)), timeout=30)
    connection.sendall(request)
    return connection


def test_a_length_over_the_limit_is_refused_before_the_body_comes(url: str) -> None:
    """The answer to headers that announce too much does not wait for a body."""
    head = f"POST /data HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 100001\r\n\r\n"
    with send_raw(url, head.encode()) as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_client_that_goes_away_costs_nothing(url: str, lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    """One that leaves in the middle of its body, or before the answer, is no error, and others are served."""
    body = envelopes(chat_line(1))
    head = f"POST /data HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    for sent in (body[:100], body):
        send_raw(url, head.encode() + sent).close()
    assert post(url, envelopes(chat_line(2))).status_code == 200
    wait_for(lambda: answers(lake) == ["Answer 1.", "Answer 2."])
    assert "Traceback" not in caplog.text


def test_a_slow_lake_is_reported_to_the_sender(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time, or with too much waiting, the answer is 503; what is sent again is stored once."""
    free = threading.Event()
    collector = Collector(lake, CollectorSettings())
    commit = collector.commit

    def slow(pieces: list[Piece]) -> list[list[Rejection]]:
        free.wait(60)
        return commit(pieces)

    monkeypatch.setattr(collector, "commit", slow)
    monkeypatch.setattr("collector.sources.http.app.ANSWER_SECONDS", 0.5)
    settings = HttpSettings(commit_seconds=0, max_waiting_bytes=30_000)
    with BackgroundServer(create_app(collector, settings), "127.0.0.1:0") as server:
        first = post(f"{server.url}/data", envelopes(chat_line(1)))
        second = post(f"{server.url}/data", envelopes(chat_line(2, noise="x" * 40_000)))
        assert (first.status_code, second.status_code) == (503, 503)
        assert "within 0.5 seconds" in first.json()["detail"]
        assert "bytes wait" in second.json()["detail"]
        assert first.headers["Retry-After"] == "5"
        free.set()
        wait_for(lambda: answers(lake) == ["Answer 1."])
        both = envelopes(chat_line(1), chat_line(2))
        wait_for(lambda: post(f"{server.url}/data", both).status_code == 200)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_requests_in_flight_are_answered_when_the_server_ends(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked to end, the endpoint answers what it has taken, with rows that are durable."""
    taken: list[str] = []
    collector, store = Collector(lake, CollectorSettings()), Deliveries.store
    commit = collector.commit

    async def count(deliveries: Deliveries, name: str, *given: Any) -> list[DeliveredItem]:
        taken.append(name)
        return await store(deliveries, name, *given)

    def late(pieces: list[Piece]) -> list[list[Rejection]]:
        wait_for(lambda: server._server.should_exit)
        return commit(pieces)

    monkeypatch.setattr(Deliveries, "store", count)
    monkeypatch.setattr(collector, "commit", late)
    app = create_app(collector, HttpSettings(commit_seconds=0))
    with ThreadPoolExecutor(8) as pool:
        with BackgroundServer(app, "127.0.0.1:0") as server:
            waiting = [pool.submit(post, f"{server.url}/data", envelopes(chat_line(n))) for n in range(8)]
            wait_for(lambda: len(taken) == 8)
        assert [future.result().status_code for future in waiting] == [200] * 8
    assert answers(lake) == sorted(f"Answer {n}." for n in range(8))


def test_a_lake_that_is_away_is_reported_to_the_sender(url: str, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """While rows cannot be written the answer is 503 with Retry-After; what is then sent again is stored once."""
    real = lake.table

    def away(*_: object) -> object:
        raise OSError("no route to the store")

    monkeypatch.setattr(lake, "table", away)
    body = envelopes(chat_line(1), b"no json")
    response = post(url, body)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "5"
    monkeypatch.setattr(lake, "table", real)
    assert post(url, body).status_code == 200
    assert answers(lake) == ["Answer 1."]
    assert lake.table(REJECTED).read().num_rows == 1
    with BackgroundServer(create_app(Collector(lake, CollectorSettings()), HttpSettings()), "127.0.0.1:0") as server:
        assert post(f"{server.url}/data", body).status_code == 200
    assert answers(lake) == ["Answer 1."]
    assert lake.table(REJECTED).read().num_rows == 1


def test_lines_and_signals_count_as_lines_of_the_endpoint(lake: Lake) -> None:
    """A sender that is silent is seen; bodies without an item say nothing of it."""
    lines = LastLines()
    lines.expect("http", "see that Vector runs")
    app = create_app(Collector(lake, CollectorSettings()), HttpSettings(commit_seconds=0), last_lines=lines)
    with BackgroundServer(app, "127.0.0.1:0") as server:
        assert post(f"{server.url}/data", b"[]").status_code == 200
        assert lines.newest() == {"http": None}
        assert post(f"{server.url}/data", envelopes(chat_line(1))).status_code == 200
        first = lines.newest()["http"]
        assert first is not None
        signal = b'[{"deployment": "rag-app", "response_id": "r", "signal": "copy", "value": 1}]'
        assert post(f"{server.url}/signals", signal).status_code == 200
        assert (lines.newest()["http"] or first) > first
