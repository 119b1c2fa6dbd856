from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from collector import Collector, CollectorSettings, HttpSettings, create_app
from dialwatch.serving import BackgroundServer
from lake import BATCHES, PARSED_LOGS, REJECTED, Lake
from tests.collector.lines import chat_line

TOKEN = "a token"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def url(lake: Lake) -> Iterator[str]:
    collector = Collector(lake, CollectorSettings())
    settings = HttpSettings.model_validate({"token": TOKEN, "max_body_bytes": 100_000})
    with BackgroundServer(create_app(collector, settings), "127.0.0.1:0") as server:
        yield f"{server.url}/data"


def post(url: str, body: bytes, **headers: str) -> httpx.Response:
    return httpx.post(url, content=body, headers={"Authorization": f"Bearer {TOKEN}"} | headers)


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


def test_many_clients_share_commits(url: str, lake: Lake) -> None:
    """Requests that come at once are committed together: there are far fewer commits than requests."""
    with ThreadPoolExecutor(30) as pool:
        responses = list(pool.map(lambda n: post(url, envelopes(chat_line(n))), range(120)))
    assert {response.status_code for response in responses} == {200}
    assert len(answers(lake)) == 120
    assert lake.table(BATCHES).read().num_rows < 60


def test_a_lake_that_is_away_is_told_to_the_sender(url: str, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
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
