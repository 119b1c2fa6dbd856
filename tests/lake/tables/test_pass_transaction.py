from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from lake.delta_log.change import LostRaceError
from lake.delta_log.log_files import LocalLogFiles
from lake.delta_log.writing import NewFile
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from lake.tables.pass_transaction import BACKFILLS, PASSES, PassTransaction, UncommittedPositions
from lake.tables.positions import read_new
from tests.killing import KILLED, run

FROM_LOGS = "test:parsed_logs"
DAY = date(2026, 3, 1)

STEPS = ("begun", "read", "part written", "part committed", "made", "end written", "end committed", "ended")
"""Where a pass may be cut off; `committed` is when the store has taken the commit and the pass has not heard of it."""


class Killed(BaseException):
    """What a kill is to a pass: nothing catches it."""


def log(lake: Lake, *ids: str) -> None:
    rows = [{"event_id": one, "date": DAY} for one in ids]
    lake.table(PARSED_LOGS, "app").append(PARSED_LOGS.rows(rows))


def scored(lake: Lake) -> list[str]:
    return sorted(lake.table(SCORES, "app").read(["event_id"])["event_id"].to_pylist())


def run_pass(lake: Lake, reach: Callable[[str], None] = lambda _: None) -> None:
    """Write a row of `scores` for each new row of `parsed_logs`, in two parts; `reach` hears of every step."""
    scores, part = lake.table(SCORES, "app"), "part"
    real_write, real_commit = scores.write, scores._commit

    def write(rows: Iterable[pa.RecordBatch | pa.Table]) -> list[NewFile]:
        files = real_write(rows)
        reach(f"{part} written")
        return files

    def commit(files: Sequence[NewFile], progress: Mapping[str, int], rows: pa.Table | None) -> None:
        real_commit(files, progress, rows)
        reach(f"{part} committed")

    scores.write, scores._commit = write, commit  # type: ignore[assignment, method-assign]
    # 1. Begin.
    transaction = PassTransaction(scores, (FROM_LOGS,))
    reach("begun")
    # 2. Work.
    new = read_new(lake.table(PARSED_LOGS, "app"), transaction.positions.get(FROM_LOGS), ["event_id"])
    held = set(scored(lake))
    reach("read")
    ids = [one for one in new.rows["event_id"].to_pylist() if one not in held]
    some, rest = ids[: len(ids) // 2], ids[len(ids) // 2 :]
    # 3. Append, here twice.
    transaction.append(SCORES.rows([{"event_id": one, "date": DAY} for one in some]))
    part = "end"
    reach("made")
    assert new.version is not None
    transaction.append(SCORES.rows([{"event_id": one, "date": DAY} for one in rest]), {FROM_LOGS: new.version})
    reach("ended")


def at(step: str, do: Callable[[], None]) -> Callable[[str], None]:
    return lambda reached: do() if reached == step else None


def test_a_pass_reaches_all_steps(tmp_path: Path) -> None:
    """The steps below are all that there are, in this order."""
    lake, reached = Lake(str(tmp_path)), list[str]()
    log(lake, "a", "b")
    run_pass(lake, reached.append)
    assert tuple(reached) == STEPS


@pytest.mark.parametrize("step", STEPS)
def test_a_pass_that_is_cut_off_anywhere_loses_nothing_and_repeats_nothing(tmp_path: Path, step: str) -> None:
    """Whatever raises between two steps: the next pass makes what is missing, once, and one more makes nothing."""
    lake = Lake(str(tmp_path))
    log(lake, "a", "b")
    run_pass(lake)
    log(lake, "c", "d", "e")

    def cut() -> None:
        raise Killed(step)

    with pytest.raises(Killed):
        run_pass(lake, at(step, cut))
    run_pass(lake)
    assert scored(lake) == ["a", "b", "c", "d", "e"]
    version = lake.table(PARSED_LOGS, "app").version()
    assert PassTransaction(lake.table(SCORES, "app"), (FROM_LOGS,)).positions == {FROM_LOGS: version}
    run_pass(lake)
    assert scored(lake) == ["a", "b", "c", "d", "e"]


@pytest.mark.integration
@pytest.mark.parametrize("step", ["part written", "part committed", "end written", "end committed"])
def test_a_process_that_is_killed_in_an_append(tmp_path: Path, step: str) -> None:
    """SIGKILL on either side of a commit: nothing is tidied up, and nothing is lost or there twice."""
    lake = Lake(str(tmp_path))
    log(lake, "a", "b", "c")
    assert run(run_and_die, str(tmp_path), step) == KILLED
    run_pass(lake)
    assert scored(lake) == ["a", "b", "c"]


def run_and_die(root: str, step: str) -> None:
    run_pass(Lake(root), at(step, lambda: os.kill(os.getpid(), signal.SIGKILL)))


@pytest.mark.parametrize("step", STEPS)
def test_of_two_passes_at_once_one_is_refused(tmp_path: Path, step: str) -> None:
    """A pass that another one overtook adds nothing after that; between the two each row is there once."""
    lake = Lake(str(tmp_path))
    log(lake, "a", "b", "c")
    is_over = step in ("end committed", "ended")
    try:
        run_pass(lake, at(step, lambda: run_pass(Lake(lake.root))))
    except LostRaceError:
        assert not is_over
    else:
        assert is_over
    assert scored(lake) == ["a", "b", "c"]


def test_a_commit_whose_answer_is_lost_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store took it, and said that it failed: the pass finds its own commit and goes on."""
    lake = Lake(str(tmp_path))
    log(lake, "a", "b", "c")
    real, lost = LocalLogFiles.create, [True, True]

    def take_and_fail(self: LocalLogFiles, version: int, commit: bytes) -> bool:
        taken = real(self, version, commit)
        if lost:
            lost.pop()
            raise TimeoutError("no answer")
        return taken

    monkeypatch.setattr(LocalLogFiles, "create", take_and_fail)
    run_pass(lake)
    assert not lost
    assert scored(lake) == ["a", "b", "c"]


def test_passes_over_new_and_over_old_rows_go_on_beside_each_other(tmp_path: Path) -> None:
    """A backfill refuses another backfill; it refuses a pass only where it moves that counter too."""
    table = Lake(str(tmp_path)).table(SCORES, "app")
    none = SCORES.schema.empty_table()

    def opened(*counters: str) -> PassTransaction:
        return PassTransaction(Lake(str(tmp_path)).table(SCORES, "app"), counters=counters)

    old, other, new = opened(BACKFILLS), opened(BACKFILLS), opened(PASSES)
    old.append(none)
    new.append(none)
    with pytest.raises(LostRaceError):
        other.append(none)
    both, alone, new = opened(BACKFILLS, PASSES), opened(BACKFILLS, PASSES), opened(PASSES)
    alone.beside(PASSES)
    both.append(none)
    with pytest.raises(LostRaceError):
        new.append(none)
    with pytest.raises(LostRaceError):
        alone.append(none)
    assert (table.committed(PASSES), table.committed(BACKFILLS)) == (2, 2)


def test_what_gave_no_row_is_remembered_until_somebody_commits_the_position(tmp_path: Path) -> None:
    """The next pass of this process reads on from there, also after passes over other inputs."""
    lake, uncommitted = Lake(str(tmp_path)), UncommittedPositions()

    def begin() -> PassTransaction:
        return PassTransaction(lake.table(SCORES, "app"), (FROM_LOGS,), uncommitted=uncommitted)

    begin().append(SCORES.schema.empty_table(), {FROM_LOGS: 3})
    begin().remember({FROM_LOGS: 7})
    assert (begin().positions, begin().committed) == ({FROM_LOGS: 7}, {FROM_LOGS: 3})
    assert PassTransaction(lake.table(SCORES, "app"), (FROM_LOGS,)).positions == {FROM_LOGS: 3}
    PassTransaction(lake.table(SCORES, "app")).append(SCORES.schema.empty_table())
    PassTransaction(lake.table(SCORES, "app"), ("signals",)).append(SCORES.schema.empty_table(), {"signals": 1})
    assert begin().positions == {FROM_LOGS: 7}
    PassTransaction(lake.table(SCORES, "app"), (FROM_LOGS,)).append(SCORES.schema.empty_table(), {FROM_LOGS: 5})
    assert begin().positions == {FROM_LOGS: 5}


def test_much_that_gave_no_row_is_worth_a_commit(tmp_path: Path) -> None:
    """A hundred versions of one of the inputs that are named."""
    transaction = PassTransaction(Lake(str(tmp_path)).table(SCORES, "app"), ("a", "b"))
    transaction.append(SCORES.schema.empty_table(), {"a": 10})
    assert not transaction.is_far({"a": 109, "b": 99}, ["a", "b"])
    assert transaction.is_far({"a": 109, "b": 100}, ["a", "b"])
    assert not transaction.is_far({"a": 109, "b": 100}, ["a"])


def test_a_pass_without_a_mark_is_refused(tmp_path: Path) -> None:
    """Nothing would distinguish its rows from those of a repetition."""
    transaction = PassTransaction(Lake(str(tmp_path)).table(SCORES, "app"), (FROM_LOGS,), counters=())
    rows = SCORES.rows([{"event_id": "a", "date": DAY}])
    transaction.append(rows, {FROM_LOGS: 1})
    with pytest.raises(ValueError, match="neither a counter nor a position"):
        transaction.append(rows, {FROM_LOGS: 1})


def test_passes_that_read_different_inputs_collide(tmp_path: Path) -> None:
    """The counter moves with every append, so that two passes that move different positions refuse each other."""
    first, second = (PassTransaction(Lake(str(tmp_path)).table(SCORES, "app"), ("logs", "signals")) for _ in range(2))
    first.append(SCORES.schema.empty_table(), {"logs": 1})
    with pytest.raises(LostRaceError):
        second.append(SCORES.schema.empty_table(), {"signals": 1})
