from __future__ import annotations

import json

import pytest

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.compaction import compact
from lake.spec.case_tables import REPLAYS
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import ALERTS, PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests.lake.erasure.planted_rows import ANSWER, NOW, PLANTED, QUESTION, call, everywhere, history, numbers, put


@pytest.mark.slow
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


def test_exactly_one_subject(lake: Lake) -> None:
    """None or two of user, chat and response is an error."""
    for wrong in ({}, {"user": "u", "chat": "c"}, {"user": ""}):
        with pytest.raises(ValueError, match="one user, one chat or one response"):
            Subject(**wrong)


def test_calls_of_a_new_version_that_was_asked_a_case_of_it_are_gone(lake: Lake) -> None:
    """The case is of another deployment than its replay."""
    put(lake, REPLAYS, {"replay_id": "2", "case_id": "k1", "trace_id": "t8", "answer": "PLANTEDANSWER"},
        deployment="rag-new")  # fmt: skip
    again = {"origin": "replay", "question": QUESTION, "user_id": "service-account"}
    put(lake, PARSED_LOGS, call("r8", trace_id="t8", **again), deployment="rag-new")
    erase(lake, Subject(user="planted-user"), NOW)
    left = everywhere(lake.root)
    assert [word for word in PLANTED if word.encode() in left] == []
    assert [lake.table(spec, "rag-new").read().num_rows for spec in (REPLAYS, PARSED_LOGS)] == [0, 0]


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
