"""Deployments and words that nobody has seen before: bounded, counted, and nothing of them lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import generate_latest

from collector.commit.position import Partition, Piece
from collector.metrics.prometheus import registry_of
from collector.pipeline.collector import Collector
from collector.pipeline.new_deployments import NewDeploymentLimit
from collector.settings import CollectorSettings
from collector.sources.http.app import create_app
from collector.sources.http.settings import HttpSettings
from dialwatch.serving.server import BackgroundServer
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.exposition import without_installation

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def collector_of(lake: Lake, **settings: Any) -> Collector:
    return Collector(lake, CollectorSettings.model_validate(settings))


def line_of(deployment: str, number: int) -> bytes:
    return chat_line(number, deployment=deployment, execution_path=[deployment])


def take(collector: Collector, raw: bytes, offset: int) -> None:
    collector.add(Piece(Partition("file", "a.log", "a"), raw, offset))


def rejected(lake: Lake) -> list[dict[str, Any]]:
    return lake.table(REJECTED).read(["reason", "message", "deployment", "raw"]).to_pylist()


def test_rows_of_a_deployment_too_many_are_kept_as_they_came(lake: Lake) -> None:
    """Up to the bound they are rows; beyond it rejections with the line, the deployment, and the setting to raise."""
    collector = collector_of(lake, new_deployments_per_hour=2)
    for number in range(6):
        take(collector, line_of(f"app-{number % 3}", number), number + 1)
    collector.flush()
    assert lake.deployments() == ["app-0", "app-1"]
    assert [lake.table(PARSED_LOGS, name).read().num_rows for name in ("app-0", "app-1")] == [2, 2]
    rows = rejected(lake)
    assert [row["raw"] for row in rows] == [line_of("app-2", 2), line_of("app-2", 5)]
    assert {(row["reason"], row["deployment"]) for row in rows} == {("too_many_deployments", "app-2")}
    assert all("collector.new_deployments_per_hour" in row["message"] for row in rows)
    assert collector.totals.add_up()
    assert 'dialwatch_collector_rejected_lines_total{reason="too_many_deployments"} 2.0' in without_installation(
        generate_latest(registry_of(collector)).decode()
    )


def test_a_line_of_an_array_is_kept_by_itself(lake: Lake) -> None:
    """Of a piece with several lines only those of the deployment too many are rejected, each with its own bytes."""
    collector = collector_of(lake, new_deployments_per_hour=1)
    lines = [line_of(f"app-{number % 2}", number) for number in range(4)]
    take(collector, json.dumps([{"message": line.decode()} for line in lines]).encode(), 1)
    collector.flush()
    assert lake.table(PARSED_LOGS, "app-0").read().num_rows == 2
    assert [row["raw"] for row in rejected(lake)] == [lines[1], lines[3]]


def test_what_the_lake_has_is_not_new(lake: Lake) -> None:
    """After a restart, and where another collector made its tables, a deployment is taken, whatever the bound."""
    first = collector_of(lake)
    take(first, line_of("app", 0), 1)
    first.flush()
    second = collector_of(lake, new_deployments_per_hour=0)
    take(second, line_of("app", 1), 2)
    second.flush()
    assert lake.table(PARSED_LOGS, "app").read().num_rows == 2
    assert rejected(lake) == []


def test_kinds_that_are_left_out_take_no_room(lake: Lake) -> None:
    """A line that is only counted makes no table, and so no new deployment."""
    collector = collector_of(lake, new_deployments_per_hour=1, leave_out=["chat_completion"])
    for number in range(3):
        take(collector, line_of(f"app-{number}", number), number + 1)
    collector.flush()
    assert (collector.totals.filtered, collector.totals.rejected) == (3, 0)


def test_the_bound_is_one_of_an_hour(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    """The limit holds in any hour, for signals and lines separately, and what is above it is logged."""
    now = 0.0
    limit = NewDeploymentLimit(lake, 2, 1, lambda: now)
    assert [limit.admits(name, is_signal=False) for name in "abca"] == [True, True, False, True]
    assert [limit.admits(name, is_signal=True) for name in "aste"] == [True, True, False, False]
    now = 3599.0
    assert not limit.admits("c", is_signal=False)
    now = 3600.0
    assert limit.admits("c", is_signal=False)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert all("if they are real, raise collector.new_deployments_per_hour" in one for one in messages)


def test_a_lake_that_cannot_be_looked_at_stops_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it could be seen once what the lake has, nothing is refused or counted; it is looked at every minute."""
    now = 0.0
    look = lake.deployments

    def away() -> list[str | None]:
        raise OSError("no route to the store")

    monkeypatch.setattr(lake, "deployments", away)
    limit = NewDeploymentLimit(lake, 1, 1, lambda: now)
    assert all(limit.admits(name, is_signal=is_signal) for name in "abc" for is_signal in (False, True))
    now = 60.0
    assert limit.admits("d", is_signal=False)
    monkeypatch.setattr(lake, "deployments", look)
    now = 120.0
    assert [limit.admits(name, is_signal=False) for name in "ade"] == [True, True, True]
    assert [limit.admits(name, is_signal=False) for name in "adef"] == [True, True, True, False]
    monkeypatch.setattr(lake, "deployments", away)
    now = 180.0
    assert not limit.admits("g", is_signal=False)


def test_rows_of_real_deployments_pass_while_the_store_is_away(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that fails once makes no line of a deployment that the lake has a rejected one."""
    first = collector_of(lake)
    for number in range(3):
        take(first, line_of(f"app-{number}", number), number + 1)
    first.flush()
    second, looks = collector_of(lake, new_deployments_per_hour=1), iter([OSError("no route to the store")])

    def away_once() -> list[str | None]:
        raise next(looks)

    with monkeypatch.context() as patch:
        patch.setattr(lake, "deployments", away_once)
        for number in range(3):
            take(second, line_of(f"app-{number}", 10 + number), 10 + number)
    second.flush()
    assert rejected(lake) == []
    assert [lake.table(PARSED_LOGS, f"app-{number}").read().num_rows for number in range(3)] == [2, 2, 2]


@pytest.fixture
def served(lake: Lake) -> Iterator[tuple[Collector, str]]:
    collector = collector_of(lake, signals={"new_deployments_per_hour": 3, "words": 2})
    with BackgroundServer(create_app(collector, HttpSettings(commit_seconds=0)), "127.0.0.1:0") as server:
        yield collector, f"{server.url}/signals"


def test_signals_make_few_deployments(lake: Lake, served: tuple[Collector, str]) -> None:
    """A thousand made-up names in one small request make as many tables as the bound says; the rest is kept."""
    sent = [{"deployment": f"made-up-{number}", "response_id": "r", "signal": "like"} for number in range(1_000)]
    for _ in range(2):
        answer = httpx.post(served[1], json=sent, timeout=60)
        reply = answer.json()
        assert (answer.status_code, reply["accepted"], reply["rejected"]) == (200, 3, 997)
        assert [error["index"] for error in reply["errors"]] == list(range(3, 23))
        assert all(error["reason"].startswith("too_many_deployments: ") for error in reply["errors"])
        assert all("collector.signals.new_deployments_per_hour" in error["reason"] for error in reply["errors"])
    assert len(lake.deployments()) == 3
    rows = rejected(lake)
    assert len(rows) == 997
    assert {row["reason"] for row in rows} == {"too_many_deployments"}
    assert json.loads(rows[0]["raw"]) == sent[3]
    assert "collector.signals.new_deployments_per_hour" in rows[0]["message"]
    take(served[0], line_of("real", 1), 1)
    served[0].flush()
    assert lake.table(PARSED_LOGS, "real").read().num_rows == 1


def test_each_sender_gets_the_results_of_its_own_signals(lake: Lake, served: tuple[Collector, str]) -> None:
    """Unreadable and refused signals are reported by their index, and a refused word is not reported as stored."""
    new = [{"deployment": f"made-up-{number}", "response_id": "r", "signal": "like"} for number in range(3)]
    assert httpx.post(served[1], json=new, timeout=60).json()["accepted"] == 3
    sent = [{"deployment": "made-up-9", "response_id": "r", "signal": word} for word in ("copy", "share", "x1", "x2")]
    reply = httpx.post(
        served[1], json=[{"deployment": "made-up-1"}, *sent, new[0] | {"chat_id": "c"}], timeout=60
    ).json()
    assert (reply["accepted"], reply["rejected"], reply["stored_as_other"]) == (1, 5, 0)
    reasons = [(error["index"], error["reason"].partition(":")[0]) for error in reply["errors"]]
    assert reasons == [(0, "not_a_signal"), *[(number, "too_many_deployments") for number in range(1, 5)]]
    assert httpx.post(served[1], json=sent, timeout=60).json()["accepted"] == 0
    assert lake.table(USER_SIGNALS, "made-up-0").read(["signal"]).num_rows == 2
    assert len(rejected(lake)) == 5


def test_words_too_many_are_other(lake: Lake, served: tuple[Collector, str]) -> None:
    """The first words are kept, further ones are `other` with the word in the details; reply and metrics show it."""
    words = ["copy", "like", "share", "x1", "x2", "copy", "other"]
    sent = [
        {"deployment": "a", "response_id": "r", "signal": word, "signal_id": f"{n}"} for n, word in enumerate(words)
    ]
    answer = httpx.post(served[1], json=sent, timeout=60).json()
    assert (answer["accepted"], answer["stored_as_other"]) == (7, 2)
    rows = lake.table(USER_SIGNALS, "a").read(["signal", "details"]).to_pylist()
    found = sorted((row["signal"], json.loads(row["details"]).get("sent_signal") or "") for row in rows)
    kept = [("copy", ""), ("copy", ""), ("like", ""), ("other", "")]
    assert found == sorted([*kept, ("other", "x1"), ("other", "x2"), ("share", "")])
    assert "dialwatch_collector_renamed_signals_total 2.0" in without_installation(
        generate_latest(registry_of(served[0])).decode()
    )
    again = httpx.post(served[1], json=sent, timeout=60)
    assert again.json()["accepted"] == 7
    assert lake.table(USER_SIGNALS, "a").read(["signal"]).num_rows == 7
