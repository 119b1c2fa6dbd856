"""Facts that words, an encoder or a judge name, and the questions that a judge writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from evaluator.answers import DeploymentTables
from evaluator.ground_truth import similar_sentences
from evaluator.ground_truth.citations import checked_facts, numbered_sentences
from evaluator.ground_truth.extract import NewFacts, extract_facts, lacking, standalone_questions
from evaluator.ground_truth.facts import supporting_sentences
from evaluator.ground_truth.judged_facts import Good, extractor_of, judged_facts
from evaluator.ground_truth.propose import changes_by_signals
from evaluator.ground_truth.similar_sentences import SimilarSentences
from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Reason, Spend
from evaluator.models import Models
from lake.queries.ground_truth.case_versions import read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FACT = "Delhi is the seat of government"


CONTEXT = 'Revenue was 2,319 million dollars in 2023, cash flow aside. Profits: "none at all".'


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("in 2023", "Revenue was 2,319 million dollars in 2023, cash flow aside"),
        ("dollars", "Revenue was 2,319 million dollars in 2023, cash flow aside"),
        ("dollars i", None),
        ("cash flow", "cash flow"),
        ("million dollars", "million dollars"),
        ("dollars in", "dollars in"),
        (" million\n dollars ", "million dollars"),
    ],
)
def test_a_quote_of_eight_letters_is_a_fact_by_itself(quote: str, expected: str | None) -> None:
    """One of fewer is its whole sentence; it stands in whole words, and where it says."""
    given = {"statement": " It  is\nso. ", "sentences": [1], "quote": quote}
    checked = checked_facts([given, given | {"statement": "Another."}], numbered_sentences([CONTEXT]))
    assert [one.text for one in checked.facts] == ([] if expected is None else [expected])
    assert (checked.dropped, checked.given) == ((2, 2) if expected is None else (0, 2))
    for fact in checked.facts:
        assert (fact.statement, fact.chunk, CONTEXT[fact.start : fact.end]) == ("It is so.", 0, fact.text)


def test_a_sentence_that_is_there_twice_has_two_places() -> None:
    """Each where it begins, chunk by chunk."""
    found = numbered_sentences(["It is so. It is so.", "", "It is so."])
    assert [(one.chunk, one.start) for one in found] == [(0, 0), (0, 10), (2, 0)]


@pytest.mark.parametrize(
    ("sentence", "is_fact"), [("Red green here.", True), ("Red here.", False), ("Red green blue.", True)]
)
def test_half_of_the_words_of_a_sentence_are_enough(sentence: str, is_fact: bool) -> None:
    """Of the answer's, not of the context's."""
    assert bool(supporting_sentences("Red green blue yellow.", [sentence])) is is_fact


class Encoder:
    """Vectors of known cosines with the answer's first sentence."""

    def __init__(self, **cosines: float) -> None:
        self.cosines = cosines
        self.asked: list[list[str]] = []

    def vectors(self, texts: Iterable[str]) -> Any:
        some = list(texts)
        self.asked.append(some)
        angles = [np.arccos(self.cosines.get(text.split()[0], 1.0)) for text in some]
        return np.array([[np.cos(angle), np.sin(angle)] for angle in angles])


@pytest.mark.parametrize(
    ("cosines", "answer", "expected"),
    [
        ({"Aa": 0.6, "Bb": 0.59, "Cc": 0.1}, "So it is.", ["Aa is here"]),
        ({"Aa": 0.59, "Bb": 0.59, "Cc": 0.1}, "So it is.", []),
        ({"Aa": 0.7, "Bb": 0.8, "Cc": 0.9}, "So it is.", ["Cc had 30 days"]),
        ({"Aa": 0.7, "Bb": 0.8, "Cc": 0.6}, "So it is for 30.", ["Cc had 30 days"]),
        ({"Aa": 0.9, "Bb": 0.9, "Cc": 0.1}, "So it is [1]. So it is.", ["Aa is here"]),
    ],
)
def test_the_nearest_sentence_is_a_fact_from_a_cosine_on(
    monkeypatch: pytest.MonkeyPatch, cosines: dict[str, float], answer: str, expected: list[str]
) -> None:
    """Of several that are as near the first, each once, and only one with the answer's numbers."""
    encoder = Encoder(**cosines)
    monkeypatch.setattr(similar_sentences, "sentence_encoder", lambda _: encoder)
    found = SimilarSentences(Models(), 0.6 - 1e-9).facts(
        answer, ["Aa is here. Bb is there.", "Aa is here! Cc had 30 days."]
    )
    assert found == expected
    assert encoder.asked[1] == ["Aa is here", "Bb is there", "Cc had 30 days"]
    assert SimilarSentences(Models(), 0.6).facts("", ["Aa."]) == SimilarSentences(Models(), 0.6).facts("Aa.", []) == []


class Judge:
    """Answers as it is told, and keeps what it was asked."""

    name, settings = "strict", SimpleNamespace(model_name="org/model-4")

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[JudgeRequest] = []

    def ask_all(self, requests: Iterable[JudgeRequest]) -> list[Any]:
        some = list(requests)
        self.asked += some
        return [self._next() for _ in some]

    def _next(self) -> Any:
        reply = self.replies.pop(0)
        if isinstance(reply, Reason):
            return JudgeError(reply, "why", Spend(calls=1))
        return JudgeReply(reply, Spend(calls=1))


def named(*facts: tuple[int, str]) -> dict[str, Any]:
    return {"facts": [{"statement": "s", "sentences": [number], "quote": quote} for number, quote in facts]}


GOOD = Good(
    "Where?", "There.", ["Red is one colour.", "Green is another one.", "Blue is the third one.", "Grey is none."]
)
RIGHT, WRONG = (1, ""), (1, "not in here at all")


def test_a_reply_with_half_of_its_citations_wrong_is_used() -> None:
    """With more wrong, the contexts are asked about in two halves, and these in halves again, but no further."""
    judge = Judge(named(RIGHT, WRONG))
    (found,) = judged_facts(judge, [GOOD])  # type: ignore[arg-type]
    assert ([fact.text for fact in found.facts], found.dropped, found.reason) == (["Red is one colour"], 1, None)
    judge = Judge(named(RIGHT, WRONG, WRONG), named(WRONG), Reason.CUT, Reason.FAILED, *[named(WRONG)] * 2, Reason.CUT)
    (found,) = judged_facts(judge, [GOOD])  # type: ignore[arg-type]
    assert (len(judge.asked), found.spend.calls) == (7, 7)
    assert (found.facts, found.dropped, found.reason) == ((), 2, Reason.FAILED)
    judge = Judge(Reason.CUT, named(RIGHT), named((2, ""), RIGHT))
    (found,) = judged_facts(judge, [GOOD])  # type: ignore[arg-type]
    assert [(fact.text, fact.chunk) for fact in found.facts] == [
        ("Red is one colour", 0), ("Grey is none", 3), ("Blue is the third one", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("reason", [Reason.UNAVAILABLE, Reason.BUDGET, Reason.REFUSED])
def test_shorter_contexts_change_nothing_about_a_judge_that_does_not_answer(reason: Reason) -> None:
    """One question is one call; a context alone is not divided."""
    judge = Judge(reason)
    (found,) = judged_facts(judge, [GOOD])  # type: ignore[arg-type]
    assert (len(judge.asked), found.reason) == (1, reason)
    alone = Judge(Reason.CUT)
    (found,) = judged_facts(alone, [Good("Where?", "There.", GOOD.contexts[:1])])  # type: ignore[arg-type]
    assert (len(alone.asked), found.reason) == (1, Reason.CUT)


def test_several_answers_are_asked_about_at_once_and_kept_apart() -> None:
    """A number beyond the sentences is a misfit, which the judge is told."""
    judge = Judge(named((2, "")), named(RIGHT))
    first, second = judged_facts(judge, [GOOD, Good("Who?", "He.", ["Grey is none."])])  # type: ignore[arg-type]
    assert [fact.text for fact in (*first.facts, *second.facts)] == ["Green is another one", "Grey is none"]
    check = judge.asked[0].check
    assert check is not None
    check(named((1, ""), (4, "")))
    for number in (0, 5):
        with pytest.raises(ValueError, match=f"facts: there is no sentence {number}; there are 1 to 4"):
            check(named((number, "")))
    assert extractor_of(judge).startswith("judge/4-model-4-")  # type: ignore[arg-type]


@pytest.fixture
def tables(lake: Lake) -> DeploymentTables:
    return DeploymentTables.of(lake, "rag")


def proposed(number: int, **columns: Any) -> dict[str, Any]:
    return {
        "case_id": f"c{number}", "deployment": "rag", "version": 1, "status": "proposed", "updated_by": "evaluator",
        "question": "Where?", "answer": "There.", "facts": ["old"], "source_response_id": f"chatcmpl-{number}",
        "source_date": date(2026, 11, 20), "extractor": "sentences/2",
    } | columns  # fmt: skip


def test_cases_are_asked_about_some_at_a_time_and_once(traffic: Any, tables: DeploymentTables, caplog: Any) -> None:
    """What a judge has no time for is asked again; the log counts the reasons."""
    truth = traffic.lake.table(GROUND_TRUTH, "rag")
    truth.append(GROUND_TRUTH.rows([proposed(number) for number in range(3)]))
    traffic.log(traffic.answer("0"), traffic.answer("1"), traffic.answer("2", chunks=[]))
    new = NewFacts(most=2)
    away = Judge(*[Reason.UNAVAILABLE] * 2)
    for _ in range(2):
        away.replies = [Reason.UNAVAILABLE] * 2
        made = new.extract(tables, away, NOW)  # type: ignore[arg-type]
        assert (made.cases, dict(made.left), len(made.left)) == (0, {Reason.UNAVAILABLE: 2}, 1)
    assert caplog.messages[-1] == (
        "no facts of 2 cases of deployment 'rag' by judge 'strict': 2 judge_unavailable; they keep those of their words"
    )
    judge = Judge(named((1, "")), named())
    made = new.extract(tables, judge, NOW)  # type: ignore[arg-type]
    assert (made.cases, made.facts, made.unsupported, dict(made.left)) == (1, 1, 1, {})
    made = new.extract(tables, judge, NOW)  # type: ignore[arg-type]
    assert dict(made.left) == {"its answer has no contexts": 1}
    for _ in range(2):
        assert new.extract(tables, judge, NOW).left.total() == 0  # type: ignore[arg-type]
    assert len(judge.asked) == 2
    case, stale = (one for one in read_cases(truth) if one["version"] == 2)
    assert (stale["case_id"], stale["status"]) == ("c1", "stale")
    assert (case["case_id"], case["facts"], case["extractor"]) == ("c0", [FACT], extractor_of(judge))  # type: ignore[arg-type]
    assert case["note"] == "1 facts named by judge strict; 0 of its citations stood nowhere and were dropped"
    assert (case["context"], case["context_ids"]) == (["Delhi is the seat of government. It is large."], [None])


def test_only_proposed_cases_of_answers_lack_a_judges_facts() -> None:
    """Those of a person, of a file or by this judge already do not."""
    judge: Any = Judge()
    others: list[dict[str, Any]] = [
        {"status": "accepted"}, {"updated_by": "ann"}, {"source_response_id": None}, {"extractor": extractor_of(judge)},
    ]  # fmt: skip
    assert lacking([proposed(0), *(proposed(1, **one) for one in others)], judge) == [proposed(0)]


def test_by_command_each_case_is_asked_about_by_its_answers_ids(traffic: Any, tables: DeploymentTables) -> None:
    """By that of the answer or of its row, of its day alone where all days are known; what is gone is counted."""
    truth = traffic.lake.table(GROUND_TRUTH, "rag")
    cases = [
        proposed(0),
        proposed(1, source_response_id="event-1", status="accepted"),
        proposed(2, source_date=date(2026, 11, 19)),
        proposed(3),
    ]
    truth.append(GROUND_TRUTH.rows(cases))
    seat = {"text": f"{FACT}. It is large.", "id": "india.pdf:3"}
    traffic.log(*(traffic.answer(str(number), contexts=[{"text": "No fact.", "id": "x"}, seat]) for number in range(3)))
    judge: Any = Judge(*[named((2, ""))] * 3)
    made = extract_facts(tables, judge, [*cases[:2], cases[3]], "ann", NOW)
    assert (made.cases, dict(made.left)) == (
        2,
        {"its answer is no longer in the log, or others have its id": 1},
    )
    assert {case["case_id"]: case["updated_by"] for case in read_cases(truth) if case["version"] == 2} == {
        "c0": "ann", "c1": "ann",
    }  # fmt: skip
    written = [case for case in read_cases(truth) if case["version"] == 2]
    assert [(case["context"], case["context_ids"]) for case in written] == [([seat["text"]], [seat["id"]])] * 2
    assert [one["chunk"] for case in written for one in case["citations"]] == [0, 0]
    gone = proposed(9)
    assert extract_facts(tables, judge, [gone], "ann", NOW).left.total() == 0


def test_a_question_is_written_from_the_ten_messages_before_it(traffic: Any, tables: DeploymentTables) -> None:
    """Two thousand characters of each; one of up to 500 characters is taken, with no number that nobody said."""
    messages = [{"role": "user", "content": f"{number} {'x' * 3000}"} for number in range(12)]
    messages += [{"role": "user", "content": [{"text": "a picture"}]}, {"role": "user", "content": " "}]
    bodies = [json.dumps({"messages": [*messages, {"role": "user", "content": "last"}]}), "{", "[]", None, "{}"]
    traffic.log(*(traffic.answer(str(number), request_body=body) for number, body in enumerate(bodies)))
    cases = [proposed(number, question="In 1999?") for number in range(len(bodies))]
    for written, is_taken in [
        ("y" * 500, True), ("y" * 501, False), (" What  in 1999? ", True), ("In 2000?", False), ("", False),
    ]:  # fmt: skip
        judge: Any = Judge({"question": written})
        found, spend = standalone_questions(tables, judge, cases)
        assert found == ({"c0": " ".join(written.split())} if is_taken else {})
        assert spend.calls == 1
        (request,) = judge.asked
        content = "".join(message.content for message in request.messages)
        assert [f"user: {number} x" in content for number in range(12)] == [False] * 2 + [True] * 10
        assert content.count("x" * 1900) == 10
        assert "x" * 2000 not in content
    silent: Any = Judge(Reason.UNAVAILABLE)
    assert standalone_questions(tables, silent, cases) == ({}, Spend(calls=1))
    assert standalone_questions(tables, silent, []) == ({}, Spend())


def test_a_judge_reads_the_answer_and_the_conversation_of_the_case_alone(
    traffic: Any, tables: DeploymentTables
) -> None:
    """Where answers of other people have the same id, their conversations and contexts are sent nowhere."""
    for number, person in enumerate(("bob", "ann", "eve")):
        body = json.dumps(
            {"messages": [{"role": "user", "content": f"I am {person}."}, {"role": "user", "content": "x"}]}
        )
        said = {
            "answer": f"There, {person}.",
            "request_body": body,
            "chat_id": person,
            "chunks": [f"Papers of {person}."],
        }
        traffic.log(traffic.answer(person, number, response_id="chat", question="Where?", **said))
    made = proposed(0, source_response_id="chat", answer="There, ann.", conversation_hash="h")
    tables.truth.append(GROUND_TRUTH.rows([made]))
    judge: Any = Judge({"question": "Where is it?"}, named((1, "")))
    extract_facts(tables, judge, [made], "ann", NOW)
    sent = "".join(message.content for request in judge.asked for message in request.messages)
    assert "I am ann." in sent
    assert "Papers of ann." in sent
    assert not any(f"{words} {other}." in sent for words in ("I am", "Papers of") for other in ("bob", "eve"))


def test_what_signals_come_to_stands_in_the_notes() -> None:
    """With two digits; zero is not against an answer."""
    case = {"case_id": "c", "status": "proposed", "status_by": "evaluator", "updated_by": "ann"}
    for changed, folded, note in [
        ({}, 0.5, "withdrawn: the signals of its answer now come to 0.50, and 0.8 is needed"),
        ({"status": "rejected"}, 0.8, "proposed again: the signals of its answer now come to 0.80"),
        ({"status": "accepted"}, -0.01, "signals speak against this answer: they now come to -0.01"),
    ]:
        ((_, found),) = changes_by_signals([case | changed], {"c": folded}, 0.8)
        assert found["note"] == note
    assert list(changes_by_signals([case | {"status": "accepted"}], {"c": 0.0}, 0.8)) == []


def test_a_question_that_stands_by_itself_is_kept_without_a_fact(traffic: Any, tables: DeploymentTables) -> None:
    """It is no case with new facts; where its facts come too, the note says both."""
    truth = traffic.lake.table(GROUND_TRUTH, "rag")
    cases = [proposed(number, conversation_hash="h") for number in range(2)]
    truth.append(GROUND_TRUTH.rows(cases))
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}, {"role": "user", "content": "Where?"}]})
    traffic.log(*(traffic.answer(str(number), request_body=body) for number in range(2)))
    wrong = [named(WRONG)] * 3
    judge: Any = Judge({"question": "Where is it?"}, {"question": "Where is he?"}, wrong[0], named((1, "")), *wrong[1:])
    made = extract_facts(tables, judge, cases, "ann", NOW)
    assert (made.cases, made.facts, made.left.total(), made.spend.calls) == (1, 1, 1, 6)
    stands = "its question was a follow-up: the judge wrote it so that it stands by itself"
    found = [(one["question"], one["conversation_hash"], one["facts"], one["note"]) for one in read_cases(truth)]
    assert sorted(found) == [
        (
            "Where is he?", None, [FACT],
            f"{stands}; 1 facts named by judge strict; 0 of its citations stood nowhere and were dropped",
        ),
        ("Where is it?", None, ["old"], stands),
    ]  # fmt: skip


def test_a_pass_asks_about_twenty_cases_and_reads_none_where_nothing_is_new(
    traffic: Any, tables: DeploymentTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the table has another version."""
    truth = traffic.lake.table(GROUND_TRUTH, "rag")
    truth.append(GROUND_TRUTH.rows([proposed(number) for number in range(21)]))
    new, judge = NewFacts(), Judge()
    assert [new.extract(tables, judge, NOW).left.total() for _ in range(3)] == [20, 1, 0]  # type: ignore[arg-type]
    read = Mock(side_effect=read_cases)
    monkeypatch.setattr("evaluator.ground_truth.extract.read_cases", read)
    new.extract(tables, judge, NOW)  # type: ignore[arg-type]
    assert read.call_count == 0
    truth.append(GROUND_TRUTH.rows([proposed(30)]))
    assert new.extract(tables, judge, NOW).left.total() == 1  # type: ignore[arg-type]
