"""The guide to the metrics: what is scored here comes first, and a search narrows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from urllib.parse import quote

import pytest

from lake.spec.metric_names import metric_names
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import ScoreColumns

Open = Callable[..., str]


@pytest.fixture
def open_guide(monitor: Monitor, rows: ScoreColumns, get: Callable) -> Open:
    rows.scores("bot", *({"metric": one, "value": 0.5} for one in ("facts_recall", "hit_rate@5", "own_metric")))
    monitor.refresh()
    app = create_app(monitor)
    return lambda q="": get(app, f"/metrics-guide?q={quote(q)}").text


def rows_of(text: str) -> dict[str, list[str]]:
    """By its heading the identifiers that a section of the page lists."""
    sections = re.findall(r"<h2[^>]*>([^<]+) \(\d+\)</h2>(.*?)</section>", text, re.DOTALL)
    return {heading: re.findall(r'<tr id="([^"]+)"', rows) for heading, rows in sections}


def test_what_is_scored_here_comes_first(open_guide: Open):
    """Of a metric with a number the guide has one row; one of the installation's own has none."""
    text = open_guide()
    found = rows_of(text)
    assert list(found) == ["Scored here", "All others"]
    assert found["Scored here"] == ["facts_recall", "hit_rate"]
    assert sorted(chain(*found.values())) == sorted(metric_names())
    assert "Scored here (2)" in text


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("Facts FOUND", "facts_recall"),
        ("hit_rate@5", "hit_rate"),
        ("string_similarity_ham", "string_similarity_hamming"),
        ("needs retrieval", "facts_recall"),
        ("should declines", "is_answerable"),
        ("rougeL_recall", "rougeL_recall"),
    ],
)
def test_a_metric_is_found_by_its_name_its_identifier_or_its_sentence(open_guide: Open, q: str, expected: str):
    """All words must be there, in any order and case; the field keeps what was searched."""
    text = open_guide(q)
    found = list(chain(*rows_of(text).values()))
    assert expected in found
    assert len(found) < 5
    assert f'name="q" value="{q}"' in text


def test_a_search_without_a_match_says_so(open_guide: Open):
    """And what the reader typed is text alone."""
    text = open_guide("<b>no such metric</b>")
    assert "No metric matches the search" in text
    assert rows_of(text) == {}
    assert "<b>no" not in text


def test_before_anything_is_scored_all_metrics_are_one_list(monitor: Monitor, get: Callable):
    """Nothing is said of a section that would be empty."""
    text = get(create_app(monitor), "/metrics-guide").text
    assert list(rows_of(text)) == ["All"]
