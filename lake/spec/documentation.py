"""Page of docs that describes every table and column, written from the tables' own specifications.

Run `python -m lake.spec.documentation docs/columns.md` after a change of a table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from lake.spec.schemas import TABLES
from lake.spec.table_spec import TableSpec

_HEAD = """# Tables and columns

<!-- Written by `python -m lake.spec.documentation docs/columns.md` from the tables of the package lake. -->

Every table of the [lake](lake.md). A column that is not said to be otherwise can be null. Times are UTC.
"""


def page() -> str:
    """Return the page: a section a table, a row a column."""
    return "\n".join([_HEAD, *(line for spec in TABLES.values() for line in _section(spec))])


def _section(spec: TableSpec) -> Iterator[str]:
    yield f"## {spec.name}\n"
    place = "<deployment>/" if spec.per_deployment else ""
    yield f"{spec.doc} In `{place}{spec.name}/{'date=YYYY-MM-DD/' if spec.by_date else ''}`.\n"
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for column in spec.schema:
        yield f"| `{column.name}` | {_type(column.type)} | {column.metadata[b'doc'].decode()} |"
    yield ""


def _type(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        return "struct of " + ", ".join(f"`{part.name}` {_type(part.type)}" for part in kind)
    if pa.types.is_list(kind):
        return f"list of {_type(kind.value_type)}"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return "date" if pa.types.is_date(kind) else str(kind)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
