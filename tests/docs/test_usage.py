"""Each query of the page on cost and use runs as it stands, and counts what is there once."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dialwatch.cli import app
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

PAGE = Path(__file__).parents[2] / "docs" / "usage.md"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake with four questions of two people; each answer takes two calls of a model, of 0.05 and 0.03."""
    lake = Lake(str(tmp_path / "lake-data"))
    monkeypatch.chdir(tmp_path)
    asked = [("u-1", "c-1", 0), ("u-1", "c-1", 0), ("u-1", "c-2", 1), ("u-2", "c-3", 0)]
    answers: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for number, (user, chat, day) in enumerate(asked):
        at = NOON + timedelta(days=day, minutes=number)
        seen = {"date": at.date(), "requested_at": at, "user_id": user, "chat_id": chat, "project_id": "p"}
        names = {
            "response_id": f"r-{number}",
            "response_ids": [f"r-{number}", f"s-{number}"],
            "event_id": f"e-{number}",
        }
        price = {"deployment_price": 0.0, "price": 0.08, "prompt_tokens": 100, "completion_tokens": 10}
        answers.append(seen | names | price | {"deployment": "app", "is_entry": True})
        for cost in (0.05, 0.03):
            price = {"deployment_price": cost, "price": cost, "prompt_tokens": 50, "completion_tokens": 5}
            calls.append(seen | price | {"deployment": "gpt", "is_entry": False, "event_id": f"{number}-{cost}"})
    tested = answers[0] | {"origin": "test", "event_id": "t"}
    lake.table(PARSED_LOGS, "app").append(PARSED_LOGS.rows([*answers, tested]))
    lake.table(PARSED_LOGS, "gpt").append(PARSED_LOGS.rows(calls))
    liked = {"signal": "like", "response_id": "s-1", "deployment": "app", "date": NOON.date(), "signal_id": "l"}
    lake.table(USER_SIGNALS, "app").append(USER_SIGNALS.rows([liked]))
    return tmp_path


@pytest.mark.parametrize(
    ("number", "shows"),
    [
        (1, [["2026-11-20", "app", "3", "2", "0.24", "0"], ["2026-11-21", "app", "1", "1", "0.08", "0"]]),
        (2, [["gpt", "8", "400", "NULL", "40", "0.32"]]),
        (3, [["p", "u-1", "3", "2", "0.24"], ["p", "u-2", "1", "1", "0.08"]]),
        (4, [["2026-11-20", "2", "1"]]),
        (5, [["app", "3", "1.33", "0.11", "0.16"]]),
        (6, [["app", "4", "1", "0.32"]]),
    ],
)
def test_each_query_counts_once(
    number: int, shows: list[list[str]], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 7
    names: dict[str, Any] = {}
    exec(examples[0], names)
    exec(examples[number], names)
    lines = [
        re.split(r" *│ *", line.strip("│ ")) for line in capsys.readouterr().out.splitlines() if line.startswith("│")
    ]
    rows = [line for line in lines if any(re.match(r"[\d.]+$", cell) for cell in line)]
    assert [[_rounded(cell) for cell in row] for row in rows] == shows


def _rounded(cell: str) -> str:
    return f"{float(cell):.2f}" if re.fullmatch(r"\d+\.\d+", cell) else cell


def test_files_of_the_log_parsers_names_are_read(tmp_path: Path) -> None:
    """Compressed files with the names that Vector gives them, as the page on other tools says."""
    name = "date=2026-11-201763640000-11111111-2222-3333-4444-555555555555.log.gz"
    (tmp_path / name).write_bytes(gzip.compress(chat_line(1) + b"\n" + chat_line(2) + b"\n"))
    result = CliRunner().invoke(app, ["collect", "files", str(tmp_path), "--lake", str(tmp_path / "lake")])
    assert result.exit_code == 0, result.output
    (deployment,) = Lake(str(tmp_path / "lake")).deployments()
    assert Lake(str(tmp_path / "lake")).table(PARSED_LOGS, deployment).read(["event_id"]).num_rows == 2
