"""Which good answers become cases: none twice, not all of one question, and a bounded number of each day."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.answers import ANSWER_COLUMNS, answers
from evaluator.ground_truth import GroundTruthSettings
from evaluator.ground_truth.ratings import RatedAnswer
from evaluator.ground_truth.selection import MOST_PER_QUESTION, Candidate, Selection
from evaluator.models import Models
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.evaluator.models.real_encoder import real_encoder

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def evaluator_of(lake: Lake, **ground_truth: Any) -> Evaluator:
    settings = EvaluatorSettings.model_validate({"metrics": ["context_present"], "ground_truth": ground_truth})
    return Evaluator(lake, settings, clock=lambda: NOW)


def sources(traffic: Any) -> list[str]:
    """Answers of which cases were made."""
    found = (case["source_response_id"] for case in traffic.cases())
    return sorted(one.removeprefix("chatcmpl-") for one in found if one is not None)


def like(traffic: Any, *rows: dict[str, Any]) -> None:
    traffic.log(*rows)
    traffic.rate(*(traffic.signal("like", row["event_id"].removeprefix("event-"), 2000) for row in rows))


@pytest.mark.parametrize("together", [True, False])
def test_the_same_answer_to_the_same_question_is_one_case(lake: Lake, traffic: Any, together: bool) -> None:
    """Letters' case, white space and forms of Unicode make no difference; documents and conversations do."""
    said = "The seat of government is Delhi."
    rows = [
        traffic.answer("first", answer=said),
        traffic.answer("again", 1, answer=f"  {said.upper()}\n"),
        traffic.answer("other-answer", 2, answer="It is in Delhi."),
        traffic.answer("other-document", 3, answer=said, documents=["files/peru.pdf"]),
        traffic.answer("other-question", 4, answer=said, question="Where is it?"),
    ]
    for some in [rows] if together else [[row] for row in rows]:
        like(traffic, *some)
        evaluator_of(lake).run_once()
    assert sources(traffic) == ["first", "other-answer", "other-document", "other-question"]


def test_a_question_has_three_cases_at_most(lake: Lake, traffic: Any) -> None:
    like(traffic, *(traffic.answer(str(number), number, answer=f"{number} days") for number in range(5)))
    like(traffic, traffic.answer("another", 9, question="And who?"))
    evaluator_of(lake).run_once()
    assert sources(traffic) == ["0", "1", "2", "another"]


IN_OTHER_WORDS = (
    "What was Siemens' revenue in 2023?",
    "How much was Siemens' revenue in 2023?",
    "How high was the revenue of Siemens in the year 2023?",
)
ANOTHER_YEAR = "How much was Siemens' revenue in 2022?"


@pytest.mark.slow
@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("by_embedding", [True, False])
@pytest.mark.parametrize("at_once", [1, 10])
def test_a_question_in_other_words_is_the_same_one(lake: Lake, traffic: Any, by_embedding: bool, at_once: int) -> None:
    """For the limit and for the same answer, whether the other one is a case already; other numbers are another."""
    rows = [traffic.answer(str(number), number, question=IN_OTHER_WORDS[number % 2], answer=f"{number} euros")
            for number in range(4)]  # fmt: skip
    rows += [
        traffic.answer("same", 4, question=IN_OTHER_WORDS[2], documents=["b"], answer="5 euros"),
        traffic.answer("said", 5, question=IN_OTHER_WORDS[1], documents=["b"], answer="5 Euros"),
        traffic.answer("year", 6, question=ANOTHER_YEAR, answer="3 euros"),
        traffic.answer("documents", 7, question=IN_OTHER_WORDS[1], documents=["c"], answer="3 euros"),
    ]
    truth, models = GroundTruthSettings(match_by_embedding=by_embedding), Models(sentence_encoder=real_encoder())
    settings = EvaluatorSettings(metrics=("context_present",), ground_truth=truth, models=models)
    for start in range(0, len(rows), at_once):
        like(traffic, *rows[start : start + at_once])
        Evaluator(lake, settings, clock=lambda: NOW).run_once()
    both = ["0", "1", "2", "documents", "same", "year"]
    assert sources(traffic) == (both if by_embedding else sorted([*both, "3", "said"]))


def test_an_encoder_that_is_not_there_stops_nothing(lake: Lake, traffic: Any, caplog: Any) -> None:
    """It is said once."""
    truth, models = GroundTruthSettings(match_by_embedding=True), Models(sentence_encoder="nobody/has-this")
    settings = EvaluatorSettings(metrics=("context_present",), ground_truth=truth, models=models)
    evaluator = Evaluator(lake, settings, clock=lambda: NOW)
    for number, question in enumerate(IN_OTHER_WORDS):
        like(traffic, traffic.answer(str(number), number, question=question))
        evaluator.run_once()
    assert sources(traffic) == ["0", "1", "2"]
    assert caplog.text.count("questions in other words are not compared") == 1


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 12])
def test_a_day_makes_so_many_cases_and_documents_take_turns(lake: Lake, traffic: Any, at_once: int) -> None:
    """However many passes look at them: the answer's day counts, not that of its like or of the pass."""
    rows = [
        traffic.answer(f"{day}-{number}", 1440 * day + number, question=f"{day}, {number}?", documents=[document])
        for day in range(2)
        for number, document in enumerate(["a", "a", "a", "a", "a", "b"])
    ]
    for start in range(0, len(rows), at_once):
        like(traffic, *rows[start : start + at_once])
        evaluator_of(lake, most_per_day=3).run_once()
    expected = ["0", "1", "2"] if at_once == 1 else ["0", "1", "5"]
    assert sources(traffic) == [f"{day}-{number}" for day in range(2) for number in expected]


def test_none_a_day_is_none(lake: Lake, traffic: Any) -> None:
    like(traffic, traffic.answer("a"))
    assert evaluator_of(lake, most_per_day=0).run_once().cases == 0


def test_what_signals_must_come_to_can_be_set(lake: Lake, traffic: Any) -> None:
    traffic.log(traffic.answer("a"))
    traffic.rate(traffic.signal("copy", "a") | {"value": 0.5, "origin": "implicit", "confidence": 0.8})
    assert evaluator_of(lake).run_once().cases == 0
    traffic.rate(traffic.signal("copy", "a", 3) | {"value": 0.5, "origin": "implicit", "confidence": 0.8})
    assert evaluator_of(lake, least_confidence=0.4).run_once().cases == 1


def test_an_answer_whose_signals_come_to_just_enough_is_a_case(lake: Lake, traffic: Any) -> None:
    """A like has 0.9."""
    like(traffic, traffic.answer("a"))
    assert evaluator_of(lake, least_confidence=0.91).run_once().cases == 0
    assert evaluator_of(lake, least_confidence=0.9).run_once().cases == 1


@pytest.mark.parametrize(
    ("statuses", "left"),
    [(["rejected"] * 9, 3), (["stale"] * 3, 3), (["proposed", "rejected"], 2), (["accepted", "proposed"], 1)],
)
def test_only_usable_cases_take_the_places_of_a_question(
    lake: Lake, traffic: Any, statuses: list[str], left: int
) -> None:
    """Those that were rejected, or whose documents changed, leave theirs to other answers, not to the same ones."""
    case = {"question": "Where is the government?", "documents": ["files/india.pdf"], "version": 1}
    rows = [case | {"case_id": str(n), "status": status, "answer": f"{n} days"} for n, status in enumerate(statuses)]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(rows))
    like(traffic, *(traffic.answer(str(number), number, answer=f"{number} DAYS") for number in range(20)))
    assert evaluator_of(lake).run_once().cases == left
    assert sources(traffic) == sorted(str(number) for number in range(len(statuses), len(statuses) + left))


_WORDS = st.sampled_from(["a", "b", "A", "ß", "ss"])


@given(st.lists(st.tuples(_WORDS, _WORDS, _WORDS, st.floats(0.8, 1)), max_size=25), st.integers(0, 8))
def test_no_order_of_the_candidates_chooses_others(rows: list[tuple[str, str, str, float]], most: int) -> None:
    """And whatever they are, the bounds hold."""
    logged = [
        {"event_id": f"{number:02}", "requested_at": NOW, "date": NOW.date(), "kind": "chat_completion", "status": 200,
         "is_entry": True, "question": question, "answer": text, "documents": [document], "message_count": 1}
        for number, (question, text, document, _) in enumerate(rows)
    ]  # fmt: skip
    [found] = list(answers(PARSED_LOGS.rows(logged).select(ANSWER_COLUMNS))) or [[]]
    candidates = [
        Candidate(
            answer, answer.case_question, answer.text or "", RatedAnswer(answer.event_id, NOW.date(), "r", row[3])
        )
        for answer, row in zip(found, rows, strict=True)
        if answer.case_question is not None
    ]
    chosen = Selection([], most).chosen(candidates)
    assert chosen == Selection([], most).chosen(candidates[::-1])
    assert len(chosen) <= most
    for one in chosen:
        assert sum(other.about == one.about for other in chosen) <= MOST_PER_QUESTION
