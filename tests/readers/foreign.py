"""Readers of Delta tables that are not ours: deltalake 1.x and an older one, and DuckDB's delta extension."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from tests.other_python import run_other_python

VERSIONS = {"deltalake": "0.25.5", "duckdb": "1.5.5"}

Rows = list[dict[str, Any]]


def read_tables(folders: Sequence[str]) -> dict[str, list[pa.Table]]:
    """Read tables that lie in folders with each reader: its name, and the rows of each table.

    The older deltalake and DuckDB run in a process of the environment that `make readers` makes.
    """
    with tempfile.TemporaryDirectory() as out:
        program = str(Path(__file__).with_name("read_tables.py"))
        assert json.loads(run_other_python("readers", [program, out, *folders])) == VERSIONS
        found = {
            f"{name} {version}": [_arrow(Path(out, f"{name}-{number}.arrow")) for number in range(len(folders))]
            for name, version in VERSIONS.items()
        }
    return found | {"deltalake of our environment": [DeltaTable(folder).to_pyarrow_table() for folder in folders]}


def plain(rows: pa.Table, key: str) -> Rows:
    """Rows as dicts with their columns in one order, sorted by a column that holds no null."""
    names = sorted(rows.column_names)
    return sorted(({name: row[name] for name in names} for row in rows.to_pylist()), key=lambda row: str(row[key]))


def assert_read_alike(tables: Iterable[tuple[str, str, Rows]]) -> None:
    """Each reader gives these rows, all columns of them; a table is its folder, its key and its rows by `plain`."""
    listed = list(tables)
    for reader, found in read_tables([folder for folder, _, _ in listed]).items():
        for (folder, key, wanted), rows in zip(listed, found, strict=True):
            assert plain(rows, key) == wanted, f"{reader} reads {folder} otherwise"


def _arrow(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()
