"""The log of a table as one handle follows it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lake.delta_log.change import TableReplacedError
from lake.delta_log.creation import create_table
from lake.delta_log.followed_log import FollowedLog
from lake.delta_log.log_files import LocalLogFiles
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Lake(str(tmp_path)).table(SCORES, "app")
    made.append(SCORES.rows([]), {"first": 1})
    return made


def failing(times: int, meanwhile: Callable[[], object]) -> Callable[[], str]:
    """A read that finds no file so many times, and something is done then."""
    left = [times]

    def read() -> str:
        if left[0]:
            left[0] -= 1
            meanwhile()
            raise FileNotFoundError("replaced")
        return "rows"

    return read


def test_a_read_is_tried_five_times_while_its_files_are_replaced(table: Table) -> None:
    """Each time from the table as it is then."""
    followed = FollowedLog(LocalLogFiles(table.uri), table.uri)

    def replaced() -> None:
        followed.look()
        table.append(SCORES.rows([]))

    assert followed.retry_read(failing(4, replaced)) == "rows"
    with pytest.raises(FileNotFoundError):
        followed.retry_read(failing(5, replaced))


def test_a_file_that_is_gone_while_nothing_is_new_is_an_error_at_once(table: Table) -> None:
    followed = FollowedLog(LocalLogFiles(table.uri), table.uri)
    followed.look()
    with pytest.raises(FileNotFoundError):
        followed.retry_read(failing(1, lambda: None))


def test_a_table_that_another_writer_has_made_meanwhile_is_taken(table: Table) -> None:
    """Where there is none after all, the error says what is wrong."""
    create_table(table.uri, SCORES, "scores of app")
    assert table.version() is not None
    (Path(table.uri) / "_delta_log" / f"{0:020}.json").write_text("{")
    with pytest.raises(Exception, match="Truncated record"):
        create_table(table.uri, SCORES, "scores of app")


def test_a_log_that_ends_where_it_was_read_is_not_opened(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files are looked for, and deltalake is not asked, until there is a later commit."""
    version = table.version()
    assert version is not None
    opened: list[LocalLogFiles] = []
    opens = LocalLogFiles.open
    monkeypatch.setattr(LocalLogFiles, "open", lambda files: (opened.append(files), opens(files))[1])
    reader = Lake(str(Path(table.uri).parents[1])).table(SCORES, "app")
    for _ in range(2):
        change = reader.read_since(version)
        assert (change.version, change.rows.num_rows) == (version, 0)
    assert opened == []
    table.append(SCORES.rows([{"score_id": "a"}]))
    change = reader.read_since(version, columns=["score_id"])
    assert (change.version, change.rows.to_pylist()) == (version + 1, [{"score_id": "a"}])
    assert len(opened) == 1


@pytest.mark.parametrize("later", [0, 1])
def test_a_table_that_takes_the_place_of_one_that_was_not_opened_is_seen(table: Table, later: int) -> None:
    """Also where it has as many commits, or more."""
    version = table.version()
    assert version is not None
    lake = Lake(str(Path(table.uri).parents[1]))
    reader = lake.table(SCORES, "app")
    assert reader.read_since(version).version == version
    shutil.rmtree(table.uri)
    anew = lake.table(SCORES, "app")
    anew.append(SCORES.rows([{"score_id": "b"}]))
    while anew.version() != version + later:
        anew.append(SCORES.rows([{"score_id": "c"}]))
    with pytest.raises(TableReplacedError, match="is not the table whose version"):
        reader.read_since(version)
