from __future__ import annotations

import re
from pathlib import Path

import pytest

from evaluator import metrics
from evaluator.metrics import metric_named

PAGE = Path(__file__).parents[2] / "docs" / "names.md"
PACKAGES = {
    "RAGAS",
    "TruLens",
    "RAGChecker",
    "DeepEval",
    "LlamaIndex",
    "LangSmith",
    "Bedrock",
    "MLflow",
    "unitxt",
    "Cohere",
}
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").split("## Deliberately absent")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| package ")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_each_of_our_names_is_a_metric(row: list[str]) -> None:
    """What stands in the third column can be asked for by that name."""
    package, theirs, ours, differs = row
    assert package in PACKAGES
    assert theirs
    assert differs
    names = re.findall(r"`([^`]+)`", ours)
    assert names
    for name in names:
        assert (name == "ragas_score" and hasattr(metrics, name)) or metric_named(name)


def test_every_package_is_in_the_table() -> None:
    """Who comes from one of the ten packages finds its names."""
    assert {row[0] for row in ROWS} == PACKAGES
