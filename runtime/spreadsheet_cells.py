"""Texts of strangers as cells of a CSV file that a spreadsheet opens without running one of them, and back."""

from __future__ import annotations

import re

_SIGNS = "=+@\uff1d\uff0b\uff0d\uff20-"
_FORMULA = re.compile(f"(^|[;\t\r\n] *)('*)(?=[{_SIGNS}])")
"""Beginnings of formulas, also for a spreadsheet that divides cells by semicolons or tabs and takes our quotes for
text."""
_HARMLESS = re.compile(f"(^|[;\t\r\n] *)'('*)(?=[{_SIGNS}])")
_GAP = re.compile("'*[\t\r]")
_HARMLESS_GAP = re.compile("'+[\t\r]")


def cell_of_text(text: str) -> str:
    """Return a text with an apostrophe where it, a line of it, or the part behind a tab or semicolon may be a formula.

    Where apostrophes stand there already, one more does: so `text_of_cell` knows which is ours.
    """
    harmless = _FORMULA.sub(r"\1'\2", text)
    return f"'{harmless}" if _GAP.match(harmless) else harmless


def text_of_cell(cell: str) -> str:
    """Return the text that a cell was made of by `cell_of_text`."""
    text = cell[1:] if _HARMLESS_GAP.match(cell) else cell
    return _HARMLESS.sub(r"\1\2", text)
