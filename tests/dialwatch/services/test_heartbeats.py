from __future__ import annotations

import logging
import re
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from dialwatch.services.heartbeats import Part, ProcessParts
from lake.maintenance.text_retention import text_age
from lake.spec.root_tables import SERVICES
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.servers import wait_for

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
COLLECTOR, EVALUATOR = ServicePart.COLLECTOR, ServicePart.EVALUATOR


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def rows(lake: Lake) -> list[dict[str, Any]]:
    return sorted(lake.table(SERVICES).read().to_pylist(), key=lambda row: (row["part"], row["heartbeat_at"]))


def test_a_part_fails_as_long_as_the_last_try_of_a_step_did() -> None:
    """A step that goes well again says nothing of another one that fails."""
    now = [NOW]
    part = Part(COLLECTOR, "host", lambda: now[0])
    part.note("files", None)
    assert part.heartbeat().state is ServiceState.RUNNING
    now[0] += timedelta(minutes=1)
    part.note("commit", OSError("disk full"))
    part.note("files", None)
    heartbeat = part.heartbeat()
    assert (heartbeat.state, heartbeat.error) == (ServiceState.FAILING, "OSError: disk full")
    assert (heartbeat.last_success, heartbeat.last_error) == (NOW, now[0])
    now[0] += timedelta(minutes=1)
    part.note("commit", None)
    heartbeat = part.heartbeat()
    assert (heartbeat.state, heartbeat.last_success, heartbeat.last_error) == (
        ServiceState.RUNNING,
        now[0],
        NOW + timedelta(minutes=1),
    )


def test_a_part_is_ready_while_the_lake_takes_its_rows() -> None:
    """Not before the first row, whatever went well elsewhere, and not while a row is refused."""
    part = Part(COLLECTOR)
    part.note("files", None)
    assert not part.is_ready()
    part.note("lake", None)
    part.note("files", OSError("gone"))
    assert part.is_ready()
    part.note("lake", OSError("disk full"))
    assert not part.is_ready()


@pytest.mark.parametrize("is_needed", [True, False])
def test_a_part_that_gets_no_lines_fails_and_is_not_ready(is_needed: bool) -> None:
    """Where lines come over HTTP it stays ready: a balancer would keep them from it for ever."""
    part, problem = Part(COLLECTOR), ["file /logs/*: no file matches"]
    part.note("lake", None)
    part.watch_sources(lambda: problem[0] or None, is_needed=is_needed)
    assert part.heartbeat().state is ServiceState.FAILING
    assert part.heartbeat().error == part.sources_problem() == problem[0]
    assert part.is_ready() is not is_needed
    assert part.lacks() == (problem[0] if is_needed else None)
    problem[0] = ""
    assert part.is_ready()
    assert part.heartbeat().state is ServiceState.RUNNING


def test_the_first_heartbeat_in_a_new_lake_comes_after_its_defaults(tmp_path: Path) -> None:
    """So that no row is in it before; a lake that has rows gets none."""
    new, old = Lake(f"{tmp_path}/new"), Lake(f"{tmp_path}/old")
    old.table(SERVICES).append(SERVICES.rows([Part(COLLECTOR).heartbeat().row()]))
    for lake, age in ((new, timedelta(days=90)), (old, None)):
        parts = ProcessParts(lake, [COLLECTOR])
        with parts.running():
            wait_for(parts[COLLECTOR].is_ready)
        assert text_age(lake) == age


def test_parts_that_only_read_write_nothing_into_an_empty_lake(tmp_path: Path) -> None:
    """A mistyped root is said, no folder is made, and the parts begin once others have made the lake."""
    lake = Lake(str(tmp_path / "typo"))
    parts = ProcessParts(lake, [EVALUATOR], every=0.02, makes_the_lake=False)
    with parts.running():
        [heartbeat] = parts.heartbeats()
        assert heartbeat.state is ServiceState.FAILING
        assert f"the lake {lake.root} is empty" in (parts.lacks() or "")
        assert "lake.root is mistyped" in (heartbeat.error or "")
        assert not parts[EVALUATOR].is_ready()
        assert not Path(lake.root).exists()
        lake.table(SERVICES).append(SERVICES.rows([Part(COLLECTOR).heartbeat().row()]))
        wait_for(parts[EVALUATOR].is_ready)
        assert parts.lacks() is None


def test_a_clock_that_is_set_back_leaves_no_part_failing() -> None:
    """What counts is which try came last, not the times that the clock gave them."""
    now = [NOW]
    part = Part(COLLECTOR, "host", lambda: now[0])
    part.note("commit", OSError("disk full"))
    now[0] -= timedelta(hours=1)
    part.note("commit", None)
    assert part.heartbeat().state is ServiceState.RUNNING


def test_a_step_that_is_run_is_noted_whether_it_gives_a_problem_or_raises_it() -> None:
    """The error goes on to whoever logs it; of a text that may quote a row only its kind is logged."""
    part, problems = Part(EVALUATOR, "host"), iter([None, "2 deployments were not evaluated", ValueError("Ann says")])

    def run() -> str | None:
        problem = next(problems)
        if isinstance(problem, ValueError):
            raise problem
        return problem

    watched = part.watching("pass", run)
    watched()
    assert part.heartbeat().state is ServiceState.RUNNING
    watched()
    assert part.heartbeat().error == "2 deployments were not evaluated"
    with pytest.raises(ValueError, match="Ann says"):
        watched()
    assert part.heartbeat().error == "ValueError; the log of this part says more"


def test_signs_of_life_say_who_where_since_when_and_that_it_was_stopped(lake: Lake) -> None:
    """Each part has a row at once, one each interval, all parts of a process in one commit, and a last one."""
    parts = ProcessParts(lake, [COLLECTOR, EVALUATOR], every=0.05, host="host-a")
    with parts.running():
        parts[EVALUATOR].note("pass", OSError("no judge"))
        wait_for(lambda: lake.table(SERVICES).read().num_rows >= 6)
    found = rows(lake)
    assert {row["host"] for row in found} == {"host-a"}
    for part, states in (("collector", {"running"}), ("evaluator", {"running", "failing"})):
        mine = [row for row in found if row["part"] == part]
        assert len({row["since"] for row in mine}) == 1
        assert {row["state"] for row in mine[:-1]} <= states
        assert mine[-1]["state"] == "stopped"
    # The first version makes the table.
    assert lake.table(SERVICES).version() == len(found) // 2


def test_a_process_that_ends_with_an_error_was_not_stopped(lake: Lake) -> None:
    """Its last row says what it ended with."""
    parts = ProcessParts(lake, [COLLECTOR], every=3600)
    with pytest.raises(OSError, match="disk full"), parts.running():
        raise OSError("disk full")
    last = rows(lake)[-1]
    assert (last["state"], last["error"]) == ("failing", "OSError: disk full")


def test_a_lake_that_takes_no_row_is_a_failure_of_every_part_until_it_does(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is found at the start, logged in one line a try, known without the lake, and over when a row is taken."""
    refuses = threading.Event()
    refuses.set()
    write = Table.write

    def refuse(table: Table, *values: Any, **named: Any) -> Any:
        if refuses.is_set():
            raise PermissionError(13, "Permission denied")
        return write(table, *values, **named)

    monkeypatch.setattr(Table, "write", refuse)
    parts = ProcessParts(lake, [COLLECTOR, EVALUATOR], every=0.05)
    with caplog.at_level(logging.INFO), parts.running():
        failing = parts.heartbeats()
        assert {heartbeat.state for heartbeat in failing} == {ServiceState.FAILING}
        assert all("cannot be written: PermissionError" in str(heartbeat.error) for heartbeat in failing)
        refuses.clear()
        wait_for(lambda: {heartbeat.state for heartbeat in parts.heartbeats()} == {ServiceState.RUNNING})
    assert all("\n" not in record.getMessage() and record.exc_info is None for record in caplog.records)
    assert "can be written again" in caplog.text


def test_each_absence_of_the_lake_begins_with_the_shortest_wait(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Waits double while it is away, up to the time between heartbeats; a row that is taken begins anew."""
    lake.table(SERVICES).append(SERVICES.rows([Part(COLLECTOR).heartbeat().row()]))
    outcomes = iter([False, False, False, True, False])
    write = Table.write

    def refuse(table: Table, *values: Any, **named: Any) -> Any:
        if not next(outcomes, True):
            raise PermissionError(13, "Permission denied")
        return write(table, *values, **named)

    monkeypatch.setattr(Table, "write", refuse)
    monkeypatch.setattr("dialwatch.services.heartbeats._RETRY_SECONDS", 0.02)
    with caplog.at_level(logging.INFO), ProcessParts(lake, [COLLECTOR], every=0.07).running():
        wait_for(lambda: caplog.text.count("can be written again") == 2)
    waits = re.findall(r"tried again in (\S+) seconds", caplog.text)
    assert waits == ["0.02", "0.04", "0.07", "0.02"]


def test_a_store_without_credentials_ends_the_start(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting mends it."""

    def refuse() -> None:
        raise NoCredentialsError

    monkeypatch.setattr(lake, "deployments", refuse)
    with pytest.raises(NoCredentialsError), ProcessParts(lake, [COLLECTOR]).running():
        pytest.fail("it goes on")
