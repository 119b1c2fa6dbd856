from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from lake import GROUND_TRUTH, PARSED_LOGS, SCORES, Lake

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the lake that the README speaks of."""
    folder = tmp_path_factory.mktemp("readme")
    lake = Lake(str(folder / "lake-data"))
    seen = {"date": NOW.date(), "requested_at": NOW, "kind": "chat_completion", "is_entry": True}
    text = {"question": "How long?", "answer": "Thirty days.", "contexts": [{"text": "Thirty days."}]}
    row = {"response_id": "r-1", "documents": ["a.pdf"]} | seen | text
    score = {"response_id": "r-1", "metric": "faithfulness_kprecision", "value": 0.25, "date": NOW.date()}
    case = {"question": "How long?", "facts": ["Thirty days."], "status": "proposed", "updated_at": NOW}
    lake.table(PARSED_LOGS, "support-rag").append(PARSED_LOGS.rows([row]))
    lake.table(SCORES, "support-rag").append(SCORES.rows([score]))
    lake.table(GROUND_TRUTH, "support-rag").append(GROUND_TRUTH.rows([case | {"answer": "Thirty days."}]))
    return folder


@pytest.mark.parametrize(
    ("number", "shows"), [(0, ["0.25", "How long?", "Thirty days."]), (1, ["2026-11-20", "1.0"]), (2, [])]
)
def test_each_example_runs_as_it_stands(
    number: int,
    shows: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The README's Python, pasted, does what the README says."""
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(examples) == 3
    monkeypatch.chdir(folder)
    exec(examples[number], {})
    printed = capsys.readouterr().out
    assert all(text in printed for text in shows), printed
    if number == 2:
        assert list(pd.read_parquet("answers.parquet").columns)[:4] == ["question", "documents", "context", "answer"]
        assert list(pd.read_parquet("ground_truth.parquet").columns)[:4] == ["question", "documents", "facts", "answer"]


def test_every_file_that_the_docs_name_is_there() -> None:
    """Links to files, and paths of tests and scripts in the text, lead somewhere."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        text = page.read_text()
        links = [link.split("#")[0] for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text)]
        paths = re.findall(r"`((?:tests|benchmarks|docs|deploy|lake|collector|evaluator|monitor)/[\w./-]+)`", text)
        missing = [link for link in links if link and not (page.parent / link).exists()]
        missing += [path for path in paths if not (ROOT / path).exists()]
        assert not missing, f"{page.name} names {missing}"
