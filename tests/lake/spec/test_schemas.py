from __future__ import annotations

import pyarrow as pa
import pytest

from lake.spec.schemas import TABLES
from lake.spec.table_spec import TableSpec


@pytest.mark.parametrize("spec", TABLES.values(), ids=TABLES)
def test_every_column_says_what_it_means(spec: TableSpec) -> None:
    """Every table and every column has a doc."""
    assert spec.doc.endswith(".")
    for column in spec.schema:
        assert column.metadata[b"doc"].decode().strip(), column.name


@pytest.mark.parametrize("spec", TABLES.values(), ids=TABLES)
def test_partition_and_text_columns_exist(spec: TableSpec) -> None:
    """A table by date has a date column, and the long texts that it names are columns."""
    assert not spec.by_date or spec.schema.field("date").type == pa.date32()
    for name in spec.long_text:
        assert name in spec.schema.names


def test_rows_refuse_an_unknown_column() -> None:
    """A misspelt column is an error that names it, not a value that vanishes."""
    with pytest.raises(KeyError, match="reponse_id"):
        TABLES["scores"].rows([{"reponse_id": "r"}])


def test_rows_fill_absent_columns_with_null() -> None:
    """A key that is absent is null."""
    rows = TABLES["scores"].rows([{"metric": "recall"}])
    assert rows["metric"].to_pylist() == ["recall"]
    assert rows["value"].to_pylist() == [None]


@pytest.mark.parametrize(
    ("column", "members"),
    [
        ("contexts", ["text", "title", "url", "page", "id"]),
        ("citations", ["statement", "chunk", "start", "end"]),
        ("scores", ["metric", "metric_version", "value", "reason", "failed_part"]),
        ("source", ["kind", "name", "partition", "offset"]),
    ],
)
def test_a_column_of_objects_has_the_same_members_in_each_table(column: str, members: list[str]) -> None:
    """Queries of others name them."""
    types = [spec.schema.field(column).type for spec in TABLES.values() if column in spec.schema.names]
    assert types
    for one in types:
        inner = one.value_type if pa.types.is_list(one) else one
        assert [inner.field(place).name for place in range(inner.num_fields)] == members
