from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_example_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's Python, pasted beside two tables, prints what its comment says."""
    key = {"question": ["Q?"], "documents": [["a.pdf"]]}
    pd.DataFrame(key | {"context": [["The sky is blue."]]}).to_parquet(tmp_path / "answers.parquet")
    pd.DataFrame(key | {"facts": [["sky is blue", "snow"]]}).to_parquet(tmp_path / "ground_truth.parquet")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out.strip() == re.findall(r"print\(.*?\)  # (.*)", example)[0] == "0.5"
