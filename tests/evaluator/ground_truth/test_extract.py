"""Facts of proposed cases that a judge names: asked in the pass and by command, checked, and paid once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.queries.ground_truth.case_versions import case_history, read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake
from lake.tables.table import Table
from runtime.identity import identity
from tests.evaluator.conftest import NOON
from tests.evaluator.judges.scripted_server import ScriptedServer, fails, says
from tests.killing import KILLED, Moment, die, run

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SEAT = "Delhi is the seat of government"


def named(*facts: tuple[str, Sequence[int], str]) -> str:
    return json.dumps({"facts": [{"statement": s, "sentences": list(n), "quote": q} for s, n, q in facts]})


def settings(server: ScriptedServer, tmp_path: Path, **truth: Any) -> EvaluatorSettings:
    return settings_at(server.url, tmp_path, **truth)


def settings_at(url: str, tmp_path: Path, **truth: Any) -> EvaluatorSettings:
    judge = {"base_url": f"{url}/v1", "model": "m", "prompt_price": 1, "completion_price": 10}
    given = {"judges": {"strict": judge}, "judge_calls": tmp_path / "calls.sqlite", "metrics": ("facts_recall",)}
    return EvaluatorSettings.model_validate(given | {"ground_truth": {"judge": "strict"} | truth})


def evaluate(chosen: EvaluatorSettings, lake: Lake) -> None:
    evaluator = Evaluator(lake, chosen, clock=lambda: NOW)
    assert evaluator.run_once().failures == ()
    evaluator.close()


@pytest.fixture
def liked(traffic: Any) -> Any:
    """A liked answer in other words than its contexts, which the words of the answer do not find."""
    traffic.log(traffic.answer("a", answer="Neu-Delhi ist die Hauptstadt.", question="Wo sitzt die Regierung?"))
    traffic.rate(traffic.signal("like", "a"))
    return traffic


def case_of(lake: Lake) -> dict[str, Any]:
    (case,) = read_cases(lake.table(GROUND_TRUTH, "rag"))
    return case


def test_a_case_gets_the_facts_that_the_judge_points_at(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path
) -> None:
    """With what each says, where it stands, the chunks that hold them, and who named them; asked once."""
    server.follow(says(named(("Delhi is the capital.", [1], ""), ("It was made up.", [2], "It is tiny"))))
    evaluate(settings(server, tmp_path), lake)
    case = case_of(lake)
    assert case["facts"] == [SEAT]
    assert case["citations"] == [{"statement": "Delhi is the capital.", "chunk": 0, "start": 0, "end": len(SEAT)}]
    assert case["context"] == ["Delhi is the seat of government. It is large."]
    assert case["extractor"].startswith("judge/4-m-")
    assert (case["version"], case["status"], case["updated_by"]) == (2, "proposed", "evaluator")
    assert "1 of its citations stood nowhere" in case["note"]
    assert len(case_history(lake.table(GROUND_TRUTH, "rag"), case["case_id"])) == 2
    content = server.requests[0].body["messages"][1]["content"]
    assert content.index("<sentence 1 ") < content.index("<question 1 ") < content.index("<answer 1 ")
    evaluate(settings(server, tmp_path), lake)
    assert len(server.requests) == 1


def test_the_judge_is_asked_for_clauses_with_their_subject(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path
) -> None:
    """And one that it gives without is a fact with it."""
    server.follow(says(named(("Delhi is the capital.", [1], "is the seat of government"))))
    evaluate(settings(server, tmp_path), lake)
    asked = server.requests[0].body["messages"][1]["content"]
    assert '"quote": the clause of one of these sentences that states it, with its subject' in asked
    assert case_of(lake)["facts"] == [SEAT]


def test_the_judge_reads_the_answer_of_the_case_where_others_have_its_id(
    server: ScriptedServer, lake: Lake, traffic: Any, tmp_path: Path
) -> None:
    """Earlier versions named the answers of a gateway that gives all of them one id by that id."""
    same = {"response_id": "chat", "response_ids": ["chat"]}
    traffic.log(traffic.answer("a", chunks=["It is warm."], **same), traffic.answer("b", 1, chunks=[SEAT], **same))
    row = {"case_id": identity("rag", "event-b"), "deployment": "rag", "version": 1, "question": "Where?"}
    row |= {"answer": "Delhi.", "source_response_id": "chat", "source_date": NOON.date(), "status": "proposed"}
    row |= {"updated_by": "evaluator", "extractor": "sentences/3", "confidence": 1.0}
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([row]))
    server.follow(says(named(("Delhi is the capital.", [1], ""))))
    evaluate(settings(server, tmp_path), lake)
    assert case_of(lake)["context"] == [SEAT]


def test_where_the_judge_is_away_the_case_keeps_its_facts_and_is_asked_about_later(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path, caplog: Any
) -> None:
    server.always = fails(401)
    evaluate(settings(server, tmp_path), lake)
    assert (case_of(lake)["extractor"], case_of(lake)["version"]) == ("sentences/3", 1)
    assert "judge_unavailable; they keep those of their words" in caplog.text
    server.always = says(named(("s", [1], "")))
    evaluate(settings(server, tmp_path), lake)
    assert case_of(lake)["facts"] == [SEAT]


def test_a_cut_reply_is_asked_for_again_in_two_parts(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path
) -> None:
    """The halves are numbered anew, and the places are those of the whole."""
    server.follow(says("{", finish_reason="length"), says(named()), says(named(("Mumbai is a port.", [1], ""))))
    evaluate(settings(server, tmp_path), lake)
    case = case_of(lake)
    assert (case["facts"], case["context"]) == (["Mumbai is a port"], ["Mumbai is a port."])
    assert len(server.requests) == 3


def test_a_reply_of_another_format_is_repaired_once(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path, caplog: Any
) -> None:
    """Shorter contexts would not change it and be paid twice; the case keeps its facts, and the log says why."""
    server.always = says("I think that...")
    evaluate(settings(server, tmp_path), lake)
    assert (case_of(lake)["extractor"], case_of(lake)["status"]) == ("sentences/3", "proposed")
    assert len(server.requests) == 2
    assert "1 judge_failed; they keep those of their words" in caplog.text


def test_a_reply_that_is_cut_behind_some_facts_is_not_taken_as_whole(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path
) -> None:
    """Nobody knows how many facts were to follow."""
    cut = named(("Delhi is the capital.", [1], "")).removesuffix("]}") + ', {"statement": "The thi'
    port = named(("Mumbai is a port.", [1], ""))
    server.follow(says(cut, finish_reason="length"), says(named(("Delhi is the capital.", [1], ""))), says(port))
    evaluate(settings(server, tmp_path), lake)
    assert (case_of(lake)["facts"], len(server.requests)) == ([SEAT, "Mumbai is a port"], 3)


@pytest.mark.parametrize("without", [{"quote": None}, {}])
def test_a_fact_without_a_quote_is_its_sentences(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path, without: dict[str, Any]
) -> None:
    """After one call more: small models leave it out."""
    fact = {"statement": "Delhi is the capital.", "sentences": [1]} | without
    server.always = says(json.dumps({"facts": [fact]}))
    evaluate(settings(server, tmp_path), lake)
    assert (case_of(lake)["facts"], len(server.requests)) == ([SEAT], 2)


def test_an_answer_without_support_is_for_a_person_to_decide(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path
) -> None:
    """No answer is compared with its case, whose facts only share words with it; it is not asked about again."""
    server.always = says(named())
    evaluate(settings(server, tmp_path), lake)
    case = case_of(lake)
    assert (case["status"], case["version"], case["updated_by"]) == ("stale", 2, "evaluator")
    assert "finds nothing in the contexts that supports the answer" in case["note"]
    evaluate(settings(server, tmp_path), lake)
    assert len(server.requests) == 1


def test_where_most_citations_are_wrong_shorter_contexts_are_asked_about(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path
) -> None:
    """What the whole reply had right is asked for again too, so that nothing is kept twice."""
    wrong = ("Made up.", [1], "Goa is the seat of government")
    server.follow(says(named(wrong, wrong, ("s", [1], ""))), says(named(("s", [1], ""))), says(named(("s", [1], ""))))
    evaluate(settings(server, tmp_path), lake)
    assert case_of(lake)["facts"] == [SEAT, "Mumbai is a port"]
    assert "0 of its citations" in case_of(lake)["note"]


EARLIER = [{"role": "user", "content": "Tell me of India in 2023."}, {"role": "assistant", "content": "It is large."}]


@pytest.fixture
def follow_up(traffic: Any) -> Any:
    """A liked answer to a question that only its conversation explains."""
    question = "Where is its government?"
    body = json.dumps({"messages": [*EARLIER, {"role": "user", "content": question}]})
    follows = {"message_count": 3, "parent_history_hash": "p", "prefix_hash": "h", "request_body": body}
    traffic.log(traffic.answer("a", question=question) | follows)
    traffic.rate(traffic.signal("like", "a"))
    return traffic


@pytest.mark.parametrize(
    ("written", "question", "conversation"),
    [
        ("Where is the government of  India?", "Where is the government of India?", None),
        ("", "Where is its government?", "h"),
        ("Where was the government of India in 2024?", "Where is its government?", "h"),
        ("Where? " * 100, "Where is its government?", "h"),
    ],
    ids=["stands", "not known", "a number that nobody said", "too long"],
)
def test_a_follow_up_is_written_so_that_it_stands_by_itself(
    server: ScriptedServer,
    lake: Lake,
    follow_up: Any,
    tmp_path: Path,
    written: str,
    question: str,
    conversation: str | None,
) -> None:
    """By the messages before it; else the case stays with its conversation."""
    server.follow(says(json.dumps({"question": written})), says(named(("s", [1], ""))))
    evaluate(settings(server, tmp_path), lake)
    case = case_of(lake)
    assert (case["question"], case["conversation_hash"], case["facts"]) == (question, conversation, [SEAT])
    assert "user: Tell me of India in 2023." in server.requests[0].body["messages"][1]["content"]
    assert question in server.requests[1].body["messages"][1]["content"]
    assert ("stands by itself" in case["note"]) is (conversation is None)


def test_a_follow_up_without_facts_stands_by_itself_too(
    server: ScriptedServer, lake: Lake, follow_up: Any, tmp_path: Path
) -> None:
    """The case has the question that was written, and keeps the fact of its own words."""
    server.follow(says(json.dumps({"question": "Where is the government of India?"})), says(named()))
    evaluate(settings(server, tmp_path), lake)
    case = case_of(lake)
    assert (case["question"], case["conversation_hash"]) == ("Where is the government of India?", None)
    assert case["facts"] == [SEAT]
    assert "stands by itself" in case["note"]


def dying(root: str, url: str, folder: str, moment: Moment) -> None:
    """A pass that dies around the commit of the facts that a judge named."""

    def of_facts(to: Table, rows: Any, *_: Any, **__: Any) -> bool:
        return to.spec is GROUND_TRUTH and 2 in rows["version"].to_pylist()

    die(moment, Table, "append", counts=of_facts)
    evaluate(settings_at(url, Path(folder)), Lake(root))


@pytest.mark.integration
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_pass_asks_no_judge_twice(
    server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path, moment: Moment
) -> None:
    """The reply is kept, and the case gets one version of it, whatever is run again."""
    server.always = says(named(("s", [1], "")))
    assert run(dying, lake.root, server.url, str(tmp_path), moment) == KILLED
    evaluate(settings(server, tmp_path), lake)
    assert (case_of(lake)["version"], case_of(lake)["facts"], len(server.requests)) == (2, [SEAT], 1)


def test_what_a_person_changed_is_left_alone(server: ScriptedServer, lake: Lake, liked: Any, tmp_path: Path) -> None:
    evaluate(settings(server, tmp_path, judge=None), lake)
    truth = lake.table(GROUND_TRUTH, "rag")
    truth.append(GROUND_TRUTH.rows([case_of(lake) | {"version": 2, "updated_by": "ann"}]))
    evaluate(settings(server, tmp_path), lake)
    assert (case_of(lake)["version"], server.requests) == (2, [])


def test_the_judge_must_be_there(server: ScriptedServer, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="kind"):
        settings(server, tmp_path, judge="kind")
