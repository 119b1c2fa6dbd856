"""The index of ids: it never hides an answer, and forgets what is erased."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lake.delta_log.change import LostRaceError
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance import id_index
from lake.maintenance.compaction import compact
from lake.maintenance.id_index import Indexing, forget_gone_files, update_id_index
from lake.maintenance.maintenance import LakeMaintenanceSettings, maintain
from lake.maintenance.retention import drop_before
from lake.queries import answer_lookup
from lake.queries.answer_lookup import locate_response
from lake.spec.root_tables import ID_INDEX
from lake.spec.schemas import PARSED_LOGS
from lake.tables.id_index import ID_COLUMNS, files_without, keys_of
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DEPLOYMENTS = ("app", "gpt", None)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is read for a few files too, and its own files are full with a few keys."""
    monkeypatch.setattr(answer_lookup, "_FEW_FILES", 0)
    monkeypatch.setattr(id_index, "_MANY_KEYS", 12)
    monkeypatch.setattr(id_index, "_KEYS_AT_ONCE", 5)
    return


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def row(number: int, day: int = 0, **columns: Any) -> dict[str, Any]:
    at = NOW - timedelta(days=day)
    ids = {"event_id": f"e{number}", "response_id": f"r{number % 7}", "response_ids": [f"r{number % 7}", f"x{number}"]}
    people = {"chat_id": f"c{number % 5}", "user_id": f"u{number}", "trace_id": f"t{number}", "is_entry": True}
    return ids | people | {"date": at.date(), "requested_at": at, "question": f"What is {number}?"} | columns


def put(lake: Lake, deployment: str | None, *rows: dict[str, Any]) -> None:
    lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows(rows))


def index_files(lake: Lake) -> list[Path]:
    return [Path(lake.root, ID_INDEX.name, file.path) for file in lake.table(ID_INDEX).live_files()]


def keys_in(path: Path) -> list[int]:
    return [key for key in pq.ParquetFile(path).read(["key"])["key"].to_pylist() if key is not None]


def holding(lake: Lake, one: str) -> list[Path]:
    """Files of the index, live or not, that have the key of an id."""
    files = Path(lake.root, ID_INDEX.name).rglob("*.parquet")
    return [path for path in files if "_delta_log" not in path.parts and int(keys_of([one])[0]) in keys_in(path)]


def damage(path: Path, kind: int) -> None:
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif kind == 2:
        path.write_bytes(b"PAR1 no parquet PAR1")
    else:
        pq.write_table(pa.table({"deployment": ["app"], "key": pa.array([None], pa.int32())}), path)


def scanned(lake: Lake) -> list[tuple[str | None, dict[str, Any]]]:
    names = lake.deployments()
    columns = ["event_id", "response_id", "response_ids", "user_id"]
    return [(name, one) for name in names for one in lake.table(PARSED_LOGS, name).read(columns).to_pylist()]


def has_id(one: dict[str, Any], some_id: str) -> bool:
    return some_id in (one["event_id"], one["response_id"], *(one["response_ids"] or ()))


STEPS = st.one_of(
    st.tuples(st.just("rows"), st.integers(0, 2), st.integers(0, 3), st.integers(1, 4)),
    st.tuples(st.just("update")),
    st.tuples(st.just("compact"), st.integers(0, 2)),
    st.tuples(st.just("erase"), st.integers(0, 20)),
    st.tuples(st.just("damage"), st.integers(0, 9), st.integers(0, 3)),
    st.tuples(st.just("drop"), st.integers(2, 3)),
)


@pytest.mark.slow
@settings(max_examples=6, deadline=None, phases=[Phase.generate])
@given(st.lists(STEPS, min_size=3, max_size=7))
def test_an_id_is_found_as_by_a_plain_scan(steps: list[tuple[Any, ...]]) -> None:
    """After late rows, compactions, erasures, retention, updates and damages of the index, in any order."""
    with TemporaryDirectory() as folder:
        lake, written = Lake(folder), 0
        put(lake, "app", row(50), row(51, 1))
        update_id_index(lake)
        for kind, *values in steps:
            if kind == "rows":
                put(lake, DEPLOYMENTS[values[0]], *(row(written + n, values[1]) for n in range(values[2])))
                written += values[2]
            elif kind == "update":
                update_id_index(lake)
            elif kind == "compact":
                compact(lake.table(PARSED_LOGS, DEPLOYMENTS[values[0]]))
            elif kind == "erase":
                erase(lake, Subject(user=f"u{values[0]}"), NOW)
            elif kind == "damage" and (files := sorted(path for path in index_files(lake) if path.exists())):
                damage(files[values[0] % len(files)], values[1])
            elif kind == "drop":
                drop_before(lake.table(PARSED_LOGS, "app"), (NOW - timedelta(days=values[0])).date())
            rows = scanned(lake)
            assert kind != "erase" or f"u{values[0]}" not in {one["user_id"] for _, one in rows}
            for some_id in ("r1", "e50", f"x{written - 1}"):
                found = {(at.deployment, at.event_id) for at in locate_response(lake, some_id, DEPLOYMENTS)}
                assert found == {(name, one["event_id"]) for name, one in rows if has_id(one, some_id)}


def test_only_files_that_can_have_an_id_are_left_to_be_read(lake: Lake) -> None:
    """By any of the ids; in the period asked for; a file that is not in the index is never left out."""
    put(lake, "app", row(1), row(2, 1))
    put(lake, "gpt", row(3, parent_history_hash="h3", response_ids=None))
    put(lake, None, row(4, date=None))
    assert update_id_index(lake) == Indexing(added=4)
    put(lake, "gpt", row(5))
    for one in ("e3", "r3", "c3", "u3", "t3", "h3"):
        assert {name: len(paths) for name, paths in files_without(lake, [one]).items()} == {"app": 2, None: 1}
    assert {name: len(paths) for name, paths in files_without(lake, ["x1", "e4"]).items()} == {"app": 1, "gpt": 1}
    today = files_without(lake, ["e4"], NOW.date(), NOW.date())
    assert {name: len(paths) for name, paths in today.items()} == {"app": 1, "gpt": 1}


def test_every_column_of_ids_is_there() -> None:
    """A column that is renamed would be left out in silence, and hide its ids."""
    assert set(ID_COLUMNS) <= set(PARSED_LOGS.schema.names)


def test_nothing_new_changes_nothing(lake: Lake) -> None:
    """And a lake without rows gets no index."""
    assert update_id_index(lake) == Indexing()
    assert not Path(lake.root, ID_INDEX.name).exists()
    for number in range(9):
        put(lake, "app", row(number, number % 2))
    update_id_index(lake)
    before = lake.table(ID_INDEX).version()
    assert update_id_index(lake) == Indexing()
    assert lake.table(ID_INDEX).version() == before


def test_a_pass_takes_little_and_full_files_stay(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest dates come first, what is left comes with the next pass; small files of a date become one."""
    for day in (2, 1, 0):
        put(lake, "app", row(day, day))
    monkeypatch.setattr(id_index, "_KEYS_A_PASS", 8)
    assert update_id_index(lake).added == 2
    assert {file.date for file in lake.table(ID_INDEX).live_files()} == {"2026-11-20", "2026-11-19"}
    assert update_id_index(lake).added == 1
    monkeypatch.setattr(id_index, "_KEYS_A_PASS", 1000)
    full = [path for path in index_files(lake) if "2026-11-20" in str(path)]
    for number in range(3, 6):
        put(lake, "gpt", row(number))
        assert update_id_index(lake).added == 1
    today = [path for path in index_files(lake) if "2026-11-20" in str(path)]
    assert full[0] in today or len(keys_in(full[0])) < 6
    assert max(len(keys_in(path)) for path in today) <= 12
    for path in today:
        keys = pq.ParquetFile(path).read(["key"])["key"]
        assert keys.to_pylist()[keys.null_count :] == sorted(keys_in(path))
    stopping = iter([False, True])
    put(lake, "app", row(7), row(8, 1))
    assert update_id_index(lake, lambda: next(stopping)).added == 1


def test_an_erased_id_is_not_in_the_index(lake: Lake) -> None:
    """Not in a file that is live, nor in one that is not; what others have stays."""
    put(lake, "app", row(1), row(2))
    put(lake, "app", row(3))
    update_id_index(lake)
    assert holding(lake, "e1")
    receipt = erase(lake, Subject(user="u1"), NOW, dry_run=True)
    assert holding(lake, "e1")
    receipt = erase(lake, Subject(user="u1"), NOW)
    assert receipt.is_complete
    assert not holding(lake, "e1")
    assert not holding(lake, "u1")
    assert holding(lake, "e3")
    assert update_id_index(lake).added == 1
    assert holding(lake, "e2")


def test_an_update_that_has_read_erased_calls_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would write their ids after the erasure has looked for them."""
    put(lake, "app", row(1), row(2))
    update_id_index(lake)
    put(lake, "app", row(3))
    read = id_index._keys_of_file

    def read_then_erase(*place: Any) -> Any:
        keys = read(*place)
        erase(lake, Subject(user="u3"), NOW)
        return keys

    monkeypatch.setattr(id_index, "_keys_of_file", read_then_erase)
    assert update_id_index(lake).lost_race
    assert not holding(lake, "e3")


def test_retention_takes_ids_away(lake: Lake) -> None:
    """With the pass that drops the rows."""
    put(lake, "app", row(1, 40), row(2))
    maintain(lake, LakeMaintenanceSettings(), NOW)
    maintain(lake, LakeMaintenanceSettings(retention={"parsed_logs": "30d"}), NOW)
    assert {file.date for file in lake.table(ID_INDEX).live_files()} == {"2026-11-20"}


def test_an_index_that_cannot_be_read_is_said_and_made_anew(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    """Every file of its dates is read meanwhile, and of all dates where its log is damaged."""
    put(lake, "app", row(1), row(2, 1))
    update_id_index(lake)
    damage(next(path for path in index_files(lake) if "2026-11-20" in str(path)), 2)
    with caplog.at_level(logging.WARNING):
        assert len(files_without(lake, ["none"])["app"]) == 1
        assert "2026-11-20 are searched one by one" in caplog.text
    assert update_id_index(lake) == Indexing(added=1, replaced=1)
    assert len(files_without(lake, ["none"])["app"]) == 2
    for commit in Path(lake.root, ID_INDEX.name, "_delta_log").glob("*.json"):
        commit.write_text("{")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert [at.event_id for at in locate_response(lake, "e2", ["app"])] == ["e2"]
        assert "every file is searched" in caplog.text
    assert maintain(lake, LakeMaintenanceSettings(), NOW).tables == 1
    assert "was not updated" in caplog.text


def test_of_a_date_all_of_the_index_is_read_or_nothing(lake: Lake) -> None:
    """The part that cannot be read may have keys of files that another part names."""
    put(lake, "app", row(1), row(2))
    put(lake, "app", row(3), row(4))
    update_id_index(lake)
    assert len(index_files(lake)) == 2
    damage(index_files(lake)[0], 1)
    assert "app" not in files_without(lake, ["none"])


def test_keys_that_nobody_calls_complete_are_read_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program may have split a file of the index, and left the row that says so in the other part."""
    monkeypatch.setattr(id_index, "_MANY_KEYS", 100)
    put(lake, "app", row(1))
    update_id_index(lake)
    path = index_files(lake)[0]
    some = pq.ParquetFile(path).read()
    pq.write_table(some.slice(1, 1), path)
    assert "app" not in files_without(lake, ["none"])
    put(lake, "app", row(2))
    assert update_id_index(lake) == Indexing(added=2, replaced=1)


def test_a_file_of_rows_that_cannot_be_read_is_not_in_the_index(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    """The others are. The index is not written again until one that is new can be read, and each pass says it."""
    put(lake, "app", row(1))
    put(lake, "gpt", row(2))
    put(lake, "app", row(3, 1))
    (file,) = lake.table(PARSED_LOGS, "gpt").live_files()
    path = Path(lake.root, "gpt", PARSED_LOGS.name, file.path)
    whole = path.read_bytes()
    path.write_bytes(b"nothing")
    assert update_id_index(lake).added == 2
    version = lake.table(ID_INDEX).version()
    for _ in range(2):
        caplog.clear()
        assert update_id_index(lake) == Indexing()
        assert "files of 2026-11-20 left out of the index of ids, to be tried again at the next pass: 1;" in caplog.text
        assert file.path in caplog.text
    assert lake.table(ID_INDEX).version() == version
    assert {name: len(paths) for name, paths in files_without(lake, ["none"]).items()} == {"app": 2}
    put(lake, "app", row(4))
    assert update_id_index(lake).added == 1
    path.write_bytes(whole)
    assert update_id_index(lake).added == 1
    assert {name: len(paths) for name, paths in files_without(lake, ["none"]).items()} == {"app": 3, "gpt": 1}


def test_an_erasure_that_always_loses_says_so(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that nobody has removed may not be passed over in silence."""
    put(lake, "app", row(1))
    assert forget_gone_files(Lake(lake.root + "-other")) == Indexing()
    update_id_index(lake)

    def lose(*_: object) -> None:
        raise LostRaceError("another one")

    monkeypatch.setattr(id_index, "replace", lose)
    with pytest.raises(LostRaceError, match="run again"):
        forget_gone_files(lake)
