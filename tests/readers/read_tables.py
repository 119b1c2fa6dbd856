"""Program that reads Delta tables with deltalake and with DuckDB's delta extension; it knows nothing of this project.

    python read_tables.py FOLDER TABLE...

Writes the rows of the tables into a folder, as `<reader>-<number of the table, from 0>.arrow`, and prints the versions
of the readers as JSON. Nothing is downloaded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import duckdb
import duckdb_extension_delta
import pyarrow as pa
from deltalake import DeltaTable


def by_deltalake(table: str) -> pa.Table:
    """Read all rows."""
    return DeltaTable(table).to_pyarrow_table()


def by_duckdb(table: str) -> pa.Table:
    """Read all rows; the extension comes from its package, and DuckDB refuses one without its own signature."""
    extension = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
    settings = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(config=settings) as connection:
        connection.execute(f"LOAD '{extension}'; SET TimeZone = 'UTC'")
        return connection.execute("SELECT * FROM delta_scan(?)", [table]).to_arrow_table()


READERS: dict[str, Callable[[str], pa.Table]] = {"deltalake": by_deltalake, "duckdb": by_duckdb}


def main(folder: str, *tables: str) -> None:
    """Read each table with each reader."""
    for number, table in enumerate(tables):
        for name, read in READERS.items():
            rows = read(table)
            with pa.OSFile(f"{folder}/{name}-{number}.arrow", "wb") as file, pa.ipc.new_file(file, rows.schema) as out:
                out.write_table(rows)
    print(json.dumps({name: version(name) for name in READERS}))


if __name__ == "__main__":
    main(*sys.argv[1:])
