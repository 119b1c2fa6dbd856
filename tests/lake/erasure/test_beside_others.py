"""Erasures that are cut off, or run while collectors, evaluators and readers are at work."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.delta_log.change import LostRaceError
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.compaction import compact
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.preference_tables import PREFERENCES
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PASSES, PassTransaction
from lake.tables.table import Table
from tests.lake.erasure.planted_rows import NOW, PLANTED, QUESTION, call, everywhere, numbers, put


@pytest.mark.slow
@pytest.mark.parametrize("writes", [3, 7, 9, 10])
def test_an_erasure_that_was_cut_off_goes_on(lake: Lake, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """If the store goes away after some writes, the next erasure finds the rest, also calls that only the ids of other
    calls lead to."""
    put(lake, PARSED_LOGS, call("ee", chat_id="planted-chat", trace_id="t5"))
    for model in ("a-model", "z-model"):
        put(lake, PARSED_LOGS, call(f"f-{model}", trace_id="t5", question=QUESTION), deployment=model)
    write, done = Table.write, []

    def refusing(table: Table, *given: Any, **named: Any) -> Any:
        if len(done) == writes:
            raise OSError("the store is away")
        done.append(table.uri)
        return write(table, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Table, "write", refusing)
        with pytest.raises(OSError, match="away"):
            erase(lake, Subject(user="planted-user"), NOW)
    assert erase(lake, Subject(user="planted-user"), NOW).is_complete
    left = everywhere(lake.root)
    assert [word for word in PLANTED if word.encode() in left] == []


@pytest.mark.slow
@pytest.mark.parametrize("deployment", ["rag-app", "gpt-4o"], ids=["its table is there", "there is none yet"])
@pytest.mark.parametrize("spec", [SCORES, GROUND_TRUTH, REPLAYS, PREFERENCES], ids=lambda spec: spec.name)
def test_a_pass_that_has_read_the_rows_is_refused(lake: Lake, spec: TableSpec, deployment: str) -> None:
    """What is made of rows that were read before an erasure cannot be added after it; the next pass can add."""
    table = lake.table(spec, deployment)
    before = table.committed(PASSES) or 0
    erase(lake, Subject(user="planted-user"), NOW)
    made = spec.schema.empty_table()
    with pytest.raises(LostRaceError):
        table.append(made, {PASSES: before + 1})
    table.append(made, {PASSES: (table.committed(PASSES) or 0) + 1})


def test_a_replay_of_any_other_deployment_that_has_read_the_cases_is_refused(lake: Lake) -> None:
    """Families with names are in the configuration alone: any deployment may be a newer version, replayed for the first
    time, and have asked the cases of the one that was called. Of other tables none is made for it."""
    put(lake, PARSED_LOGS, call("n1", user_id="stranger"), deployment="help-desk")
    replays = lake.table(REPLAYS, "help-desk")
    transaction = PassTransaction(replays)
    erase(lake, Subject(user="planted-user"), NOW, dry_run=True)
    erase(lake, Subject(user="nobody"), NOW)
    assert replays.version() is None
    erase(lake, Subject(user="planted-user"), NOW)
    with pytest.raises(LostRaceError):
        transaction.append(REPLAYS.schema.empty_table())
    assert lake.table(GROUND_TRUTH, "help-desk").version() is None


def test_an_erasure_makes_no_table_of_replays_where_no_case_is(tmp_path: Path) -> None:
    """Without cases no replay can have read one."""
    lake = Lake(str(tmp_path))
    put(lake, PARSED_LOGS, call("aa", user_id="planted-user"))
    put(lake, PARSED_LOGS, call("bb", user_id="stranger"), deployment="help-desk")
    erase(lake, Subject(user="planted-user"), NOW)
    assert lake.table(REPLAYS, "help-desk").version() is None


def test_an_erasure_that_finds_nothing_refuses_passes_too(lake: Lake) -> None:
    """An earlier one may have been cut off before it did; but no table is made for it."""
    table = lake.table(SCORES, "rag-app")
    assert table.committed(PASSES) is None
    erase(lake, Subject(user="nobody"), NOW)
    assert table.committed(PASSES) == 1
    assert lake.table(SCORES, "gpt-4o").version() is None


def test_what_is_made_of_the_rows_meanwhile_goes_too(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores, cases and signals that are added while the calls are being erased are looked for once more."""
    write = Table.write

    def meanwhile(table: Table, *given: Any, **named: Any) -> Any:
        if table.spec is PARSED_LOGS:
            monkeypatch.setattr(Table, "write", write)
            put(lake, SCORES, {"score_id": "3", "event_id": "cc", "details": '["PLANTEDCLAIM"]'},
                {"score_id": "4", "event_id": "dd", "details": '{"case_id": "k3"}'})  # fmt: skip
            put(lake, GROUND_TRUTH, {"case_id": "k3", "question": QUESTION, "source_response_id": "r-cc"})
            put(lake, USER_SIGNALS, {"signal_id": "s3", "response_id": "r-aa", "details": '{"event_id": "aa"}'})
        return write(table, *given, **named)

    monkeypatch.setattr(Table, "write", meanwhile)
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    left = everywhere(lake.root)
    assert [word for word in PLANTED if word.encode() in left] == []
    found = numbers(receipt)
    assert found["rag-app scores"] == (2, 2)
    assert found["rag-app ground_truth"] == (2, 0)
    assert found["rag-app user_signals"] == (2, 0)


def test_readers_find_nothing_new_and_do_not_fail(lake: Lake) -> None:
    """A reader that had all rows finds none new, also one whose part of the log is gone: its rows may repeat then."""
    table = lake.table(PARSED_LOGS, "rag-app")
    seen = table.read_since(None)
    early = lake.table(PARSED_LOGS, "rag-app")
    erase(lake, Subject(user="planted-user"), NOW + timedelta(hours=1))
    assert table.read_since(seen.version, newest=seen.newest).rows.num_rows == 0
    late = early.read_since(0, ["event_id"], newest=NOW - timedelta(hours=1))
    assert (late.rows.to_pylist(), late.repeats) == ([{"event_id": "dd"}], True)
    assert table.read().num_rows == 1


def test_a_file_of_a_refused_writer_goes_too(lake: Lake) -> None:
    """A file that no commit has added goes once it cannot be that of a writer at work, and is named until then."""
    orphan = lake.table(PARSED_LOGS, "rag-app").write(
        [PARSED_LOGS.rows([call("x", question=QUESTION, date=NOW.date())])]
    )
    path = Path(lake.root, "rag-app", "parsed_logs", orphan[0].path)
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert not receipt.is_complete
    assert path.exists()
    os.utime(path, (time.time() - 3600,) * 2)
    assert erase(lake, Subject(user="planted-user"), datetime.now(UTC)).is_complete
    assert not path.exists()


@pytest.mark.slow
def test_a_collector_and_readers_at_work(lake: Lake) -> None:
    """While rows are appended, merged and read all the time, an erasure takes the subject's rows and no others, and
    nobody fails."""
    stop, problems, appended = threading.Event(), [], []

    def work(step: Any) -> None:
        while not stop.is_set():
            try:
                step()
            except LostRaceError:
                pass
            except Exception as error:
                problems.append(error)

    def write() -> None:
        name = f"n{len(appended)}"
        put(lake, PARSED_LOGS, call(name, user_id="stranger", question="Hello there?"))
        appended.append(name)

    seen: list[str] = []
    reader, position = lake.table(PARSED_LOGS, "rag-app"), {"version": None, "newest": None}

    def read() -> None:
        change = reader.read_since(position["version"], ["event_id"], newest=position["newest"])
        names = change.rows["event_id"].to_pylist()
        seen.extend(name for name in names if not change.repeats or name not in seen)
        position.update(version=change.version, newest=change.newest)
        assert reader.read(["event_id"]).num_rows > 0

    def merge() -> None:
        compact(lake.table(PARSED_LOGS, "rag-app"))
        stop.wait(0.2)

    steps = (write, read, merge)
    threads = [threading.Thread(target=work, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    try:
        for _ in range(2):
            erase(lake, Subject(user="planted-user"), datetime.now(UTC))
            put(lake, PARSED_LOGS, call(f"p{len(appended)}", user_id="planted-user", question=QUESTION))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    erase(lake, Subject(user="planted-user"), datetime.now(UTC))
    read()
    assert problems == []
    assert sorted(lake.table(PARSED_LOGS, "rag-app").read(["event_id"])["event_id"].to_pylist()) == sorted(
        ["dd", *appended]
    )
    assert sorted(name for name in seen if name.startswith("n")) == sorted(appended)
