"""Lists of answers as CSV that a spreadsheet opens without running a cell of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from lake.queries.answer_search import AnswerRow
from runtime.spreadsheet_cells import cell_of_text

_COLUMNS = (
    "deployment", "date", "event_id", "response_id", "requested_at", "status", "http_status", "failures", "error",
    "rating", "label", "question", "answer", "model", "chat_id", "duration_ms", "price",
)  # fmt: skip


def csv_of(rows: Iterable[AnswerRow]) -> str:
    """Give a line for each answer, with a column for each metric that any of them has a score of.

    A text that begins like a formula, or has one behind a semicolon, a tab or a line end, gets an apostrophe there;
    numbers stay numbers.
    """
    rows = list(rows)
    metrics = sorted({metric for row in rows for metric in row.values})
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([_cell(name) for name in (*_COLUMNS, *metrics)])
    for row in rows:
        values = [getattr(row, name) for name in _COLUMNS] + [row.values.get(metric) for metric in metrics]
        writer.writerow([_cell(value) for value in values])
    return file.getvalue().encode("utf-8", "replace").decode()


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(value)
    if not isinstance(value, str):
        return value
    # Python's csv quotes line ends, and not what a spreadsheet takes for a formula.
    return cell_of_text(value.replace("\x00", "\ufffd"))
