"""Files of a log in a store, through fsspec: what is read of them, and when they are looked at again."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NoReturn

import pytest
from fsspec.implementations.local import LocalFileSystem

from lake.delta_log import log_tail
from lake.delta_log.log_files import StoreLogFiles
from lake.delta_log.log_tail import LogTail
from lake.delta_log.pending_commits import PendingCommits
from lake.delta_log.snapshots import TableSnapshot
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table


def unused(_: int | None) -> NoReturn:
    raise AssertionError("an ordinary log is read without it")


class CountedFiles(LocalFileSystem):
    """Counts the files that are read."""

    cachable = False
    reads = 0

    def cat_file(self, path: str, *args: object, **options: object) -> bytes:
        self.reads += 1
        return bytes(super().cat_file(path, *args, **options))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Lake(str(tmp_path)).table(SCORES, "app")
    made.append(SCORES.rows([{"score_id": "a", "date": date(2026, 11, 20)}]))
    made.append(SCORES.rows([{"score_id": "b", "date": date(2026, 11, 21)}]))
    return made


def opened(files: StoreLogFiles) -> TableSnapshot:
    snapshot = files.open()
    assert snapshot is not None
    return snapshot


def test_the_state_of_a_log_names_the_files_of_the_table(table: Table) -> None:
    files = opened(StoreLogFiles(CountedFiles(), table.uri, unused)).live_files()
    assert sorted((file.date, file.rows) for file in files) == [("2026-11-20", 1), ("2026-11-21", 1)]
    assert all((Path(table.uri) / file.path).stat().st_size == file.size for file in files)


def test_the_table_of_a_state_is_read_from_a_copy_of_the_log(table: Table) -> None:
    """At the version of the state, whatever came since; a log that is gone is an error."""
    snapshot = opened(StoreLogFiles(CountedFiles(), table.uri, unused))
    table.append(SCORES.rows([{"score_id": "c", "date": date(2026, 11, 22)}]))
    with snapshot.delta() as delta:
        assert delta.version() == snapshot.version
    for commit in (Path(table.uri) / "_delta_log").iterdir():
        commit.unlink()
    with pytest.raises(FileNotFoundError, match="is gone"), snapshot.delta():
        pass


def test_a_log_without_news_is_trusted_for_a_minute(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within it a look asks for the next commit alone; then for the last known one too."""
    now, filesystem = [0.0], CountedFiles()
    monkeypatch.setattr(log_tail, "monotonic", lambda: now[0])
    files = StoreLogFiles(filesystem, table.uri, unused)
    tail = LogTail(files, opened(files), table.uri, PendingCommits())
    asked = []
    for at in (59.9, 60.0, 119.9):
        now[0], before = at, filesystem.reads
        assert tail.follow()
        asked.append(filesystem.reads - before)
    assert asked == [1, 2, 1]
