"""Readers of Delta tables that are not ours: deltalake 1.x and an older one, and DuckDB's delta extension."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

ENVIRONMENT = Path(__file__).parents[2] / ".venv-readers" / "bin" / "python"
VERSIONS = {"deltalake": "0.25.5", "duckdb": "1.5.5"}

Rows = list[dict[str, Any]]


def read_tables(folders: Sequence[str]) -> dict[str, list[pa.Table]]:
    """Read tables that lie in folders with each reader: its name, and the rows of each table.

    The older deltalake and DuckDB run in a process of the environment that `make readers` makes, or that
    DIALWATCH_READERS_PYTHON names; in CI there must be one.
    """
    python = os.environ.get("DIALWATCH_READERS_PYTHON", str(ENVIRONMENT))
    if shutil.which(python) is None:
        message = "there is no Python with other readers of tables: THIS TEST DID NOT RUN; `make readers` makes one"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as out:
        command = [python, str(Path(__file__).with_name("read_tables.py")), out, *folders]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == VERSIONS
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
