"""Files of cases, as parquet, CSV or JSON lines: their rows as they are read, and their bytes as they are written."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from dialwatch.errors import ConfigError

if TYPE_CHECKING:
    import csv

    from lake.spec.case_vocabulary import CaseStatus
    from lake.tables.lake import Lake

_NAME = "testCaseName"
"""Column of the evaluation framework that names a case; here its id."""
_WRITTEN_LISTS = ("documents", "facts", "context")
_CSV = ("question", "answer", *_WRITTEN_LISTS)
_LISTS = frozenset({*_WRITTEN_LISTS, "context_ids", "citations", "tool_calls"})
_LONGEST_CELL = 2**31 - 1
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


class CaseFormat(StrEnum):
    """`parquet` for aidial-rag-eval, `csv` for DIAL's evaluation framework, `jsonl` with all columns of a case."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"


def format_of(path: str, given: CaseFormat | None) -> CaseFormat:
    """Return the format of a file, by its ending where none is given; raises BadParameter."""
    if given is not None:
        return given
    ending = path.rpartition(".")[2].lower()
    try:
        return CaseFormat(ending)
    except ValueError:
        names = ", ".join(CaseFormat)
        raise typer.BadParameter(f"{path!r} ends in none of {names}: give --format", param_hint="FILE") from None


@dataclass(frozen=True)
class FileRow:
    """A row by its name in messages, with the values that it gives: null is none; or the problem with it."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


def rows_of(path: str, case_format: CaseFormat, content: bytes) -> list[FileRow]:
    """Return the rows of a file; raises ConfigError where it is none of this format, or has no column of questions."""
    read = {CaseFormat.PARQUET: _parquet, CaseFormat.CSV: _csv, CaseFormat.JSONL: _json_lines}[case_format]
    return list(read(path, content))


def _parquet(path: str, content: bytes) -> Iterator[FileRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lake.queries.frames import OTHER_CASES

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
    import csv

    from runtime.spreadsheet_cells import text_of_cell

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
    import csv

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
        elif column == "is_answerable_label":
            values[column] = {"true": True, "false": False}.get(cell.lower(), cell)
        elif column == "confidence":
            try:
                values[column] = float(cell)
            except ValueError:
                return FileRow(name, problem=f"confidence must be a number from 0 to 1, and not {cell[:60]!r}")
    return FileRow(name, {"case_id": values.get(_NAME)} | values)


def _check_columns(path: str, names: list[str]) -> None:
    if "question" not in names:
        raise ConfigError(f"{path} has no column 'question'; it has {', '.join(names) or 'none'}")
    if len(set(names)) != len(names):
        raise ConfigError(f"{path} has a column twice: {', '.join(names)}")


def _text(content: bytes) -> str:
    # A byte that is no UTF-8 makes its row wrong, and no other.
    return content.decode("utf-8-sig", "surrogateescape")


def json_lines_of(cases: Sequence[Mapping[str, Any]], deployment: str) -> bytes:
    """Return a JSON object a case, with all its columns, in ASCII."""
    from runtime.json_values import json_values

    lines = (json.dumps(json_values({**case, "deployment": deployment})) + "\n" for case in cases)
    return "".join(lines).encode()


def csv_of(cases: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a row a case, by the names that the evaluation framework gives to columns; lists are JSON."""
    import csv

    from runtime.spreadsheet_cells import cell_of_text

    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow((_NAME, *_CSV))
    for case in cases:
        writer.writerow([cell_of_text(case["case_id"]), *(cell_of_text(_cell(name, case[name])) for name in _CSV)])
    return file.getvalue().encode()


def _cell(name: str, value: Any) -> str:
    return json.dumps(list(value or ()), ensure_ascii=False) if name in _WRITTEN_LISTS else value or ""


def parquet_of(lake: Lake, deployment: str, status: Sequence[CaseStatus]) -> bytes:
    """Return a table of a deployment's cases, as aidial-rag-eval reads it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lake.queries.frames import OTHER_CASES, ground_truth_frame

    texts = pa.list_(pa.string())
    case = {"facts": texts, "answer": pa.string(), "case_id": pa.string(), "source_response_id": pa.string()}
    others = pa.list_(pa.struct(case))
    schema = pa.schema({"question": pa.string(), "documents": texts} | case | {OTHER_CASES: others})
    frame = ground_truth_frame(lake, deployment, status)
    columns = [pa.array(frame[field.name].tolist(), field.type) for field in schema]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue())
