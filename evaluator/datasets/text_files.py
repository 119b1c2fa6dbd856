"""Readers of tables in text: CSV with lists as JSON in their cells, and JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evaluator.datasets.columns import NUMBERS, TEXT_LISTS, DatasetError, list_in, number_in

_LONGEST_CELL = 2**31 - 1
_SEPARATORS = {";": "semicolons", "\t": "tabs"}
"""What other programs write between columns."""


def read_csv(path: str, content: bytes) -> pa.Table:
    """Read CSV in UTF-8 with a header. Raises DatasetError with the line that cannot be read.

    Commas separate, and an empty cell is null. Columns that are lists in a table of answers or ground truth hold JSON,
    `duration_ms` and `price` are numbers, and all others are text.
    """
    csv.field_size_limit(_LONGEST_CELL)  # the usual limit is less than what a row of contexts may have
    reader = csv.reader(io.StringIO(_text(path, content), newline=""), strict=True)
    try:
        header = next(reader, [])
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise DatasetError(f"{path} line {reader.line_num} cannot be read as CSV: {error}") from None
    if len(header) == 1 and (found := [name for mark, name in _SEPARATORS.items() if mark in header[0]]):
        raise DatasetError(
            f"{path} has one column, {header[0][:200]!r}: commas separate columns, and {found[0]} do not; save it so"
        )
    if len(set(header)) != len(header) or not header:
        raise DatasetError(
            f"{path} needs a header with a name for each column, each once; it has {', '.join(header)!r}"
        )
    for line, row in rows:
        if len(row) != len(header):
            raise DatasetError(f"{path} line {line} has {len(row)} cells, and the header {len(header)}")
    columns = {}
    for place, name in enumerate(header):
        read = list_in if name in TEXT_LISTS else number_in if name in NUMBERS else str
        columns[name] = list(_cells(path, name, read, ((line, row[place]) for line, row in rows)))
    return _table(path, columns)


def read_json_lines(path: str, content: bytes) -> pa.Table:
    """Read a JSON object a line, in UTF-8. Raises DatasetError with the line that cannot be read."""
    rows: list[Mapping[str, Any]] = []
    for number, line in enumerate(_text(path, content).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"{path} line {number} is no JSON: {error}") from None
        if not isinstance(row, dict):
            raise DatasetError(f'{path} line {number} must be a JSON object, such as {{"answer": "..."}}')
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return _table(path, {name: _of_one_kind(name, [row.get(name) for row in rows]) for name in names})


def _of_one_kind(name: str, cells: Sequence[object]) -> Sequence[object]:
    """Return lists and numbers as JSON in texts where a column has texts too."""
    if name not in TEXT_LISTS | NUMBERS or not any(isinstance(cell, str) for cell in cells):
        return cells
    return [cell if cell is None or isinstance(cell, str) else json.dumps(cell) for cell in cells]


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} must be UTF-8: {error}") from None


def _cells(path: str, name: str, read: Callable[[str], object], given: Iterable[tuple[int, str]]) -> Iterator[object]:
    for line, cell in given:
        try:
            yield read(cell) if cell else None
        except ValueError as error:
            raise DatasetError(f"{path} line {line}: column {name!r} {error}") from None


def _table(path: str, columns: Mapping[str, Sequence[object]]) -> pa.Table:
    arrays = {}
    for name, cells in columns.items():
        try:
            arrays[name] = pa.array(cells)
        except (ValueError, TypeError, OverflowError) as error:
            raise DatasetError(f"{path}: the cells of column {name!r} must be of one kind: {error}") from None
    return pa.table(arrays)
