from __future__ import annotations

import re
from pathlib import Path

import pytest

from evaluator.metrics.documentation import page

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_says_what_the_metrics_say_of_themselves() -> None:
    """The page is written from the registry; write it anew when a metric changes."""
    command = "python -m evaluator.metrics.documentation docs/metrics.md"
    assert PAGE.read_text(encoding="utf-8") == page(), f"run {command}"


def test_the_examples_run_as_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    """The page's Python, pasted one piece after the other, prints what its comments say."""
    example = "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    exec(example, {})
    shown = re.findall(r"print\(.*\)  # (.*)", example)
    assert (
        capsys.readouterr().out.split("\n")[:-1]
        == shown
        == [
            "0.5",
            "1-all-MiniLM-L6-v2",
            "mini",
            "0.8598",
            "0.5",
            "0.5",
            "None 0.5 0.75",
        ]
    )


def test_links_inside_the_page_lead_to_a_heading() -> None:
    """Each metric of the overview has its section."""
    text = PAGE.read_text(encoding="utf-8")
    headings = {re.sub(r"[@.]", "", heading.lower()) for heading in re.findall(r"^### (.*)$", text, re.MULTILINE)}
    assert {link.removeprefix("#") for link in re.findall(r"\]\((#[^)]+)\)", text)} == headings
