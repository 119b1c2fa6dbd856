from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.browser import dump, excess_of_file
from tests.commands import dialwatch
from tests.monitor.pages.answers.payloads import LONG, PAYLOADS

ANSWERS, TRUTH = "answers.parquet", "gt.parquet"
METRICS = "facts_recall,faithfulness_kprecision"
CONTEXT = "the sky is blue"


def page(folder: Path, texts: Sequence[str], *arguments: str, answer: str = "green sky ") -> Path:
    """The page about a table that has a text in every column of a row, and an answer that is not all supported."""
    rows = [
        {
            "question": text,
            "documents": [str(number)],
            "context": [CONTEXT, text],
            "context_ids": [text, "second"],
            "answer": answer + text,
            "response_id": text,
        }
        for number, text in enumerate(texts)
    ]
    truth = [
        {"question": text, "documents": [str(number)], "facts": ["sky is blue", f"ice {text}"], "case_id": text}
        for number, text in enumerate(texts)
    ]
    for row in rows:
        row["case_id"] = row["question"]
    pq.write_table(pa.Table.from_pylist(rows), folder / ANSWERS)
    pq.write_table(pa.Table.from_pylist(truth), folder / TRUTH)
    command = ["score", ANSWERS, "--ground-truth", TRUTH, "--metrics", METRICS, "-o", "out.parquet"]
    done = dialwatch(*command, "--html", "page.html", *arguments, folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "page.html"


@pytest.mark.parametrize("arguments", [(), ("--details",)])
def test_a_worst_row_shows_what_its_scores_are_made_of(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Words without support and facts are marked, whether the table has the details or not; each fact has its end."""
    html = page(tmp_path, ["one"], *arguments).read_text("utf-8")
    assert re.findall(r'<mark class="absent"[^>]*>(.*?)</mark>', html)[0] == "green"
    assert '<mark class="fact" title="fact 1">sky is blue</mark>' in html
    assert "Facts: 1 of 2 found" in html
    assert 'href="#row-1-context-1"' in html
    assert 'id="row-1-context-1"' in html
    assert 'href="#row-1">row 1</a> 0.50' in html


def test_the_worst_rows_are_few_and_the_worst(tmp_path: Path) -> None:
    """Of each metric the five rows with the worst values; a text is cut, and the page says so."""
    supported = [("sky " * number).strip() for number in range(1, 9)]
    html = page(tmp_path, [*supported, "long " * 20_000], answer="green grass ").read_text("utf-8")
    assert set(re.findall(r'<section class="panel" id="row-(\d+)"', html)) == {"1", "2", "3", "4", "5"}
    assert re.findall(r'Worst: <a href="#row-1">row 1</a> ([\d.]+)', html) == ["0.50", "0.33"]
    assert len(html) < 100_000


def test_best_values_are_no_worst_rows(tmp_path: Path) -> None:
    """Where every value is the best one, the page says that there is nothing to look at."""
    row = {"question": "Q?", "context": [CONTEXT], "answer": "blue sky"}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / ANSWERS)
    command = ["score", ANSWERS, "--metrics", "faithfulness_kprecision", "-o", "out.parquet", "--html", "page.html"]
    assert dialwatch(*command, folder=tmp_path).returncode == 0
    html = (tmp_path / "page.html").read_text("utf-8")
    assert "No row has a value below the best of its metric" in html
    assert 'id="row-1"' not in html


@pytest.mark.integration
def test_texts_of_strangers_are_shown_as_text(tmp_path: Path) -> None:
    """Each of 40 hostile texts in every column: no element of theirs is there, nothing runs, nothing is loaded."""
    joined = "\n".join(PAYLOADS)
    written = page(tmp_path, [joined, *PAYLOADS[:4]])
    tree = dump(written.as_uri(), tmp_path)
    assert "<title>Scores of out.parquet</title>" in tree
    names = set(re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)", tree))
    assert not names & {"script", "img", "iframe", "form", "input", "link", "base", "object", "embed", "video", "math"}
    assert not re.findall(r"<[^>]* (?:on[a-z]+|src|href=\"(?!#))", tree)
    assert "\u202e" not in tree


@pytest.mark.integration
def test_a_page_with_long_words_fits_a_phone(tmp_path: Path) -> None:
    """At 390 pixels, with all that can be unfolded, nothing makes the page scroll sideways."""
    written = page(tmp_path, [*PAYLOADS[:3], LONG, LONG])
    written.write_text(written.read_text("utf-8").replace("<details>", "<details open>"), "utf-8")
    assert excess_of_file(written, tmp_path) == (0, "")
