"""Questions that are not the first of their conversation: which make a case, and what they are compared with."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from collector.parsing.request.request import read_request
from evaluator.answers import DeploymentTables
from evaluator.ground_truth import renew_old_cases
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.queries.frames import ground_truth_frame
from lake.queries.ground_truth.case_versions import case_history, change_case, read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from runtime.identity import identity

NOW = datetime(2026, 11, 21, tzinfo=UTC)
FACTS, RECALL = "facts_recall", "answer_correctness_token_recall"
FOLLOWS = {"message_count": 3, "parent_history_hash": "h"}


GONE = "its answer is no longer in the log, or others have its id: whether its question stood by itself is unknown"


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW)


def follow_up(traffic: Any, name: str, minute: int = 0, question: str = "Yes", **columns: Any) -> dict[str, Any]:
    row: dict[str, Any] = traffic.answer(name, minute, question=question, chat_id=f"chat-{name}", **FOLLOWS)
    row["prefix_hash"] = f"conversation of {name}"
    return row | columns


def old_case(source: str | None = "chatcmpl-old", **columns: Any) -> dict[str, Any]:
    """A case as versions made it that took any question."""
    case = {"case_id": "c", "question": "Yes", "documents": ["files/india.pdf"], "facts": ["Delhi"], "answer": "Delhi"}
    case |= {"source_response_id": source, "status": "proposed", "extractor": "sentences/1", "confidence": 0.9}
    return case | columns


def add_case(traffic: Any, case: dict[str, Any]) -> None:
    traffic.lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case]))


@pytest.mark.parametrize("signal", ["like", "copy"])
def test_a_yes_is_the_reference_in_its_own_conversation_alone(signal: str, evaluator: Evaluator, traffic: Any) -> None:
    """A good answer to a question that only its conversation explains is no reference in another, whatever the signal.

    The same messages before it are the same conversation: so where somebody has the answer made again.
    """
    rating = traffic.signal("like", "yes") | {
        "signal": signal,
        "origin": "explicit" if signal == "like" else "implicit",
    }
    traffic.rate(rating)
    again = follow_up(traffic, "again", 6, answer="Delhi", prefix_hash="conversation of yes")
    traffic.log(follow_up(traffic, "yes"), follow_up(traffic, "other", 5, answer="Paris."), again)
    assert evaluator.run_once().cases == 1
    [case] = traffic.cases()
    assert (case["question"], case["conversation_hash"]) == ("Yes", "conversation of yes")
    assert set(traffic.values(RECALL)) == set(traffic.values(FACTS)) == {"again"}
    assert ground_truth_frame(traffic.lake, "rag").empty


def test_a_follow_up_of_an_unknown_conversation_makes_no_case(evaluator: Evaluator, traffic: Any) -> None:
    """Rows of versions that knew no hashes, and conversations that are named by an id alone."""
    traffic.log(follow_up(traffic, "yes", prefix_hash=None))
    traffic.rate(traffic.signal("like", "yes"))
    assert evaluator.run_once().cases == 0


def test_an_edited_follow_up_is_still_one(evaluator: Evaluator, traffic: Any) -> None:
    """Messages before the question show it, whatever became of the question since."""
    edited = follow_up(traffic, "edited", 3, "Yes, please", prefix_hash="conversation of first")
    traffic.log(follow_up(traffic, "first"), edited)
    traffic.rate(traffic.signal("edit", "first", 2) | {"value": -0.5, "origin": "implicit"})
    traffic.rate(traffic.signal("like", "edited", 4))
    assert evaluator.run_once().cases == 1
    assert traffic.cases()[0]["conversation_hash"] == "conversation of first"


def test_a_follow_up_is_compared_by_its_standalone_question(evaluator: Evaluator, traffic: Any) -> None:
    """The case has that question, and it meets first questions as sent and standalone ones, no follow-up as sent."""
    question = "Where is the government of India?"
    traffic.log(
        follow_up(traffic, "liked", standalone_question=question),
        traffic.answer("first", 5, question=question),
        follow_up(traffic, "same", 6, "And there?", standalone_question=question, answer="It is in Mumbai."),
        follow_up(traffic, "as-sent", 7, question),
        traffic.answer("yes", 8, question="Yes"),
        follow_up(traffic, "another", 9, standalone_question="Where is the port?"),
    )
    traffic.rate(traffic.signal("like", "liked"))
    assert evaluator.run_once().cases == 1
    [case] = traffic.cases()
    assert (case["question"], case["facts"]) == (question, ["Delhi is the seat of government"])
    assert traffic.values(RECALL) == {"first": 1.0, "same": pytest.approx(1 / 5)}
    assert set(traffic.values(FACTS)) == {"first", "same"}


def test_a_first_question_makes_no_case_for_follow_ups_with_its_words(evaluator: Evaluator, traffic: Any) -> None:
    """ "Is it large?" at the beginning of one conversation is another question within a second one."""
    traffic.log(traffic.answer("liked", question="Is it large?"), follow_up(traffic, "later", 5, "Is it large?"))
    traffic.rate(traffic.signal("like", "liked"))
    assert evaluator.run_once().cases == 1
    assert traffic.values(RECALL) == {}


@pytest.mark.parametrize(
    ("messages", "is_first"),
    [
        (["user"], True),
        (["system", "user"], True),
        (["system", "user", "assistant", "tool"], True),
        (["user", "assistant", "user"], False),
        (["system", "user", "assistant", "user", "assistant", "tool"], False),
    ],
)
def test_earlier_messages_show_the_first_question(
    messages: list[str], is_first: bool, evaluator: Evaluator, traffic: Any
) -> None:
    """Hashes of a request as the collector makes them: instructions and calls of tools come before no question."""
    body = ",".join(f'{{"role":"{role}","content":"Yes"}}' for role in messages)
    request = read_request(f'{{"messages":[{body}]}}')
    columns = {"message_count": request.message_count, "prefix_hash": request.history.prefix_hash}
    columns |= {"parent_history_hash": request.history.parent_history_hash}
    traffic.log(traffic.answer("liked", question=request.question, **columns))
    traffic.rate(traffic.signal("like", "liked"))
    assert evaluator.run_once().cases == 1
    assert (traffic.cases()[0]["conversation_hash"] is None) == is_first


@pytest.mark.parametrize(("messages", "cases"), [(1, 1), (2, 0), (3, 0), (None, 1)])
def test_messages_show_it_in_rows_of_before_the_hashes(
    messages: int | None, cases: int, evaluator: Evaluator, traffic: Any
) -> None:
    """One message alone, or a prompt without messages, is a first question; of more nothing is known."""
    uri = traffic.lake.table(PARSED_LOGS, "rag").uri
    Path(uri).mkdir(parents=True)
    kept = [field for field in PARSED_LOGS.schema if field.name not in ("prefix_hash", "parent_history_hash")]
    options = {"delta.enableChangeDataFeed": "true", "delta.dataSkippingStatsColumns": "requested_at"}
    DeltaTable.create(uri, schema=pa.schema(kept), partition_by=["date"], name="rag", configuration=options)
    traffic.log(traffic.answer("liked", message_count=messages))
    traffic.rate(traffic.signal("like", "liked"))
    assert evaluator.run_once().cases == cases


def test_a_case_that_an_earlier_version_made_of_a_follow_up_matches_no_more(evaluator: Evaluator, traffic: Any) -> None:
    """The answer that it was made from shows that its question was a follow-up, accepted by a person or not."""
    add_case(traffic, old_case())
    add_case(traffic, old_case(case_id="accepted", status="accepted"))
    traffic.log(follow_up(traffic, "old"), traffic.answer("yes", 5, question="Yes"), follow_up(traffic, "again", 6))
    evaluator.run_once()
    assert traffic.values(RECALL) == {}


def test_such_a_case_is_stale_where_its_conversation_is_not_known_and_keeps_its_id(
    evaluator: Evaluator, traffic: Any
) -> None:
    """Once, with a version that says why; one whose conversation is known is compared in it."""
    add_case(traffic, old_case())
    add_case(traffic, old_case("chatcmpl-known", case_id="known", status="accepted"))
    add_case(traffic, old_case("chatcmpl-known", case_id="rejected", status="rejected"))
    traffic.log(
        follow_up(traffic, "old", prefix_hash=None),
        follow_up(traffic, "known", 1),
        follow_up(traffic, "again", 2, prefix_hash="conversation of known", answer="Delhi"),
    )
    for _ in range(2):
        evaluator.run_once()
        Evaluator(traffic.lake, EvaluatorSettings(), clock=lambda: NOW).run_once()
    stale, _ = case_history(traffic.lake.table(GROUND_TRUTH, "rag"), "c")
    assert (stale["version"], stale["status"], stale["status_by"]) == (2, "stale", "evaluator")
    assert "not known" in stale["note"]
    known, _ = case_history(traffic.lake.table(GROUND_TRUTH, "rag"), "known")
    assert (known["version"], known["status"], known["facts"]) == (2, "accepted", ["Delhi"])
    assert (known["question"], known["conversation_hash"]) == ("Yes", "conversation of known")
    assert traffic.values(RECALL) == {"again": 1.0}
    assert len(case_history(traffic.lake.table(GROUND_TRUTH, "rag"), "rejected")) == 1


def test_such_a_case_is_renewed_where_a_person_accepts_it_later(evaluator: Evaluator, traffic: Any) -> None:
    """The evaluator that runs meanwhile does not need a new start."""
    add_case(traffic, old_case(status="rejected"))
    traffic.log(follow_up(traffic, "old"))
    evaluator.run_once()
    change_case(traffic.lake, "rag", "c", {"status": "accepted"}, "ann", NOW)
    traffic.log(traffic.answer("yes", 5, question="Yes"))
    evaluator.run_once()
    assert traffic.values(RECALL) == {}


def test_such_a_case_is_found_by_its_answers_standalone_question(evaluator: Evaluator, traffic: Any) -> None:
    """Where the log still has that."""
    add_case(traffic, old_case())
    traffic.log(
        follow_up(traffic, "old", standalone_question="Is Delhi large?"),
        traffic.answer("asked", 5, question="Is Delhi large?", answer="Delhi"),
        traffic.answer("yes", 6, question="Yes"),
        follow_up(traffic, "again", 7),
    )
    evaluator.run_once()
    assert traffic.values(RECALL) == {"asked": 1.0}


def test_cases_of_first_questions_that_an_earlier_version_made_stay(evaluator: Evaluator, traffic: Any) -> None:
    """So does one whose question a person has put in other words, though it was made of a follow-up."""
    add_case(traffic, old_case("chatcmpl-first", question="Where?"))
    add_case(traffic, old_case("chatcmpl-follow", question="Is Delhi large?", case_id="edited", status="accepted"))
    traffic.log(
        traffic.answer("first", question="Where?"),
        follow_up(traffic, "follow", 1),
        traffic.answer("where", 5, question="Where?"),
        traffic.answer("large", 6, question="Is Delhi large?"),
    )
    evaluator.run_once()
    assert set(traffic.values(RECALL)) == {"where", "large"}


@pytest.mark.parametrize(
    ("case", "is_used"),
    [
        (old_case("chatcmpl-gone"), False),
        (old_case("chatcmpl-gone", status="accepted"), True),
        (old_case("chatcmpl-gone", extractor="sentences/2"), True),
        (old_case(None), True),
        (old_case("chatcmpl-gone", extractor=None), True),
    ],
)
def test_of_an_earlier_versions_case_without_its_answer_nothing_is_known(
    case: dict[str, Any], is_used: bool, evaluator: Evaluator, traffic: Any
) -> None:
    """It may be a follow-up, so nothing is compared with it unless a person accepted or wrote it."""
    add_case(traffic, case)
    traffic.log(traffic.answer("yes", 5, question="Yes"))
    evaluator.run_once()
    assert set(traffic.values(RECALL)) == ({"yes"} if is_used else set())


def test_a_case_with_a_standalone_question_is_erased_with_its_answer(evaluator: Evaluator, traffic: Any) -> None:
    """Its words stand nowhere in the row's question."""
    traffic.log(follow_up(traffic, "liked", standalone_question="Where does Ann Smith live?", user_id="ann"))
    traffic.rate(traffic.signal("like", "liked"))
    assert evaluator.run_once().cases == 1
    erase(traffic.lake, Subject(user="ann"), NOW)
    assert traffic.cases() == []


def test_a_case_is_renewed_by_its_own_answer_where_others_have_the_id_or_where_it_has_none(
    lake: Lake, traffic: Any
) -> None:
    """Of the answers with one id it is the one whose case this is by its name; an answer without one is its row."""
    same = {"response_id": "chat", "response_ids": ["chat"], "chat_id": None}
    traffic.log(*(follow_up(traffic, name, number) | same for number, name in enumerate("abc")))
    traffic.log(follow_up(traffic, "unnamed", response_id=None, response_ids=[]))
    cases = [old_case("chat", case_id=identity("rag", "event-b"), deployment="rag"),
             old_case("event-unnamed", case_id="unnamed", deployment="rag")]  # fmt: skip
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    assert renew_old_cases(DeploymentTables.of(lake, "rag"), NOW) == 0
    found = {case["source_response_id"]: case for case in read_cases(lake.table(GROUND_TRUTH, "rag"))}
    assert found["chat"]["conversation_hash"] == "conversation of b"
    assert found["event-unnamed"]["conversation_hash"] == "conversation of unnamed"


def test_a_renewed_case_has_the_day_of_its_answer_and_says_what_became_of_it(lake: Lake, traffic: Any) -> None:
    """Of several answers with one id it was made of that with its question and answer, where these are one person's in
    one conversation; only cases that are stale now are counted."""
    cases = [
        old_case("chatcmpl-twice", case_id="twice"),
        old_case("chatcmpl-first", case_id="first", question="Where?"),
        old_case("chatcmpl-alone", case_id="alone"),
        old_case("chatcmpl-gone", case_id="gone"),
        old_case("chatcmpl-unknown", case_id="unknown"),
        old_case("chatcmpl-shared", case_id="shared"),
    ]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    twice, shared = ({"response_id": f"chatcmpl-{name}"} for name in ("twice", "shared"))
    traffic.log(
        follow_up(traffic, "late", 9, "No") | twice,
        follow_up(traffic, "early", -2900) | twice | {"answer": "Mumbai"},
        follow_up(traffic, "middle", -1500) | twice | {"answer": "Delhi"},
        follow_up(traffic, "one") | shared,
        follow_up(traffic, "another") | shared,
        traffic.answer("first", question="Where?"),
        follow_up(traffic, "alone", standalone_question="Yes"),
        follow_up(traffic, "unknown", prefix_hash=None),
    )
    tables = DeploymentTables.of(lake, "rag")
    assert renew_old_cases(tables, NOW) == 3
    assert renew_old_cases(tables, NOW) == 0
    found = {case["case_id"]: case for case in read_cases(lake.table(GROUND_TRUTH, "rag"))}
    assert {name: (case["status"], case["note"]) for name, case in found.items()} == {
        "twice": (
            "proposed",
            "its question was a follow-up: it has the question that was meant, or is compared in its conversation "
            "alone",
        ),
        "first": ("proposed", "its question stands by itself"),
        "alone": ("proposed", "its question stands by itself"),
        "gone": ("stale", GONE),
        "shared": ("stale", GONE),
        "unknown": ("stale", "its question continues a conversation that is not known"),
    }  # fmt: skip
    assert found["twice"]["conversation_hash"] == "conversation of middle"
    assert found["twice"]["source_date"] == date(2026, 11, 19)
    assert {case["updated_by"] for case in found.values()} == {"evaluator"}
