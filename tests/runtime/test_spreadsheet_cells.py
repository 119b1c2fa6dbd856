"""Texts in cells of CSV: none is a formula, and each comes back as it was."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.spreadsheet_cells import cell_of_text, text_of_cell

TEXT = st.text() | st.text("=+-@'; \t\r\n\"a,＝")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a", "a"),
        ("=1+1", "'=1+1"),
        ("'=1", "''=1"),
        ("'a", "'a"),
        ("\t=1", "'\t'=1"),
        ("a; -1\n@b", "a; '-1\n'@b"),
        ("＋1", "'＋1"),
        ("", ""),
    ],
)
def test_a_formula_gets_an_apostrophe(text: str, cell: str) -> None:
    assert cell_of_text(text) == cell


@given(TEXT)
def test_no_cell_is_a_formula_and_each_text_comes_back(text: str) -> None:
    """Whether the spreadsheet divides cells by commas, semicolons or tabs, and however lines end."""
    cell = cell_of_text(text)
    assert not re.search(r"(^|[;\t\r\n] *)[=+@＝＋－＠-]|^[\t\r]", cell)
    assert text_of_cell(cell) == text


@given(st.lists(TEXT, min_size=2))
def test_a_text_comes_back_from_csv(texts: list[str]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file).writerow(map(cell_of_text, texts))
    (row,) = csv.reader(io.StringIO(file.getvalue(), newline=""), strict=True)
    assert list(map(text_of_cell, row)) == texts
