from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's Python, pasted, prints the score of its row."""
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(example, {})
    assert "faithfulness_kprecision" in (printed := capsys.readouterr().out)
    assert "1.0" in printed


def test_the_readme_is_short() -> None:
    """A newcomer reads it to the end: at most 150 lines."""
    assert len(TEXT.splitlines()) <= 150
