"""Export of cases as parquet, CSV or JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from dialwatch.actions.ground_truth.file_formats import NAME, CaseFormat, format_of
from dialwatch.actions.ground_truth.finding import checked_deployment
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.lake_access import usual_permissions
from evaluator.datasets.files import writing
from lake.queries.case_versions import read_cases
from lake.queries.frames import OTHER_CASES, ground_truth_frame
from lake.queries.json_values import json_values
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus
from lake.tables.lake import Lake
from runtime.spreadsheet_cells import cell_of_text

_STRINGS = pa.list_(pa.string())
_CASE = [
    ("facts", _STRINGS), ("answer", pa.string()), ("case_id", pa.string()), ("source_response_id", pa.string()),
]  # fmt: skip
_PARQUET = pa.schema(
    [("question", pa.string()), ("documents", _STRINGS), *_CASE, (OTHER_CASES, pa.list_(pa.struct(_CASE)))]
)
_LISTS = ("documents", "facts", "context")
_CSV = ("question", "answer", *_LISTS)


def export(
    settings: Settings, deployment: str, path: str, given: CaseFormat | None, status: Sequence[CaseStatus]
) -> None:
    """Write the cases of these statuses, those that answers are compared with by default, and say how many."""
    case_format = format_of(path, given)
    lake = open_filled(settings)
    checked_deployment(lake, deployment)
    wanted = tuple(status or USABLE_STATUS)
    cases = read_cases(lake.table(GROUND_TRUTH, deployment), wanted)
    cases.sort(key=lambda case: (str(case["created_at"] or ""), case["case_id"]))
    alone = [case for case in cases if case["conversation_hash"] is not None]
    if case_format is CaseFormat.JSONL:
        content, alone = json_lines_of(cases, deployment), []
    elif case_format is CaseFormat.CSV:
        content = csv_of([case for case in cases if case["conversation_hash"] is None])
    else:
        content = _parquet(lake, deployment, wanted)
    with usual_permissions(), writing(path, settings.lake.storage.storage()) as file:
        file.write(content)
    typer.echo(f"{len(cases) - len(alone):,} cases written to {path}")
    if alone:
        typer.echo(f"left out: {len(alone):,} whose question only its conversation explains; jsonl has them")


def json_lines_of(cases: Sequence[Mapping[str, Any]], deployment: str) -> bytes:
    """Give a JSON object a case, with all its columns, in ASCII."""
    lines = (json.dumps(json_values({**case, "deployment": deployment})) + "\n" for case in cases)
    return "".join(lines).encode()


def csv_of(cases: Sequence[Mapping[str, Any]]) -> bytes:
    """Give a row a case, by the names that the evaluation framework gives to columns; lists are JSON."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow((NAME, *_CSV))
    for case in cases:
        writer.writerow([cell_of_text(case["case_id"]), *(cell_of_text(_cell(name, case[name])) for name in _CSV)])
    return file.getvalue().encode()


def _cell(name: str, value: Any) -> str:
    return json.dumps(list(value or ()), ensure_ascii=False) if name in _LISTS else value or ""


def _parquet(lake: Lake, deployment: str, status: Sequence[CaseStatus]) -> bytes:
    frame = ground_truth_frame(lake, deployment, status)
    columns = [pa.array(frame[field.name].tolist(), field.type) for field in _PARQUET]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(columns, schema=_PARQUET), sink, compression="zstd")
    return bytes(sink.getvalue())
