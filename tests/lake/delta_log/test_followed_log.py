"""The log of a table as one handle follows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

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
