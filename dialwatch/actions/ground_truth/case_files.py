"""Rows of a file of cases: what each gives, or why it cannot be read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dialwatch.actions.ground_truth.file_formats import NAME, CaseFormat
from dialwatch.errors import ConfigError
from lake.queries.frames import OTHER_CASES
from runtime.spreadsheet_cells import text_of_cell

_LISTS = frozenset({"documents", "facts", "context", "context_ids", "citations"})
_LONGEST_CELL = 2**31 - 1
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True)
class FileRow:
    """A row by its name in messages, with the values that it gives: null is none; or the problem with it."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


def rows_of(path: str, case_format: CaseFormat, content: bytes) -> list[FileRow]:
    """Give the rows of a file; raises ConfigError where it is none of this format, or has no column of questions."""
    read = {CaseFormat.PARQUET: _parquet, CaseFormat.CSV: _csv, CaseFormat.JSONL: _json_lines}[case_format]
    return list(read(path, content))


def _parquet(path: str, content: bytes) -> Iterator[FileRow]:
    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowInvalid, OSError) as error:
        raise ConfigError(f"{path} cannot be read as parquet: {error}") from None
    _check_columns(path, table.column_names)
    for number, row in enumerate(table.to_pylist(), 1):
        others = row.get(OTHER_CASES)
        yield FileRow(f"row {number}", row)
        for place, other in enumerate(others if isinstance(others, list) else (), 1):
            about = {"question": row["question"], "documents": row.get("documents")}
            yield FileRow(f"row {number}, {OTHER_CASES} no. {place}", about | dict(other or {}))


def _json_lines(_path: str, content: bytes) -> Iterator[FileRow]:
    for number, line in enumerate(_text(content).split("\n"), 1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield FileRow(name, problem=f"it is no JSON: {error}")
            continue
        is_row = isinstance(row, dict)
        yield FileRow(name, row) if is_row else FileRow(name, problem='write a JSON object, as in {"question": "..."}')


def _csv(path: str, content: bytes) -> Iterator[FileRow]:
    """Read a header and rows; a spreadsheet counts the header as row 1, and a row of several lines as one."""
    csv.field_size_limit(_LONGEST_CELL)  # the usual limit is less than what contexts may have
    reader = csv.reader(io.StringIO(_text(content), newline=""), strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise ConfigError(f"{path} cannot be read as CSV: {error}") from None
    if len(header) == 1 and (found := [name for sign, name in _SEPARATORS.items() if sign in header[0]]):
        raise ConfigError(f"{path} separates columns by {found[0]}: save it with commas")
    _check_columns(path, header)
    for number, row in enumerate(_records(reader), 2):
        if isinstance(row, csv.Error):
            yield FileRow(f"row {number}", problem=f"it cannot be read as CSV: {row}")
        elif len(row) != len(header):
            yield FileRow(f"row {number}", problem=f"it has {len(row)} cells, and the header {len(header)}")
        else:
            yield _csv_row(f"row {number}", dict(zip(header, map(text_of_cell, row), strict=True)))


def _records(reader: Iterator[list[str]]) -> Iterator[list[str] | csv.Error]:
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield error
        else:
            if row:
                yield row


def _csv_row(name: str, cells: Mapping[str, str]) -> FileRow:
    values: dict[str, Any] = {}
    for column, cell in cells.items():
        if not cell:
            continue
        values[column] = cell
        if column in _LISTS:
            try:
                values[column] = json.loads(cell)
            except (ValueError, RecursionError):
                problem = f'{column} must be a list as JSON, such as ["a.pdf", "b.pdf"], and not {cell[:60]!r}'
                return FileRow(name, problem=problem)
        elif column == "confidence":
            try:
                values[column] = float(cell)
            except ValueError:
                return FileRow(name, problem=f"confidence must be a number from 0 to 1, and not {cell[:60]!r}")
    return FileRow(name, {"case_id": values.get(NAME)} | values)


def _check_columns(path: str, names: list[str]) -> None:
    if "question" not in names:
        raise ConfigError(f"{path} has no column 'question'; it has {', '.join(names) or 'none'}")
    if len(set(names)) != len(names):
        raise ConfigError(f"{path} has a column twice: {', '.join(names)}")


def _text(content: bytes) -> str:
    # A byte that is no UTF-8 makes its row wrong, and no other.
    return content.decode("utf-8-sig", "surrogateescape")
