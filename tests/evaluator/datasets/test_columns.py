"""Columns of lists of text as they are written: without nulls, whatever Arrow type they had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.datasets.columns import written, written_type
from evaluator.datasets.files import ahead, writing_batches

TEXT = pa.string()
KINDS = [pa.list_(text) for text in (TEXT, pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), TEXT))]
KINDS += [pa.large_list(TEXT), pa.list_(pa.field("element", TEXT))]
LISTS = st.lists(st.none() | st.lists(st.none() | st.sampled_from(["", "a", "βγ"]), max_size=3), max_size=6)
SCHEMA = pa.schema({"a": pa.int64()})


@given(LISTS, st.sampled_from(KINDS), st.integers(0, 3))
def test_a_missing_list_is_empty_and_a_missing_item_no_text(
    cells: list[list[str | None] | None], kind: pa.DataType, start: int
) -> None:
    """Also of a part of a column, and of one in several pieces."""
    column = pa.chunked_array([pa.array(cells, kind), pa.array(cells[::-1], kind)]).slice(start)
    made = written("context", column, written_type("context", kind))
    assert made.type == pa.list_(TEXT)
    assert made.to_pylist() == [[item or "" for item in cell or ()] for cell in [*cells, *cells[::-1]][start:]]


def test_batches_are_read_and_written_in_their_order(tmp_path: Path) -> None:
    batches = [pa.record_batch({"a": [number]}, SCHEMA) for number in range(9)]
    with writing_batches(str(tmp_path / "a.parquet"), SCHEMA) as write:
        for batch in ahead(iter(batches)):
            write(batch)
    assert pq.read_table(tmp_path / "a.parquet").column("a").to_pylist() == list(range(9))


def test_what_fails_in_reading_or_writing_fails_the_whole(tmp_path: Path) -> None:
    """No table appears then."""

    def breaks() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": [1]}, SCHEMA)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"), writing_batches(str(tmp_path / "a.parquet"), SCHEMA) as write:
        list(map(write, ahead(breaks())))
    with pytest.raises(ValueError, match="schema"), writing_batches(str(tmp_path / "a.parquet"), SCHEMA) as write:
        write(pa.record_batch({"b": ["x"]}))
    assert not list(tmp_path.iterdir())
