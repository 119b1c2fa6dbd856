"""Which case an answer is compared with: the same question in other spelling or other words, and what is none."""

from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.ground_truth import GroundTruthSettings
from evaluator.models import Models
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake
from tests.evaluator.models.real_encoder import real_encoder

NOW = datetime(2026, 11, 21, tzinfo=UTC)
RECALL = "answer_correctness_token_recall"
QUESTION = "What was Siemens' revenue in 2023?"


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW)


def by_embedding(lake: Lake) -> Evaluator:
    truth, models = GroundTruthSettings(match_by_embedding=True), Models(sentence_encoder=real_encoder(), device="cpu")
    return Evaluator(lake, EvaluatorSettings(metrics=(RECALL,), ground_truth=truth, models=models), clock=lambda: NOW)


def add_case(traffic: Any, **columns: Any) -> None:
    case = {"case_id": "c", "question": QUESTION, "documents": ["files/india.pdf"], "answer": "Delhi"}
    case |= {"status": "accepted", "confidence": 0.9, "extractor": "sentences/2"}
    traffic.lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case | columns]))


def matches(traffic: Any) -> dict[str, Any]:
    """The kind of match by answer."""
    rows = [row for row in traffic.scores() if row["metric"] == RECALL]
    return {row["event_id"].removeprefix("event-"): row["reference_match"] for row in rows}


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (QUESTION, "exact"),
        ("what was  siemens’ revenue in ２０２３", "normalised"),
        ("What was, Siemens' revenue in 2023 ?!", "normalised"),
        ("What was Siemens' revenue in 2022?", None),
        ("What was Siemens revenue in 2023?", "normalised"),
        ("What was not Siemens' revenue in 2023?", None),
        ("How high was Siemens' revenue in 2023?", None),
    ],
)
def test_a_question_in_other_spelling_is_that_of_the_case(
    question: str, kind: str | None, evaluator: Evaluator, traffic: Any
) -> None:
    """How the case was found stands in the row, and in the result of the pass."""
    add_case(traffic)
    traffic.log(traffic.answer("a", question=question), traffic.answer("b", question=question, documents=[]))
    result = evaluator.run_once()
    assert matches(traffic) == ({"a": kind} if kind else {})
    assert result.matched == ({kind: 1} if kind else {})
    for row in traffic.scores():
        marks = (row["reference_match"], row["reference_similarity"], row["reference_status"], row["case_version"])
        assert marks in ((kind, 1.0, "accepted", 1), (None, None, None, None))


def test_a_score_says_which_version_of_the_case_it_was_made_by(evaluator: Evaluator, lake: Lake, traffic: Any) -> None:
    """The newest at the time: an edit of the case is seen by the answers after it."""
    add_case(traffic)
    traffic.log(traffic.answer("a", question=QUESTION))
    evaluator.run_once()
    table = lake.table(GROUND_TRUTH, "rag")
    (case,) = table.read().to_pylist()
    table.append(GROUND_TRUTH.rows([case | {"version": 2, "facts": ["Delhi is the seat"]}]))
    traffic.log(traffic.answer("b", question=QUESTION))
    evaluator.run_once()
    versions = {row["event_id"]: row["case_version"] for row in traffic.scores() if row["metric"] == RECALL}
    assert sorted(versions.values()) == [1, 2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 10² Pa?", "What is 102 Pa?"),
        ("What is 1½ %?", "What is 11/2 %?"),
        ("Is -5 cold?", "Is 5 cold?"),
        ("Is 5% much?", "Is 5 much?"),
        ("What is C#?", "What is C?"),
        ("What does the US say?", "What does the us say?"),
        ("Was heißt Maße?", "Was heißt Masse?"),
        ("What is 1.5?", "What is 15?"),
        ("?", "!"),
    ],
)
def test_what_makes_another_question_is_no_spelling(one: str, other: str, evaluator: Evaluator, traffic: Any) -> None:
    add_case(traffic, question=one)
    traffic.log(traffic.answer("same", question=one), traffic.answer("other", question=other))
    evaluator.run_once()
    assert matches(traffic) == {"same": "exact"}


@pytest.mark.usefixtures("models")
def test_a_question_in_other_words_is_found_by_an_encoder(lake: Lake, traffic: Any) -> None:
    """Near-misses are not, however similar, nor is what means something in its conversation alone."""
    add_case(traffic)
    add_case(traffic, case_id="d", conversation_hash="h", question="And what was its revenue in the year 2023?")
    asked = {
        "other words": "How much was Siemens' revenue in 2023?",
        "year": "How much was Siemens' revenue in 2022?",
        "company": "How much was Bayer's revenue in 2023?",
        "negation": "How much was not Siemens' revenue in 2023?",
        "unit": "What was Siemens' revenue in 2023 in euros, not dollars?",
        "in a conversation": "And what was the revenue in the year 2023?",
    }
    follows = {"message_count": 3, "parent_history_hash": "p", "prefix_hash": "h"}
    traffic.log(
        *(traffic.answer(name, question=text) | (follows if "conv" in name else {}) for name, text in asked.items())
    )
    assert by_embedding(lake).run_once().matched == {"embedding": 1}
    assert matches(traffic) == {"other words": "embedding"}
    [row] = [row for row in traffic.scores() if row["metric"] == RECALL]
    assert 0.95 <= row["reference_similarity"] < 1


def test_without_an_encoder_the_same_questions_are_still_found(lake: Lake, traffic: Any, caplog: Any) -> None:
    truth, models = GroundTruthSettings(match_by_embedding=True), Models(sentence_encoder="nobody/has-this")
    add_case(traffic)
    traffic.log(traffic.answer("a", question=QUESTION), traffic.answer("b", question="How much was it?"))
    settings = EvaluatorSettings(metrics=(RECALL,), ground_truth=truth, models=models)
    assert Evaluator(lake, settings, clock=lambda: NOW).run_once().matched == {"exact": 1}
    assert "questions in other words are not compared with cases" in caplog.text


@pytest.mark.parametrize("use_proposed", [True, False])
def test_proposed_cases_score_nothing_where_they_are_switched_off(use_proposed: bool, lake: Lake, traffic: Any) -> None:
    add_case(traffic, status="proposed")
    traffic.log(traffic.answer("a", question=QUESTION))
    settings = EvaluatorSettings(metrics=(RECALL,), ground_truth=GroundTruthSettings(use_proposed=use_proposed))
    Evaluator(lake, settings, clock=lambda: NOW).run_once()
    assert [row["reference_status"] for row in traffic.scores()] == (["proposed"] if use_proposed else [])


def test_the_part_that_failed_stands_beside_the_score(lake: Lake, traffic: Any) -> None:
    """In a column, and in the rows of that metric alone."""
    add_case(traffic, facts=["Delhi is the seat"], answer="Delhi is the seat of government")
    missed, found = [{"text": "Mumbai is large", "rank": 0}], [{"text": "Delhi is the seat of all", "rank": 0}]
    answers = {"missed": ("Mumbai is large", missed), "wrong": ("Mumbai", found), "right": ("Delhi is the seat", found)}
    traffic.log(
        *(
            traffic.answer(name, question=QUESTION, answer=answer, contexts=contexts)
            for name, (answer, contexts) in answers.items()
        )
    )
    Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW).run_once()
    rows = {(row["event_id"], row["metric"]): row for row in traffic.scores()}
    failed = {event: row["failed_part"] for (event, metric), row in rows.items() if metric == "case_passed"}
    assert failed == {"event-missed": "retrieval", "event-wrong": "generation", "event-right": None}
    assert "failed_part" not in rows["event-missed", "case_passed"]["details"]
    assert not any(row["failed_part"] for (_, metric), row in rows.items() if metric != "case_passed")


IDS = ("map", "ndcg", "id_recall", "context_correctness")


def test_ids_of_chunks_are_compared_with_those_of_the_case(lake: Lake, traffic: Any) -> None:
    """A chunk's own id counts, else its url and page; a case that knows no ids says so."""
    chunks = [
        {"text": "Mumbai is a port.", "id": "port"},
        {"text": "Delhi is the seat of government.", "url": "files/india.pdf", "page": 7},
        {"text": "No id."},
    ]
    add_case(traffic, context_ids=["files/india.pdf#page=7", None])
    add_case(traffic, case_id="old", question="Another?")
    traffic.log(
        traffic.answer("a", question=QUESTION, contexts=chunks),
        traffic.answer("old", question="Another?", contexts=chunks),
        traffic.answer("no ids", question=QUESTION),
    )
    Evaluator(lake, EvaluatorSettings(metrics=IDS), clock=lambda: NOW).run_once()
    old = {"old": "no_ground_truth", "no ids": "no_contexts"}
    assert traffic.values("id_recall") == {"a": 1.0} | old
    assert traffic.values("context_correctness") == traffic.values("map") == {"a": 0.5} | old
    assert traffic.values("ndcg")["a"] == pytest.approx(0.6309, abs=1e-4)


def test_a_case_gets_the_ids_of_its_chunks(evaluator: Evaluator, traffic: Any) -> None:
    text = "Delhi is the seat of government. It is large."
    chunks = [{"text": "Mumbai is a port.", "id": "port"}, {"text": text, "url": "a.pdf", "page": 2}]
    traffic.log(traffic.answer("a", contexts=chunks))
    traffic.rate(traffic.signal("like", "a"))
    evaluator.run_once()
    assert [(case["context"], case["context_ids"]) for case in traffic.cases()] == [([text], ["a.pdf#page=2"])]
