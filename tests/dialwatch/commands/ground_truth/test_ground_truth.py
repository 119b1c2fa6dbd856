"""`dialwatch ground-truth`: cases are listed, shown, accepted and rejected."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from dialwatch.commands.ground_truth import changing
from lake.queries.ground_truth.case_versions import case_history, change_case, read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.commands import dialwatch
from tests.dialwatch.commands.test_show import HOSTILE

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)


def case(case_id: str, **columns: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "case_id": case_id, "deployment": "rag", "version": 1, "question": "Where is it?", "documents": ["a.pdf"],
        "facts": ["The seat is Delhi"], "answer": "In Delhi. [1]", "context": ["Who? The  seat is: Delhi."],
        "source_response_id": "r", "confidence": 0.9, "status": "proposed", "status_by": "evaluator",
        "status_at": AT, "extractor": "sentences/2", "created_at": AT, "updated_at": AT, "updated_by": "evaluator",
    }  # fmt: skip
    return made | columns


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two deployments; the one has four cases and the answer that they come from, the other has one case."""
    lake = Lake(str(tmp_path / "lake"))
    answer = {"event_id": "e", "response_id": "r", "response_ids": ["r"], "kind": "chat_completion", "is_entry": True}
    answer |= {"status": 200, "date": AT.date(), "requested_at": AT, "question": "Where is it?", "answer": "In Delhi."}
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([answer]))
    like = {"signal_id": "s", "response_id": "r", "signal": "like", "value": 1.0, "confidence": 1.0}
    like |= {"origin": "explicit", "user_id": "bob", "date": AT.date(), "signaled_at": AT}
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([like]))
    cases = [
        case("abc1", answer="In Delhi, 1,200 km away."),
        case("abc2", question=" where IS it? ", answer="In Delhi: 1200 km."),
        case("abd3", answer="In Delhi, at 900 km."),
        case("b", question="Who?", status="accepted"),
    ]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    lake.table(GROUND_TRUTH, "other").append(GROUND_TRUTH.rows([case("b", deployment="other", status="stale")]))
    return lake


def statuses(lake: Lake, deployment: str = "rag") -> dict[str, str]:
    return {one["case_id"]: one["status"] for one in read_cases(lake.table(GROUND_TRUTH, deployment))}


def test_the_list_points_out_what_asks_the_same_and_what_contradicts(lake: Lake) -> None:
    """Case and white space of questions do not count, and 1,200 is 1200."""
    done = dialwatch("ground-truth", "list", "--json", "--lake", lake.root)
    rows = {(one["deployment"], one["case_id"]): one for one in json.loads(done.stdout)}
    assert set(rows) == {("rag", name) for name in ("abc1", "abc2", "abd3", "b")} | {("other", "b")}
    assert (rows["rag", "abc1"]["duplicates"], rows["rag", "abc1"]["contradicts"]) == (["abc2"], ["abd3"])
    assert (rows["rag", "abd3"]["duplicates"], rows["rag", "abd3"]["contradicts"]) == ([], ["abc1", "abc2"])
    assert rows["rag", "b"]["duplicates"] == rows["other", "b"]["duplicates"] == []
    text = dialwatch("ground-truth", "list", "--lake", lake.root).stdout
    assert "contradicts abd3, same as abc2" in text
    assert "3 proposed, 1 accepted, 1 stale" in text


def test_a_list_is_of_a_deployment_and_of_statuses(lake: Lake) -> None:
    """An empty one says so; a deployment that is not there is an error."""
    some = dialwatch("ground-truth", "list", "--deployment", "rag", "--status", "accepted", "--lake", lake.root)
    assert [line.split()[1] for line in some.stdout.splitlines() if line.startswith("│")] == ["b"]
    none = dialwatch("ground-truth", "list", "--status", "rejected", "--lake", lake.root)
    assert none.stdout == "there is no such case\n"
    absent = dialwatch("ground-truth", "list", "--deployment", "none", "--lake", lake.root)
    assert (absent.returncode, absent.stderr.split(" in ")[0]) == (2, "dialwatch: there is no deployment 'none'")
    wrong = dialwatch("ground-truth", "list", "--status", "good", "--lake", lake.root)
    assert wrong.returncode == 2


def test_a_case_is_shown_with_its_facts_its_source_and_its_history(lake: Lake) -> None:
    """The fact is marked where the matcher finds it; an older version is shown on request."""
    change_case(lake, "rag", "abc1", {"answer": "In New Delhi.", "status": "accepted", "note": "moved"}, "ann", AT)
    text = dialwatch("ground-truth", "show", "abc1", "--lake", lake.root).stdout
    assert "1. (chunk 1, characters 5 to 24)" in text
    assert "Who? [1: The  seat is: Delhi :1]." in text
    assert "status:      accepted by ann" in text
    assert "dialwatch show e --deployment rag\n  2026-11-20 10:00:00 UTC like (1), explicit, bob\n" in text
    assert "all signals together: 1" in text
    assert "2. 2026-11-20 10:00:00 UTC, ann: proposed → accepted, answer\n    moved" in " ".join(text.split(" "))
    assert "contradicts: abd3" not in text
    old = dialwatch("ground-truth", "show", "abc1", "--version", "1", "--lake", lake.root).stdout
    assert "version:     1, not the newest, which is 2" in old
    assert "In Delhi, 1,200 km away." in old
    absent = dialwatch("ground-truth", "show", "abc1", "--version", "3", "--lake", lake.root)
    assert "case abc1 of rag has no version 3: it has 1 to 2" in absent.stderr
    whole = json.loads(dialwatch("ground-truth", "show", "abc1", "--json", "--lake", lake.root).stdout)
    assert (whole["case"]["answer"], len(whole["history"]), whole["source_event_id"]) == ("In New Delhi.", 2, "e")


def test_a_stored_place_of_a_fact_counts_unless_it_is_none(lake: Lake) -> None:
    """What is stored is shown; a place that the chunk does not have is looked up again."""
    citations = [{"statement": "It is Delhi.", "chunk": 1, "start": 0, "end": 3}, {"chunk": 9, "start": 0, "end": 3}]
    columns = {"facts": ["The seat is Delhi", "who"], "citations": citations, "context": ["who?", "The seat is Delhi"]}
    change_case(lake, "rag", "b", columns, "ann", AT)
    text = dialwatch("ground-truth", "show", "b", "--deployment", "rag", "--lake", lake.root).stdout
    assert "1. (chunk 2, characters 0 to 3)" in text
    assert "that is: It is Delhi." in text
    assert "2. (chunk 1, characters 0 to 3)" in text


@pytest.mark.parametrize("command", [("list",), ("show", "x")])
def test_nothing_that_is_stored_is_a_command_to_the_terminal(lake: Lake, command: tuple[str, ...]) -> None:
    """Control characters are written out, whichever column they are in."""
    texts = dict.fromkeys(("question", "answer", "note", "extractor", "updated_by", "status_by", "status"), HOSTILE)
    lists = {name: [HOSTILE] for name in ("facts", "documents", "context", "context_ids")}
    hostile = case("x", source_response_id=HOSTILE, citations=[{"statement": HOSTILE}], **texts, **lists)
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([hostile]))
    for option in ((), ("--json",)):
        done = dialwatch("ground-truth", *command, *option, "--lake", lake.root)
        assert done.returncode == 0, done.stderr
        unseen = {one for one in done.stdout if unicodedata.category(one) in ("Cc", "Cf", "Zl")}
        assert unseen == {"\n"}


def test_several_cases_are_accepted_and_rejected_by_the_beginnings_of_their_ids(lake: Lake) -> None:
    """With who and why; and the other way round again."""
    where = ("--who", "ann", "--lake", lake.root)
    done = dialwatch("ground-truth", "accept", "abc1", "abd", "--note", "checked", *where)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == "accepted: case abd3 of rag: Where is it?"
    assert statuses(lake) == {"abc1": "accepted", "abc2": "proposed", "abd3": "accepted", "b": "accepted"}
    newest = case_history(lake.table(GROUND_TRUTH, "rag"), "abc1")[0]
    assert (newest["version"], newest["status_by"], newest["note"]) == (2, "ann", "checked")
    assert dialwatch("ground-truth", "reject", "abc1", *where).stdout.startswith("rejected: case abc1")
    again = dialwatch("ground-truth", "reject", "abc1", *where)
    assert again.stdout.startswith("was rejected already: case abc1")
    assert dialwatch("ground-truth", "accept", "abc1", *where).returncode == 0
    assert [one["status"] for one in case_history(lake.table(GROUND_TRUTH, "rag"), "abc1")] == [
        "accepted", "rejected", "accepted", "proposed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["abc"], "2 cases begin with 'abc': give more of it"),
        (["abc1", "none"], "there is no case 'none'"),
        ([""], "there is no case ''"),
        (["b"], "other, rag have a case 'b': name one by --deployment"),
        (["abc1", "--who", " "], "it is empty"),
        (["abc1", "--note", "\x1b"], "control character"),
    ],
)
def test_an_id_that_is_not_clear_changes_nothing(lake: Lake, ids: list[str], message: str) -> None:
    """Not even the other cases of the same command."""
    done = dialwatch("ground-truth", "accept", *ids, "--lake", lake.root)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert statuses(lake) == {"abc1": "proposed", "abc2": "proposed", "abd3": "proposed", "b": "accepted"}


def test_a_case_that_somebody_changed_meanwhile_is_left_as_it_is(lake: Lake) -> None:
    """It is named with who has changed it; the others are decided on."""
    cases_named = changing.cases_named

    def read_then_changed(*arguments: Any) -> Any:
        found = cases_named(*arguments)
        change_case(lake, "rag", "abc1", {"answer": "Elsewhere."}, "bob", AT)
        return found

    with mock.patch.object(changing, "cases_named", read_then_changed):
        done = dialwatch("ground-truth", "accept", "abc1", "abc2", "--who", "ann", "--lake", lake.root)
    assert done.returncode == 1
    assert done.stderr.startswith("not accepted: case abc1 of rag was changed by bob meanwhile: look at it")
    assert (statuses(lake)["abc1"], statuses(lake)["abc2"]) == ("proposed", "accepted")
