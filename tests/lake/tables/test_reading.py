from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from lake.delta_log.delta_log import DataFile, scan
from lake.spec.schemas import PARSED_LOGS
from lake.spec.table_spec import CONTEXT, TIMESTAMP
from lake.tables.lake import Lake
from lake.tables.reading import read_files

SCHEMA = pa.schema(
    [
        ("date", pa.date32()),
        ("name", pa.string()),
        ("at", TIMESTAMP),
        ("contexts", pa.list_(CONTEXT)),
        ("is_entry", pa.bool_()),
        ("value", pa.float64()),
    ]
)
TYPES_OF_OTHERS = {"name": pa.large_string(), "at": pa.timestamp("ns", "UTC"), "value": pa.float32()}
CONTEXTS = st.fixed_dictionaries({"text": st.text(max_size=3), "title": st.none() | st.just("t")})
COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "name": st.none() | st.text(max_size=3),
    "at": st.none()
    | st.datetimes(datetime.fromisoformat("1990-01-01"), datetime.fromisoformat("2100-01-01"), timezones=st.just(UTC)),
    "contexts": st.none() | st.lists(CONTEXTS, max_size=2),
    "is_entry": st.none() | st.booleans(),
    "value": st.none() | st.floats(width=32, allow_nan=False),
}


@st.composite
def stored_rows(draw: st.DrawFn) -> pa.Table:
    """Rows of one file: without some columns, in another order, of the types that another writer chooses."""
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), unique=True, min_size=1))
    length = draw(st.integers(0, 4))
    others = draw(st.booleans())
    columns = {}
    for name in names:
        values = draw(st.lists(COLUMNS[name], min_size=length, max_size=length))
        stored = pa.array(values, SCHEMA.field(name).type)
        columns[name] = stored.cast(TYPES_OF_OTHERS.get(name, stored.type)) if others else stored
    return pa.table(columns)


@given(
    files=st.lists(st.tuples(stored_rows(), st.none() | st.dates()), max_size=4),
    names=st.lists(st.sampled_from(SCHEMA.names), unique=True, min_size=1),
    whole=st.booleans(),
    at_once=st.sampled_from((1, 2)),
)
@settings(max_examples=40, deadline=None)
def test_files_give_the_rows_that_a_scan_gives(
    files: list[tuple[pa.Table, date | None]],
    names: list[str],
    whole: bool,
    at_once: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """In the same order, with the date of the folder, null where a file lacks a column, in the table's types."""
    folder = tmp_path_factory.mktemp("table")
    found = []
    for number, (rows, day) in enumerate(files):
        pq.write_table(rows, folder / str(number), row_group_size=2)
        size = (folder / str(number)).stat().st_size if whole else 1 << 40
        found.append(DataFile(str(number), None if day is None else day.isoformat(), size))
    filesystem = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    columns = {name: ds.field(name) for name in names}
    read = read_files(filesystem, found, SCHEMA, columns, at_once=at_once)
    assert read.equals(scan(filesystem, found, SCHEMA).to_table(columns=columns))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Who reads that a file is no parquet also reads which one, and can put it back."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")
    table.append(PARSED_LOGS.rows([{"event_id": "a", "date": date(2026, 11, 20)}]))
    (path,) = Path(table.uri).glob("*/*.parquet")
    path.write_bytes(b"no parquet at all")
    with pytest.raises(pa.ArrowInvalid, match=r"cannot read date=2026-11-20/part-.*parquet: .*magic bytes"):
        table.read_since(None, ["event_id"])
