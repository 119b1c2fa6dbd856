from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.http.app import create_app
from collector.sources.http.settings import HttpSettings
from collector.sources.http.signal_items import read_signals
from dialwatch.serving.server import BackgroundServer
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LIKE = {"deployment": "rag-app", "response_id": "r-1", "signal": "like"}


@pytest.fixture
def url(lake: Lake) -> Iterator[str]:
    settings = HttpSettings.model_validate({"token": "a token", "commit_seconds": 0})
    app = create_app(Collector(lake, CollectorSettings()), settings, lambda: NOW)
    with BackgroundServer(app, "127.0.0.1:0") as server:
        yield f"{server.url}/signals"


def post(url: str, body: bytes, token: str = "a token") -> httpx.Response:
    return httpx.post(url, content=body, headers={"Authorization": f"Bearer {token}"}, timeout=60)


def rows(lake: Lake) -> list[dict[str, Any]]:
    return lake.table(USER_SIGNALS, "rag-app").read().to_pylist()


def test_a_signal_is_a_row_when_the_answer_comes(url: str, lake: Lake) -> None:
    """All that was sent stands in the row, members of no column in its details."""
    sent = LIKE | {
        "signal": "escalation",
        "value": -0.5,
        "confidence": 0.7,
        "signaled_at": "2026-11-19T23:30:00-02:00",
        "user_id": "u",
        "chat_id": "c",
        "origin": "implicit",
        "details": {"comment": "no good"},
        "ticket": 17,
    }
    assert post(url, json.dumps([sent]).encode()).json()["accepted"] == 1
    [row] = rows(lake)
    expected = {key: sent[key] for key in sent if key not in ("details", "ticket", "signaled_at")}
    assert {key: row[key] for key in expected} == expected
    assert row["signaled_at"] == datetime(2026, 11, 20, 1, 30, tzinfo=UTC)
    assert row["date"] == row["signaled_at"].date()
    assert json.loads(row["details"]) == {"comment": "no good", "ticket": 17}
    assert row["source"]["name"] == "/signals"


def test_what_is_left_out_has_a_default(url: str, lake: Lake) -> None:
    """A like is worth 1 and a dislike -1, given by a person, for sure, now; other signals have no value."""
    body = b"\n".join(json.dumps(LIKE | {"signal": signal}).encode() for signal in ("like", "dislike", "copy"))
    assert post(url, body).status_code == 200
    values = {row["signal"]: row["value"] for row in rows(lake)}
    assert values == {"like": 1.0, "dislike": -1.0, "copy": None}
    assert {(row["confidence"], row["origin"], row["signaled_at"]) for row in rows(lake)} == {(1.0, "explicit", NOW)}


@pytest.mark.parametrize("who", [{"chat_id": "c"}, {"user_id": "u"}, {"chat_id": "c", "user_id": "u"}])
def test_a_signal_on_an_answer_without_an_id_says_whose_it_is(url: str, lake: Lake, who: dict[str, str]) -> None:
    """The conversation or the person, with the time, says which answer is meant when rows are joined."""
    sent = {name: value for name, value in LIKE.items() if name != "response_id"} | who
    assert post(url, json.dumps(sent | {"signaled_at": NOW.isoformat()}).encode()).status_code == 200
    [row] = rows(lake)
    assert (row["response_id"], row["signaled_at"]) == (None, NOW)
    assert {name: row[name] for name in who} == who


def test_a_repeat_is_a_duplicate(url: str, lake: Lake) -> None:
    """The same content, or the same `signal_id`, is stored once and counted as a duplicate after that."""
    named = LIKE | {"signal_id": "mine-1"}
    for body in (LIKE, LIKE, named, named | {"value": 0.5}):
        assert post(url, json.dumps(body).encode()).status_code == 200
    assert len(rows(lake)) == 2
    assert sum(lake.table(BATCHES).read(["duplicates"])["duplicates"].to_pylist()) == 2


def test_a_signal_with_the_id_of_its_answer_is_no_repeat_of_the_answers_line(url: str, lake: Lake) -> None:
    """Before a restart and after it."""
    assert post(url.replace("/signals", "/data"), chat_line(1)).status_code == 200
    [event_id] = lake.table(PARSED_LOGS, "rag-app").read(["event_id"])["event_id"].to_pylist()
    sent = LIKE | {"response_id": event_id, "signal_id": event_id}
    for _ in range(2):
        assert post(url, json.dumps(sent).encode()).json()["accepted"] == 1
    assert [(row["signal"], row["signal_id"]) for row in rows(lake)] == [("like", event_id)]
    collector = Collector(lake, CollectorSettings())
    for record in read_signals(json.dumps(sent).encode(), NOW):
        collector.add(Piece(Partition("http", "/signals", "again"), b"", 1, record=record.record))
    assert collector.flush().duplicates == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"deployment": None}, "deployment"),
        ({"response_id": ""}, "response_id"),
        ({"response_id": None}, "give chat_id or user_id"),
        ({"signal": "Thumbs Up"}, "signal"),
        ({"value": 1.5}, "value"),
        ({"value": True}, "value"),
        ({"confidence": -0.1}, "confidence"),
        ({"origin": "robot"}, "origin"),
        ({"signaled_at": "yesterday"}, "signaled_at"),
        ({"signaled_at": "2027-01-01T00:00:00Z"}, "future"),
        ({"user_id": "\ud800"}, "no JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_bad_signal_costs_only_itself(url: str, lake: Lake, change: dict[str, Any], says: str) -> None:
    """The good ones are rows; the bad one is rejected with the reason, and the answer says which it was."""
    bad = json.dumps(LIKE | change).encode()
    answer = post(url, json.dumps(LIKE).encode() + b"\n" + bad)
    assert answer.status_code == 200
    reply = answer.json()
    assert (reply["accepted"], reply["rejected"], reply["errors"][0]["index"]) == (1, 1, 1)
    assert says in reply["errors"][0]["reason"]
    [rejected] = lake.table(REJECTED).read(["reason", "message", "raw"]).to_pylist()
    assert rejected["reason"] == "not_a_signal"
    assert rejected["raw"] == bad
    assert len(rows(lake)) == 1


@pytest.mark.parametrize("body", [b"", b"hello", b"{}", b"[1, 2]", b'"like"'], ids=repr)
def test_a_body_without_a_signal_is_refused(url: str, lake: Lake, body: bytes) -> None:
    """400 with the reason where nothing can be read, and nothing is written."""
    answer = post(url, body)
    assert answer.status_code == 400
    assert "no item of the body is a signal" in answer.json()["detail"]
    assert lake.table(BATCHES).read().num_rows == 0


def test_the_token_is_asked_for(url: str, lake: Lake) -> None:
    """A wrong token is refused before the body is looked at."""
    assert post(url, json.dumps(LIKE).encode(), "wrong").status_code == 401
    assert lake.deployments() == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*LIKE, "value", "confidence", "signaled_at", "details", "x"]), JSON))
def test_any_json_is_a_signal_or_has_a_problem(change: dict[str, Any]) -> None:
    """Whatever stands in an item, it is a record in range or a problem, beside a good one that stays good."""
    body = json.dumps(LIKE).encode() + b"\n" + json.dumps(LIKE | change).encode()
    good, odd = read_signals(body, NOW)
    assert good.record is not None
    assert (odd.record is None) == (odd.problem is not None)
    if odd.record is not None:
        assert odd.record.value is None or -1 <= odd.record.value <= 1
        assert odd.record.signaled_at <= NOW + timedelta(days=1)
