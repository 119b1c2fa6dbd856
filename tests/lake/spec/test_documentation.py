from __future__ import annotations

from pathlib import Path

from lake.spec.documentation import page

COLUMNS = Path(__file__).parents[3] / "docs" / "columns.md"


def test_the_page_of_columns_says_what_the_tables_say_of_themselves() -> None:
    """The page is written from the tables; write it anew when a column changes."""
    command = "python -m lake.spec.documentation docs/columns.md"
    assert COLUMNS.read_text(encoding="utf-8") == page(), f"run {command}"
