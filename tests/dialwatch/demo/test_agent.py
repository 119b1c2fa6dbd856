"""The agent of the demo, as the collector reads what Core logs of it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from dialwatch.demo.agent import AGENT, AWAY, DELIVERY, GET_DAYS, GET_ORDER, ORDERS, Outage, agent_traffic, answer
from dialwatch.demo.checks import TOOL_METRIC, check_tool
from dialwatch.demo.receiver import Delivery
from dialwatch.demo.traffic import TrafficLine
from lake.spec.schemas import ALERTS, PARSED_LOGS
from lake.tables.lake import Lake

START = datetime(2026, 11, 20, tzinfo=UTC)
END = START + timedelta(hours=6)
OUTAGE = Outage(START + timedelta(hours=2), START + timedelta(hours=4))


@pytest.fixture(scope="module")
def lines() -> list[TrafficLine]:
    return list(agent_traffic(7, START, END, OUTAGE))


@pytest.fixture(scope="module")
def lake(lines: list[TrafficLine], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(str(tmp_path_factory.mktemp("lake")))
    collector = Collector(lake, CollectorSettings())
    for number, line in enumerate(lines):
        collector.add(Piece(Partition("file", "/logs/a.log", "a"), line.raw, number + 1, number))
    collector.flush()
    assert (collector.totals.duplicates, collector.totals.rejected) == (0, 0)
    assert collector.totals.signals == sum(line.kind == "like" for line in lines)
    return lake


def rows(lake: Lake, deployment: str) -> list[dict[str, Any]]:
    return lake.table(PARSED_LOGS, deployment).read().to_pylist()


def test_each_answer_has_its_calls_and_what_became_of_them(lake: Lake) -> None:
    """The order first, then the days; while the tool is away its call is an error, and the agent says so."""
    for row in rows(lake, AGENT):
        calls = [(call["name"], call["is_error"]) for call in row["tool_calls"]]
        is_broken = OUTAGE.begins <= row["requested_at"] < OUTAGE.ends
        assert calls == [(GET_ORDER, is_broken), (GET_DAYS, False)]
        assert (row["tool_calls"][0]["result"] == AWAY) is is_broken
        assert ("did not say" in row["answer"]) is is_broken


def test_core_logs_model_and_tools_below_the_agent(lake: Lake) -> None:
    """Three calls of the model and one of each tool; that of the broken tool is an error with status 200."""
    answers = len(rows(lake, AGENT))
    assert {name: len(rows(lake, name)) for name in ("gpt-4o", ORDERS, DELIVERY)} == {
        "gpt-4o": 3 * answers, ORDERS: answers, DELIVERY: answers,
    }  # fmt: skip
    failed = [row for row in rows(lake, ORDERS) if row["error"]]
    assert {row["error"] for row in failed} == {f"tool error: {AWAY}"}
    assert all(OUTAGE.begins - timedelta(seconds=10) <= row["requested_at"] < OUTAGE.ends for row in failed)
    assert not any(row["error"] for row in rows(lake, DELIVERY))
    assert {row["parent_deployment"] for row in rows(lake, "gpt-4o")} == {AGENT}


def test_lines_come_in_order_of_time_and_the_same_each_time(lines: list[TrafficLine]) -> None:
    """The outage is a part of them."""
    assert all(earlier.at <= later.at for earlier, later in pairwise(lines))
    assert list(agent_traffic(7, START, END, OUTAGE)) == lines
    assert Counter(line.kind for line in lines)["answer"] > 100
    assert {line.right for line in lines if line.kind == "answer"} == {True, False}


def test_the_same_question_has_the_same_answer() -> None:
    """So a liked answer is a case that later answers are compared with."""
    question = "When does my order 4711 arrive?"
    assert answer(question, is_broken=False) == answer(question, is_broken=False)
    assert "4711" in answer(question, is_broken=True).text


FIRING = {"deployment": AGENT, "metric": TOOL_METRIC, "change": "firing", "change_id": "1", "since": OUTAGE.begins}
NAMED = [Delivery("1", verified=True, body={"text": f"{GET_ORDER} failed in 9 of 10 calls"})]


@pytest.mark.parametrize(
    ("alerts", "deliveries", "passes"),
    [
        ([FIRING], NAMED, True),
        ([FIRING, FIRING | {"deployment": ORDERS, "metric": "errors", "change_id": "2"}], NAMED, True),
        ([FIRING], [], False),
        ([], NAMED, False),
        ([FIRING | {"since": OUTAGE.ends}], NAMED, False),
        ([FIRING, FIRING | {"metric": "refusal", "change_id": "2"}], NAMED, False),
    ],
    ids=["found", "with its tool", "not named", "not found", "at another time", "with something else"],
)
def test_the_broken_tool_must_be_found_and_named(
    tmp_path: Path, alerts: list[dict[str, Any]], deliveries: list[Delivery], passes: bool
) -> None:
    """At the time when it broke, and nothing else of the agent."""
    lake = Lake(str(tmp_path))
    for row in alerts:
        lake.table(ALERTS, row["deployment"]).append(ALERTS.rows([row]))
    assert check_tool(OUTAGE, lake, deliveries).passed is passes
