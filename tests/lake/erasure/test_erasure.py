from __future__ import annotations

import json
import os
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lake import (
    ALERTS,
    AUDIT,
    GROUND_TRUTH,
    INCIDENTS,
    PARSED_LOGS,
    PASSES,
    REJECTED,
    RELEASES,
    REPLAYS,
    SCORES,
    SILENCES,
    USER_SIGNALS,
    Lake,
    LostRaceError,
    Receipt,
    Subject,
    Table,
    TableSpec,
    compact,
    erase,
)

NOW = datetime.now(UTC)
QUESTION = "How do I hide my PLANTEDQUESTION from the others?"
ANSWER = 'You say "PLANTEDANSWER" three times, and then nobody sees it: é.'
PLANTED = ("PLANTEDQUESTION", "PLANTEDANSWER", "PLANTEDCOMMENT", "PLANTEDCLAIM", "planted-user", "planted-chat")


def put(lake: Lake, spec: TableSpec, *rows: dict[str, Any], deployment: str | None = "rag-app") -> None:
    fixed: dict[str, Any] = {"deployment": deployment, "date": NOW.date(), "requested_at": NOW, "ingested_at": NOW}
    known = {name: value for name, value in fixed.items() if name in spec.schema.names}
    lake.table(spec, deployment).append(spec.rows([known | row for row in rows]))


def call(event_id: str, **columns: Any) -> dict[str, Any]:
    return {"event_id": event_id, "response_id": f"r-{event_id}", "response_ids": [f"r-{event_id}"]} | columns


def history(*texts: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": text} for text in texts]}, ensure_ascii=False)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A person's call with its child, a later turn of the chat, all that was made of it, and a stranger's call."""
    lake = Lake(str(tmp_path))
    mine = {"user_id": "planted-user", "chat_id": "planted-chat"}
    put(lake, PARSED_LOGS, call("aa", trace_id="t1", question=QUESTION, answer=ANSWER, request_body=history(QUESTION),
                                history_hash="h1", **mine))  # fmt: skip
    put(lake, PARSED_LOGS, call("bb", trace_id="t1", request_body=history("chunks", QUESTION)), deployment="gpt-4o")
    put(lake, PARSED_LOGS, call("cc", trace_id="t2", question="And then?", request_body=history(QUESTION, ANSWER),
                                parent_history_hash="h1", requested_at=NOW + timedelta(minutes=1), **mine))  # fmt: skip
    put(lake, PARSED_LOGS, call("dd", trace_id="t3", user_id="stranger", chat_id="other", question="Hello there?"),
        deployment="rag-app")  # fmt: skip
    put(lake, USER_SIGNALS, {"signal_id": "s1", "response_id": "r-aa", "user_id": "planted-user",
                             "details": '{"comment": "PLANTEDCOMMENT"}'},
        {"signal_id": "s2", "response_id": "r-dd", "user_id": "stranger"})  # fmt: skip
    claims = '{"claims": ["PLANTEDCLAIM"], "case_id": "k1"}'
    put(lake, SCORES, {"score_id": "1", "event_id": "aa", "response_id": "r-aa", "details": '["PLANTEDCLAIM"]',
                       "value": 0.5},
        {"score_id": "2", "event_id": "dd", "response_id": "r-dd", "details": claims, "value": 0.25})  # fmt: skip
    put(lake, GROUND_TRUTH, {"case_id": "k1", "question": QUESTION, "answer": ANSWER, "source_response_id": "r-aa"},
        {"case_id": "k2", "question": "Another?", "source_response_id": "r-zz"})  # fmt: skip
    put(lake, REPLAYS, {"replay_id": "1", "case_id": "k1", "answer": "PLANTEDANSWER again"})
    worst = [{"response_id": "r-aa", "value": 0.1}, {"response_id": "r-dd", "value": 0.2}]
    put(
        lake,
        ALERTS,
        {"change_id": "c1", "change": "firing", "details": json.dumps({"worst": worst, "observations": 3})},
    )
    cut = json.dumps({"chat": {"id": "planted-chat"}, "body": history(QUESTION)}).encode()[:-3]
    lake.table(REJECTED).append(
        REJECTED.rows([{"raw": cut, "date": NOW.date()}, {"raw": b"{nothing}", "date": NOW.date()}]), {"file:1": 9}
    )
    return lake


def everywhere(root: str) -> bytes:
    """All that stands under the root: the files as they are, and the cells of the parquet files, which are packed."""
    found = []
    for path in Path(root).rglob("*"):
        if path.is_file():
            found.append(str(path).encode() + path.read_bytes())
            if path.suffix == ".parquet":
                found.append(repr(pq.read_table(path).to_pylist()).encode())
    return b"\n".join(found)


def numbers(receipt: Receipt) -> dict[str, tuple[int, int]]:
    return {one.table: (one.erased, one.changed) for one in receipt.tables if one.erased or one.changed}


@pytest.mark.parametrize(
    "subject",
    [Subject(user="planted-user"), Subject(chat="planted-chat"), Subject(response="r-aa")],
    ids=["user", "chat", "response"],
)
def test_nothing_is_left_of_it(lake: Lake, subject: Subject) -> None:
    """Rows, their children's, later turns, signals, scores, cases, replays and rejected lines are gone from all files,
    those of an earlier compaction included; a stranger's rows stay, and an alert only forgets which answer it was."""
    compact(lake.table(PARSED_LOGS, "rag-app"))
    assert all(word.encode() in everywhere(lake.root) for word in PLANTED)
    receipt = erase(lake, subject, NOW)
    left = everywhere(lake.root)
    assert [word for word in PLANTED if word.encode() in left] == []
    assert numbers(receipt) == {
        "gpt-4o parsed_logs": (1, 0),
        "rag-app parsed_logs": (2, 0),
        "rag-app user_signals": (1, 0),
        "rag-app scores": (1, 1),
        "rag-app ground_truth": (1, 0),
        "rag-app replays": (1, 0),
        "rag-app alerts": (0, 1),
        "_rejected": (1, 0),
    }
    assert receipt.is_complete

    assert lake.table(PARSED_LOGS, "rag-app").read(["event_id"]).to_pylist() == [{"event_id": "dd"}]
    assert lake.table(SCORES, "rag-app").read(["value", "details"]).to_pylist() == [{"value": 0.25, "details": None}]
    alert = lake.table(ALERTS, "rag-app").read(["change", "details"]).to_pylist()[0]
    assert json.loads(alert["details"]) == {"worst": [{"response_id": "r-dd", "value": 0.2}], "observations": 3}
    assert lake.table(REJECTED).read(["raw"]).to_pylist() == [{"raw": b"{nothing}"}]
    assert lake.table(REJECTED).committed("file:1") == 9
    assert erase(lake, subject, NOW).found == 0


def test_thoughts_go_with_their_answer_and_a_call_that_repeats_them_too(lake: Lake) -> None:
    """`reasoning` is erased with its row; a call of the same chat that quotes it goes, whoever made it."""
    thoughts = "The PLANTEDTHOUGHT of a model about what this person may want to know."
    mine = {"user_id": "thinker", "chat_id": "thinker-chat"}
    put(lake, PARSED_LOGS, call("ee", trace_id="t8", reasoning=thoughts, **mine),
        call("ff", trace_id="t9", user_id="stranger", chat_id="thinker-chat", reasoning=f"As said: {thoughts}"),
        call("gg", trace_id="t9", user_id="stranger", chat_id="thinker-chat", reasoning="Of another."))  # fmt: skip
    assert b"PLANTEDTHOUGHT" in everywhere(lake.root)
    erase(lake, Subject(user="thinker"), NOW)
    left = everywhere(lake.root)
    assert b"PLANTEDTHOUGHT" not in left
    assert b"Of another." in left


def test_a_comment_that_names_the_subject_goes_and_the_silence_stays(lake: Lake) -> None:
    """In the silence and in the reasons of alerts that it held back; ids go on, and comments of others stay."""
    said = "planted-user complains; known"
    until = {"silence_id": 1, "change": "added", "until": NOW}
    rows = [until | {"comment": said}, until | {"silence_id": 2, "comment": "new index"}]
    lake.table(SILENCES).append(SILENCES.rows(rows), {"silences": 2})
    put(lake, ALERTS, {"change_id": "c2", "change": "silenced", "reason": f"silenced until later: {said}"})
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["_silences"] == (0, 1)
    assert numbers(receipt)["rag-app alerts"] == (0, 2)
    assert b"complains" not in everywhere(lake.root)
    left = lake.table(SILENCES).read(["silence_id", "until", "comment"]).to_pylist()
    assert sorted((row["silence_id"], row["until"], row["comment"]) for row in left) == [
        (1, NOW, None),
        (2, NOW, "new index"),
    ]
    assert lake.table(SILENCES).committed("silences") == 2


def test_a_comment_that_names_the_subject_goes_and_the_release_stays_marked(lake: Lake) -> None:
    """The mark, which decides what is compared with what, holds on without its words."""
    marked = {"release_id": 1, "change": "added", "deployment": "rag-app", "released_at": NOW}
    lake.table(RELEASES).append(RELEASES.rows([marked | {"comment": "planted-user complains"}]), {"releases": 1})
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["_releases"] == (0, 1)
    assert b"complains" not in everywhere(lake.root)
    left = lake.table(RELEASES).read(["release_id", "released_at", "comment"]).to_pylist()
    assert left == [{"release_id": 1, "released_at": NOW, "comment": None}]
    assert lake.table(RELEASES).committed("releases") == 1


def test_a_comment_that_names_the_subject_goes_and_the_acknowledgement_stays(lake: Lake) -> None:
    row = {"change_id": "i1", "incident_id": "i", "change": "acknowledged", "changed_at": NOW, "who": "ann"}
    put(lake, INCIDENTS, row | {"comment": "planted-user complains"})
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["rag-app incidents"] == (0, 1)
    assert b"complains" not in everywhere(lake.root)
    left = lake.table(INCIDENTS, "rag-app").read(["change", "who", "comment"]).to_pylist()
    assert left == [{"change": "acknowledged", "who": "ann", "comment": None}]


def test_who_read_an_answer_stays_and_which_answer_it_was_goes(lake: Lake) -> None:
    """The rows of `_audit` about the subject's answers lose their ids, and a detail that names it; others stay."""
    read = {"at": NOW, "date": NOW.date(), "who": "ann", "action": "read_texts", "deployment": "rag-app"}
    cells = [("aa", "planted-user"), ("dd", "recall"), (None, None)]
    rows = [read | {"event_id": event, "detail": detail} for event, detail in cells]
    lake.table(AUDIT).append(AUDIT.rows(rows))
    compact(lake.table(AUDIT))
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["_audit"] == (0, 1)
    left = lake.table(AUDIT).read(["who", "event_id", "detail"]).to_pylist()
    assert [tuple(row.values()) for row in left] == [("ann", None, None), ("ann", "dd", "recall"), ("ann", None, None)]
    assert b"planted-user" not in everywhere(f"{lake.root}/_audit")


def test_a_dry_run_finds_and_changes_nothing(lake: Lake) -> None:
    """A dry run gives the same numbers and leaves every byte."""
    before = everywhere(lake.root)
    receipt = erase(lake, Subject(user="planted-user"), NOW, dry_run=True)
    assert receipt.found == 10
    assert everywhere(lake.root) == before


def test_a_shared_chat_and_a_stranger_in_it(lake: Lake) -> None:
    """In a user's chat the turn of another user goes only if it repeats the user's words."""
    shared = {"user_id": "friend", "chat_id": "planted-chat"}
    put(lake, PARSED_LOGS, call("ee", request_body=history(QUESTION, ANSWER, "And me?"), **shared))
    put(lake, PARSED_LOGS, call("ff", request_body=history("Something else altogether"), **shared))
    erase(lake, Subject(user="planted-user"), NOW)
    ids = lake.table(PARSED_LOGS, "rag-app").read(["event_id"])["event_id"].to_pylist()
    assert sorted(ids) == ["dd", "ff"]


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
@pytest.mark.parametrize("spec", [SCORES, GROUND_TRUTH, REPLAYS], ids=lambda spec: spec.name)
def test_a_pass_that_has_read_the_rows_is_refused(lake: Lake, spec: TableSpec, deployment: str) -> None:
    """What is made of rows that were read before an erasure cannot be added after it; the next pass can add."""
    table = lake.table(spec, deployment)
    before = table.committed(PASSES) or 0
    erase(lake, Subject(user="planted-user"), NOW)
    made = spec.schema.empty_table()
    with pytest.raises(LostRaceError):
        table.append(made, {PASSES: before + 1})
    table.append(made, {PASSES: (table.committed(PASSES) or 0) + 1})


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


def test_exactly_one_subject(lake: Lake) -> None:
    """None or two of user, chat and response is an error."""
    for wrong in ({}, {"user": "u", "chat": "c"}, {"user": ""}):
        with pytest.raises(ValueError, match="one user, one chat or one response"):
            Subject(**wrong)


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


@pytest.mark.parametrize("subject", [Subject(user="planted-user"), Subject(response="r-aa")], ids=["user", "response"])
def test_calls_that_asked_a_case_of_it_again_are_gone(lake: Lake, subject: Subject) -> None:
    """Found by the traces of the replays, with the calls behind them; those of a stranger's case stay."""
    put(lake, REPLAYS, {"replay_id": "2", "case_id": "k1", "trace_id": "t8"},
        {"replay_id": "3", "case_id": "k2", "trace_id": "t9"})  # fmt: skip
    again = {"origin": "replay", "question": QUESTION, "user_id": "service-account"}
    put(
        lake, PARSED_LOGS, call("r8", trace_id="t8", **again), call("r9", trace_id="t9", **again | {"question": "Tea?"})
    )
    put(lake, PARSED_LOGS, call("m8", trace_id="t8", request_body=history(QUESTION)), deployment="gpt-4o")
    erase(lake, subject, NOW)
    left = everywhere(lake.root)
    assert [word for word in PLANTED if word.encode() in left] == []
    ids = lake.table(PARSED_LOGS, "rag-app").read(["event_id"])["event_id"].to_pylist()
    assert (sorted(ids), lake.table(PARSED_LOGS, "gpt-4o").read().num_rows) == (["dd", "r9"], 0)
