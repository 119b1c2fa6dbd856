from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from dialwatch.commands.thresholds import _rounded_up, thresholds
from dialwatch.errors import ConfigError
from evaluator.metrics import metric_named
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake

FIRST = datetime(2026, 11, 1, tzinfo=UTC)
app = typer.Typer()
app.command()(thresholds)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def log(lake: Lake, name: str, count: int, since: datetime = FIRST, **columns: Any) -> None:
    """Answers that took 0.1, 0.2 ... seconds and cost a thousandth of that, one an hour at most."""
    step = min(timedelta(hours=1), timedelta(days=13) / count)
    rows = [
        {
            "event_id": f"{since}-{number}",
            "requested_at": since + number * step,
            "date": (since + number * step).date(),
            "deployment": name,
            "kind": "chat_completion",
            "status": 200,
            "is_entry": True,
            "duration_ms": 100 * (number + 1),
            "price": (number + 1) / 10_000,
        }
        | columns
        for number in range(count)
    ]
    lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows(rows))


def run(lake: Lake, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--lake", lake.root])


def test_limits_are_proposed_that_one_answer_in_twenty_exceeds(lake: Lake) -> None:
    """From the first two weeks alone, of answers to people; they are names of metrics as settings take them."""
    log(lake, "rag", 400)
    log(lake, "rag", 300, FIRST + timedelta(days=15), duration_ms=900_000, price=9.0)
    log(lake, "rag", 300, is_entry=False, duration_ms=900_000, price=9.0)
    shown = run(lake)
    assert shown.exit_code == 0, shown.output
    assert "rag: latency_over@39, cost_over@0.039" in shown.stdout
    assert "2.5%" in shown.stdout
    assert "400" in shown.stdout
    for metric in ("latency_over@39", "cost_over@0.039"):
        assert metric_named(metric).name == metric


def test_what_is_not_known_is_not_proposed(lake: Lake) -> None:
    """A deployment without prices has limits of time alone; one with few answers has none."""
    log(lake, "rag", 400, price=None)
    log(lake, "few", 199)
    log(lake, "free", 400, price=0.0, duration_ms=None)
    shown = run(lake)
    assert "rag: latency_over@39\n" in shown.stdout
    assert "cost_over" not in shown.stdout
    assert "few" not in shown.stdout
    assert "no deployment has times or prices" in run(lake, "--deployment", "few").stdout
    assert "rag" not in run(lake, "--deployment", "few").stdout


def test_a_deployment_that_is_not_there_is_named(lake: Lake) -> None:
    log(lake, "rag", 1)
    assert isinstance(run(lake, "--deployment", "ragg").exception, ConfigError)


@pytest.mark.parametrize(
    ("value", "limit"),
    [(0.0, 0.0), (9.9, 9.9), (9.91, 10.0), (12.01, 13.0), (0.0314, 0.032), (0.03, 0.03), (130.0, 130.0)],
)
def test_a_limit_has_two_digits_and_is_no_less(value: float, limit: float) -> None:
    assert _rounded_up(value) == limit
