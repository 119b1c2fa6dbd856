"""Prices and times that rise, from the log to the alert."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.schemas import ALERTS, PARSED_LOGS
from lake.tables.lake import Lake
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROSE = NOW - timedelta(hours=24)


@pytest.mark.slow
@pytest.mark.parametrize("an_hour", [4, 20])
def test_a_tenfold_price_is_told_within_the_day(tmp_path: Path, an_hour: int) -> None:
    """Of `cost_over` with a limit that few answers exceed; of times that stay as they are nothing is told."""
    lake, chance, rows = Lake(str(tmp_path / "lake")), random.Random(1), []
    for number in range(21 * 24 * an_hour):
        at = NOW - timedelta(days=21) + number * timedelta(hours=1) / an_hour
        price = 0.01 * chance.lognormvariate(0, 0.5) * (10 if at >= ROSE else 1)
        row = {"event_id": f"e{number}", "response_id": f"r{number}", "response_ids": [f"r{number}"]}
        row |= {"deployment": "rag", "requested_at": at, "date": at.date(), "kind": "chat_completion", "status": 200}
        row |= {"is_entry": True, "question": f"What of {number}?", "answer": "This.", "finish_reason": "stop"}
        rows.append(row | {"price": price, "duration_ms": int(4000 * chance.lognormvariate(0, 0.5))})
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))
    settings = EvaluatorSettings(metrics=("cost_over@0.023", "latency_over@9.1"))
    Evaluator(lake, settings, clock=lambda: NOW).run_once()
    Monitor(lake, MonitorSettings(), clock=lambda: NOW).refresh()
    fired = [row for row in lake.table(ALERTS, "rag").read().to_pylist() if row["change"] == "firing"]
    assert {row["metric"] for row in fired} == {"cost_over@0.023"}
    assert all(ROSE < row["changed_at"] <= NOW for row in fired)
    assert abs(fired[0]["since"] - ROSE) < timedelta(hours=6)
