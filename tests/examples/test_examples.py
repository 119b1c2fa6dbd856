from __future__ import annotations

import json
import runpy
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from tests.evaluator.judges.scripted_server import says, serving

EXAMPLES = Path(__file__).parents[2] / "examples"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def run(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_a_frame_is_scored(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The first answer keeps to its text and the second does not; a row without a reference answer has a reason."""
    run(monkeypatch, "score_a_dataframe.py")
    printed = capsys.readouterr().out
    first, second = printed.splitlines()[1:3]
    assert first.split()[1] == "1.00"
    assert float(second.split()[1]) < 0.5
    assert "no_ground_truth" in second


def test_the_lake_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Quality by day, and the worst answer with the rating that has an id of it, and of another answer."""
    lake = Lake(str(tmp_path))
    for number, value in enumerate((0.25, 1.0)):
        ids = {"event_id": f"e-{number}", "response_id": f"r-{number}", "date": NOW.date(), "requested_at": NOW}
        answer = {"question": "How long?", "answer": f"Answer {number}", "response_ids": ["x", f"r-{number}"]}
        answer |= {"chat_id": f"c-{number}"}
        score = {"metric": "faithfulness_kprecision", "value": value}
        lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([ids | answer]))
        lake.table(SCORES, "rag").append(SCORES.rows([ids | score]))
    rating = {"signal_id": "s", "response_id": "x", "date": NOW.date(), "signal": "dislike", "origin": "explicit"}
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([rating | {"signaled_at": NOW, "chat_id": "c-0"}]))
    run(monkeypatch, "read_the_lake.py", str(tmp_path), "rag")
    printed = capsys.readouterr().out
    assert "2026-11-20" in printed
    assert printed.index("Answer 0") < printed.index("Answer 1")
    assert printed.count("dislike") == 1


def test_a_metric_and_an_aspect_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metric gives 1, 0 and null; the judge is asked about the two answers that are there."""
    with serving() as stage:
        server = stage.fresh()
        polite, impolite = ({"sentences": [1], "verdict": verdict} for verdict in (True, False))
        server.follow(says(json.dumps(polite)), says(json.dumps(impolite)))
        run(monkeypatch, "custom_metric_and_aspect.py", f"{server.url}/v1", "m")
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[1:] for line in printed[1:4]] == [["1.0", "None"], ["0.0", "None"], ["NaN", "no_answer"]]
    assert "aspect_politeness" in printed[4]
    assert sorted(line.split()[1] for line in printed[5:8]) == ["0.0", "1.0", "NaN"]
    assert len(server.requests) == 2


def test_the_log_of_the_agent_has_its_calls_and_their_errors(tmp_path: Path) -> None:
    """Also where the state of the agent is left out: its last model call knows the turn, the tool's line the error."""
    lines = (EXAMPLES / "agent_app/sample.log").read_bytes().splitlines()
    for name, sample in (("whole", lines), ("no state", [line.replace(b"tool_execution", b"other") for line in lines])):
        lake = Lake(str(tmp_path / name))
        collector = Collector(lake, CollectorSettings())
        for number, line in enumerate(sample):
            collector.add(Piece(Partition("file", "/logs/a.log", "a"), line, number + 1, number))
        collector.flush()
        rows = lake.table(PARSED_LOGS, "order-agent").read().sort_by("requested_at").to_pylist()
        calls = [[(one["name"], one["is_error"]) for one in row["tool_calls"]] for row in rows]
        found, days = "orders_get_order", ("delivery_get_days", False)
        assert calls == [[(found, False), days], [(found, True), days]]
        assert not any(row["repairs"] for row in rows)
        (tool, *_) = lake.table(PARSED_LOGS, "toolsets/public/orders").read().sort_by("requested_at").to_pylist()[1:]
        assert tool["error"] == "tool error: Error: the order service timed out"
