from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "lake.md"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the lake that the page speaks of."""
    folder = tmp_path_factory.mktemp("lake")
    lake = Lake(str(folder / "lake-data"))
    ids = {"response_id": "r-1", "event_id": "e-1"}
    seen = {"date": NOW.date(), "requested_at": NOW, "kind": "chat_completion", "is_entry": True}
    text = {"question": "How long?", "answer": "Thirty days.", "contexts": [{"text": "Thirty days.", "title": "a.pdf"}]}
    row = ids | {"documents": ["a.pdf"]} | seen | text
    score = ids | {"metric": "faithfulness_kprecision", "value": 0.25, "date": NOW.date()}
    case = {"question": "How long?", "facts": ["Thirty days."], "status": "proposed", "updated_at": NOW}
    lake.table(PARSED_LOGS, "support-rag").append(PARSED_LOGS.rows([row]))
    lake.table(SCORES, "support-rag").append(SCORES.rows([score]))
    lake.table(GROUND_TRUTH, "support-rag").append(GROUND_TRUTH.rows([case | {"answer": "Thirty days."}]))
    return folder


@pytest.mark.parametrize(
    ("number", "shows"),
    [
        (0, ["0.25", "How long?", "Thirty days."]),
        (1, ["2026-11-20", "1.0"]),
        (2, []),
        (3, ["2026-11-20 e-1 0.25 none How long?", "['a.pdf']"]),
    ],
)
def test_each_example_runs_as_it_stands(
    number: int,
    shows: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The page's Python, pasted, does what the page says."""
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 4
    monkeypatch.chdir(folder)
    exec(examples[number], {})
    printed = capsys.readouterr().out
    assert all(text in printed for text in shows), printed
    if number == 2:
        assert list(pd.read_parquet("answers.parquet").columns)[:4] == ["question", "documents", "context", "answer"]
        assert list(pd.read_parquet("ground_truth.parquet").columns)[:4] == ["question", "documents", "facts", "answer"]
