from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.http.app import create_app
from collector.sources.http.score_items import read_scores
from collector.sources.http.settings import HttpSettings
from dialwatch.serving.server import BackgroundServer
from lake.spec.metric_names import is_own_name
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SCORE = {"deployment": "rag-app", "response_id": "r-1", "name": "sql_ran", "value": 1}


@pytest.fixture
def url(lake: Lake) -> Iterator[str]:
    settings = HttpSettings.model_validate({"token": "a token", "commit_seconds": 0})
    collector = Collector(lake, CollectorSettings.model_validate({"signals": {"words": 2}}))
    app = create_app(collector, settings, lambda: NOW, is_taken=lambda name: name == "quality" or is_own_name(name))
    with BackgroundServer(app, "127.0.0.1:0") as server:
        yield f"{server.url}/scores"


def post(url: str, *scores: Any, token: str = "a token") -> httpx.Response:
    body = b"\n".join(json.dumps(one).encode() for one in scores)
    return httpx.post(url, content=body, headers={"Authorization": f"Bearer {token}"}, timeout=60)


def rows(lake: Lake) -> list[dict[str, Any]]:
    return lake.table(USER_SIGNALS, "rag-app").read().to_pylist()


def test_a_score_is_a_row_with_its_own_range_when_the_answer_comes(url: str, lake: Lake) -> None:
    """Value, range and direction are kept in own units; the row's value says from -1 to 1 how good that is."""
    sent = SCORE | {
        "name": "minutes",
        "value": 15,
        "range": [0, 60],
        "direction": "down",
        "scored_at": "2026-11-19T23:30:00-02:00",
        "user_id": "u",
        "chat_id": "c",
        "details": {"ticket": 17},
        "team": "billing",
    }
    assert post(url, sent).json() == {"status": "stored", "accepted": 1, "rejected": 0, "errors": []}
    [row] = rows(lake)
    assert (row["signal"], row["value"], row["confidence"], row["origin"]) == ("minutes", 0.5, 1.0, "score")
    assert (row["response_id"], row["user_id"], row["chat_id"]) == ("r-1", "u", "c")
    assert row["signaled_at"] == datetime(2026, 11, 20, 1, 30, tzinfo=UTC)
    assert row["date"] == row["signaled_at"].date()
    own = {"value": 15.0, "low": 0.0, "high": 60.0, "direction": "down"}
    assert json.loads(row["details"]) == {"ticket": 17, "team": "billing", "score": own}


@pytest.mark.parametrize(("direction", "value"), [("up", 0.5), ("down", -0.5), ("none", None)])
def test_what_is_left_out_has_a_default(url: str, lake: Lake, direction: str, value: float | None) -> None:
    """The range is from 0 to 1, and the time is now; a score without a better end says neither good nor bad."""
    assert post(url, SCORE | {"value": 0.75, "direction": direction}).status_code == 200
    [row] = rows(lake)
    assert (row["value"], row["signaled_at"]) == (value, NOW)
    assert json.loads(row["details"])["score"] == {"value": 0.75, "low": 0.0, "high": 1.0, "direction": direction}


def test_more_is_better_where_nothing_is_said(url: str, lake: Lake) -> None:
    """The direction is up."""
    assert post(url, SCORE).status_code == 200
    assert rows(lake)[0]["value"] == 1.0


def test_a_repeat_is_a_duplicate(url: str, lake: Lake) -> None:
    """The same content, or the same `score_id`, is stored once and counted as a duplicate after that."""
    named = SCORE | {"score_id": "mine-1"}
    for body in (SCORE, SCORE, named, named | {"value": 0.5}):
        assert post(url, body).status_code == 200
    assert len(rows(lake)) == 2
    assert sum(lake.table(BATCHES).read(["duplicates"])["duplicates"].to_pylist()) == 2


@pytest.mark.parametrize("score_id", ["mine-1", "0123456789abcdef" * 2], ids=["any", "like an event_id"])
def test_one_id_may_stand_for_scores_of_several_names(url: str, lake: Lake, score_id: str) -> None:
    """A sender may give the answer's id to all scores of the answer; a repeat of each is a duplicate."""
    named = [SCORE | {"name": name, "score_id": score_id} for name in ("sql_ran", "order_placed")]
    for _ in range(2):
        assert post(url, *named).json()["accepted"] == 2
    assert {row["signal"] for row in rows(lake)} == {"sql_ran", "order_placed"}
    assert len({row["signal_id"] for row in rows(lake)} - {score_id}) == len(rows(lake)) == 2
    assert {json.loads(row["details"])["score_id"] for row in rows(lake)} == {score_id}


def test_a_score_is_not_taken_for_a_signal_with_the_same_id(url: str, lake: Lake) -> None:
    """Senders number what they send at each address by itself."""
    signal = {"deployment": "rag-app", "response_id": "r-1", "signal": "copy", "signal_id": "1"}
    token = {"Authorization": "Bearer a token"}
    assert httpx.post(url.replace("scores", "signals"), json=signal, headers=token).status_code == 200
    assert post(url, SCORE | {"score_id": "1"}).status_code == 200
    assert {row["signal"] for row in rows(lake)} == {"copy", "sql_ran"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"deployment": None}, "deployment"),
        ({"response_id": None}, "give chat_id or user_id"),
        ({"name": "SQL ran"}, "name"),
        ({"name": "faithfulness_kprecision"}, "dialwatch uses itself"),
        ({"name": "dislikes"}, "dialwatch uses itself"),
        ({"name": "errors"}, "dialwatch uses itself"),
        ({"name": "like"}, "dialwatch uses itself"),
        ({"name": "aspect_polite"}, "dialwatch uses itself"),
        ({"name": "quality"}, "dialwatch uses itself"),
        ({"value": None}, "value"),
        ({"value": True}, "value"),
        ({"value": 1.5}, "outside of the range from 0 to 1"),
        ({"value": 0, "range": [1, 5]}, "outside of the range from 1 to 5"),
        ({"range": [1, 1]}, "range"),
        ({"range": [1, 0]}, "range"),
        ({"range": [-1e308, 1e308]}, "range"),
        ({"range": [0]}, "range"),
        ({"direction": "sideways"}, "direction"),
        ({"scored_at": "2027-01-01T00:00:00Z"}, "future"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_bad_score_costs_only_itself(url: str, lake: Lake, change: dict[str, Any], says: str) -> None:
    """The good ones are rows; the bad one is rejected with the reason, and the answer says which it was."""
    bad = SCORE | change
    reply = post(url, SCORE, bad).json()
    assert (reply["accepted"], reply["rejected"], reply["errors"][0]["index"]) == (1, 1, 1)
    assert says in reply["errors"][0]["reason"]
    [rejected] = lake.table(REJECTED).read(["reason", "raw"]).to_pylist()
    assert (rejected["reason"], json.loads(rejected["raw"])) == ("not_a_score", bad)
    assert len(rows(lake)) == 1


def test_names_are_bounded_together_with_words_of_signals(url: str, lake: Lake) -> None:
    """A name beyond `collector.signals.words` is refused, as another range would be mixed with it."""
    reply = post(url, *(SCORE | {"name": name} for name in ("one", "two", "three", "one"))).json()
    assert (reply["accepted"], reply["rejected"]) == (3, 1)
    assert "collector.signals.words" in reply["errors"][0]["reason"]
    assert {row["signal"] for row in rows(lake)} == {"one", "two"}


@pytest.mark.parametrize("body", [b"", b"hello", b"{}", b"[1, 2]"], ids=repr)
def test_a_body_without_a_score_is_refused(url: str, lake: Lake, body: bytes) -> None:
    """400 with the reason where nothing can be read, and nothing is written."""
    answer = httpx.post(url, content=body, headers={"Authorization": "Bearer a token"})
    assert answer.status_code == 400
    assert "no item of the body is a score" in answer.json()["detail"]
    assert lake.table(BATCHES).read().num_rows == 0


def test_the_token_is_asked_for(url: str, lake: Lake) -> None:
    """A wrong token is refused before the body is looked at."""
    assert post(url, SCORE, token="wrong").status_code == 401
    assert lake.deployments() == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*SCORE, "range", "direction", "scored_at", "details", "score"]), JSON))
def test_any_json_is_a_score_or_has_a_problem(change: dict[str, Any]) -> None:
    """Whatever stands in an item, it is a record in range or a problem, beside a good one that stays good."""
    body = json.dumps(SCORE).encode() + b"\n" + json.dumps(SCORE | change).encode()
    good, odd = read_scores(body, NOW)
    assert good.record is not None
    assert (odd.record is None) == (odd.problem is not None)
    if odd.record is not None:
        assert odd.record.value is None or -1 <= odd.record.value <= 1
