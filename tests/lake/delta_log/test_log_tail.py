"""Commits that are written and followed without deltalake: deltalake reads the same, and another table is noticed."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaProtocolError
from hypothesis import given
from hypothesis import strategies as st

from lake.delta_log.change import LostRaceError, TableReplacedError
from lake.maintenance.compaction import compact
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WRITERS, COMMITS = 3, 30


def scores(*names: str) -> pa.Table:
    return SCORES.rows([{"score_id": name, "date": NOON.date()} for name in names])


def names_of(table: Table) -> list[str]:
    return sorted(table.read(["score_id"])["score_id"].to_pylist())


@given(st.lists(st.tuples(st.integers(0, WRITERS - 1), st.sampled_from("alp")), max_size=COMMITS))
def test_any_order_of_writers_readers_and_compactions_keeps_each_row_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    """Each handle appends, is looked at, or is compacted; deltalake and all handles then have the same rows."""
    lake = Lake(str(tmp_path_factory.mktemp("lake")))
    handles = [lake.table(SCORES, "app") for _ in range(WRITERS)]
    written, seen, versions = [], [], [None] * WRITERS
    for number, (writer, step) in enumerate(steps):
        handle = handles[writer]
        if step == "a":
            handle.append(scores(str(number)), {f"writer {writer}": number + 1})
            written.append(str(number))
        elif step == "l":
            change = handle.read_since(versions[writer], ["score_id"])
            seen += [(writer, name) for name in change.rows["score_id"].to_pylist()]
            versions[writer] = change.version  # type: ignore[call-overload]
        else:
            compact(handle)
    for writer, handle in enumerate(handles):
        change = handle.read_since(versions[writer], ["score_id"])
        seen += [(writer, name) for name in change.rows["score_id"].to_pylist()]
        assert names_of(handle) == sorted(written)
    assert sorted(seen) == sorted((writer, name) for writer in range(WRITERS) for name in written)
    if written:
        delta = DeltaTable(handles[0].uri)
        assert sorted(delta.to_pyarrow_table(columns=["score_id"])["score_id"].to_pylist()) == sorted(written)
        last = max((number for number, (writer, step) in enumerate(steps) if (writer, step) == (0, "a")), default=None)
        assert delta.transaction_version("writer 0") == (None if last is None else last + 1)


def test_a_writer_with_the_same_source_is_refused_and_adds_nothing(tmp_path: Path) -> None:
    """The second of two that have read the same progress is refused, however many others have committed between."""
    lake = Lake(str(tmp_path))
    first, second, other = (lake.table(SCORES, "app") for _ in range(3))
    first.append(scores("a"), {"source": 1})
    assert first.progress(["source"]) == second.progress(["source"]) == {"source": 1}
    other.append(scores("b"))
    first.append(scores("c"), {"source": 2})
    with pytest.raises(LostRaceError):
        second.append(scores("c"), {"source": 2})
    assert names_of(other) == ["a", "b", "c"]


def test_a_table_made_anew_is_noticed_also_where_it_has_more_versions(tmp_path: Path) -> None:
    """A version of the old table says nothing about the new one, though that has reached it too."""
    lake = Lake(str(tmp_path))
    reader, writer = lake.table(SCORES, "app"), lake.table(SCORES, "app")
    writer.append(scores("a"))
    version = reader.read_since(None).version
    shutil.rmtree(writer.uri)
    anew = lake.table(SCORES, "app")
    anew.append(scores("b"))
    anew.append(scores("c"))
    with pytest.raises(TableReplacedError):
        reader.read_since(version)
    assert reader.read_since(None).rows.num_rows == 2


def test_a_table_that_asks_more_of_its_writers_is_refused(tmp_path: Path) -> None:
    """Rules that an append here does not follow are not broken: the error names them."""
    table = Lake(str(tmp_path)).table(SCORES, "app")
    table.append(scores("a"))
    needs = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
             "writerFeatures": ["appendOnly", "deletionVectors"]}  # fmt: skip
    log = Path(table.uri, "_delta_log", f"{2:020}.json")
    log.write_text(json.dumps({"protocol": needs}))
    with pytest.raises(DeltaProtocolError, match="deletionVectors"):
        Lake(str(tmp_path)).table(SCORES, "app").append(scores("b"))


def test_deltalake_knows_the_rows_and_ranges_of_an_append(tmp_path: Path) -> None:
    """What a commit says of a file is what deltalake reads: rows, the day, no text."""
    table = Lake(str(tmp_path)).table(SCORES, "app")
    table.append(scores("a", "b"))
    actions = DeltaTable(table.uri).get_add_actions(flatten=True)
    found = {name: actions.column(name).to_pylist() for name in ("num_records", "partition.date")}
    assert found == {"num_records": [2], "partition.date": [NOON.date()]}
