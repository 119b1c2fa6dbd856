"""Cases whose documents changed: they go stale with a note, and come back; other chunks and other ids say nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.ground_truth.changed_chunks import has_lost, names_chunk
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.queries.ground_truth.case_versions import case_history, change_case
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)
URL = "files/india.pdf"
FACT = "Delhi is the seat of government"
CHUNK = "The republic has a capital. Delhi is the seat of government. The city is large and old."
CHANGED = "The republic has a capital. Mumbai is the seat of parliament. The city is large and old."
TAKEN_OUT = "The republic has a capital. The city is large and old."
ID = "india.pdf:3"


def chunk(text: str, chunk_id: str | None = ID, url: str = URL, page: int | None = None) -> dict[str, Any]:
    return {"text": text, "id": chunk_id, "url": url, "page": page}


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(metrics=("context_present",)), clock=lambda: NOW)


def newest(traffic: Any) -> dict[str, Any]:
    [case] = {row["case_id"] for row in traffic.cases()}
    found: dict[str, Any] = case_history(traffic.lake.table(GROUND_TRUTH, "rag"), case)[0]
    return found


def liked(traffic: Any, evaluator: Evaluator, *chunks: dict[str, Any]) -> None:
    traffic.log(traffic.answer("liked", contexts=list(chunks or [chunk(CHUNK)])))
    traffic.rate(traffic.signal("like", "liked"))
    assert evaluator.run_once().cases == 1
    assert newest(traffic)["facts"] == [FACT]


@pytest.mark.parametrize("status", ["proposed", "accepted"])
@pytest.mark.parametrize("changed", [CHANGED, TAKEN_OUT])
def test_a_case_whose_document_changed_is_stale_until_it_is_as_it_was(
    status: str, changed: str, lake: Lake, evaluator: Evaluator, traffic: Any
) -> None:
    """Whatever the question was that found the chunk; the note names document and fact."""
    liked(traffic, evaluator)
    if status == "accepted":
        change_case(lake, "rag", newest(traffic)["case_id"], {"status": status}, "ann", NOW)
    for number, text in enumerate([changed, changed, CHUNK, CHUNK, changed]):
        row = traffic.answer(str(number), 5 + number, question=f"{number}, how large?", contexts=[chunk(text)])
        traffic.log(row)
        evaluator.run_once()
        evaluator.run_once()
        case = newest(traffic)
        assert case["status"] == ("stale" if text == changed else status)
    assert (case["updated_by"], case["facts"]) == ("evaluator", [FACT])
    assert URL in case["note"]
    assert FACT in case["note"]
    assert case["version"] == (4 if status == "proposed" else 5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (chunk(CHUNK), chunk(CHUNK + " It has a river.")),
        (chunk(CHUNK), chunk("The city is large and old. It has a river and a wall.")),
        (chunk(CHUNK), chunk("It has a wall. The republic has a capital. Delhi is the")),
        (chunk(CHUNK), chunk("Nothing of this is the same, and it says another thing altogether.")),
        (chunk(CHUNK), chunk(CHANGED, "india.pdf:4")),
        (chunk(CHUNK, "3"), chunk(CHANGED, "3")),
        (chunk(CHUNK, "page 3"), chunk(CHANGED, "page 3")),
        (chunk(CHUNK, "india"), chunk(CHANGED, "india")),
        (chunk(CHUNK), chunk(CHANGED, url="files/peru.pdf")),
    ],
)
def test_another_chunk_or_another_cut_says_nothing(
    old: dict[str, Any], new: dict[str, Any], evaluator: Evaluator, traffic: Any
) -> None:
    """Nor does an id that other chunks have too, or the same id in another document."""
    liked(traffic, evaluator, old)
    traffic.log(traffic.answer("later", 5, contexts=[new]))
    evaluator.run_once()
    assert newest(traffic)["status"] == "proposed"


@pytest.mark.parametrize(("question", "status"), [("where is the government", "stale"), ("Who is it?", "proposed")])
@pytest.mark.parametrize("chunk_id", [None, "1.3"])
def test_a_page_tells_only_in_answers_to_the_same_question(
    question: str, status: str, chunk_id: str | None, evaluator: Evaluator, traffic: Any
) -> None:
    """It has several chunks, and they may be alike; so does a number that counts the documents of the request."""
    liked(traffic, evaluator, chunk(CHUNK, chunk_id, page=3))
    traffic.log(traffic.answer("later", 5, question=question, contexts=[chunk(CHANGED, chunk_id, page=3)]))
    evaluator.run_once()
    assert newest(traffic)["status"] == status


@pytest.mark.parametrize(
    ("question", "other", "status"),
    [
        ("Who?", chunk(f"Now: {FACT}.", "india.pdf:9"), "proposed"),
        ("Where is the government?", chunk(f"Now: {FACT}.", "p:9", "files/p.pdf"), "proposed"),
        ("Who?", chunk(f"Now: {FACT}.", "p:9", "files/p.pdf"), "stale"),
        ("Who?", chunk(CHUNK), "stale"),
    ],
)
def test_a_fact_that_stands_elsewhere_is_not_lost(
    question: str, other: dict[str, Any], status: str, evaluator: Evaluator, traffic: Any
) -> None:
    """In another chunk of its document, or of an answer to the same question; what the chunk held before is none."""
    liked(traffic, evaluator)
    traffic.log(
        traffic.answer("later", 5, question="How large?", contexts=[chunk(CHANGED)]),
        traffic.answer("other", 4, question=question, contexts=[other]),
    )
    evaluator.run_once()
    assert newest(traffic)["status"] == status


def test_what_a_person_keeps_is_not_made_stale_again(lake: Lake, evaluator: Evaluator, traffic: Any) -> None:
    """Unless its facts are others by then."""
    liked(traffic, evaluator)
    traffic.log(traffic.answer("later", 5, contexts=[chunk(CHANGED)]))
    evaluator.run_once()
    case_id = newest(traffic)["case_id"]
    change_case(lake, "rag", case_id, {"status": "accepted"}, "ann", NOW)
    traffic.log(traffic.answer("again", 6, contexts=[chunk(CHANGED)]))
    evaluator.run_once()
    assert newest(traffic)["status"] == "accepted"


def test_answers_of_before_the_case_say_nothing(evaluator: Evaluator, traffic: Any) -> None:
    liked(traffic, evaluator)
    traffic.log(traffic.answer("earlier", -1500, contexts=[chunk(CHANGED)]))
    evaluator.run_once()
    assert newest(traffic)["status"] == "proposed"


def test_imported_cases_are_watched_without_any_signal(lake: Lake, evaluator: Evaluator, traffic: Any) -> None:
    case = {
        "case_id": "c",
        "question": "?",
        "facts": [FACT],
        "context": [CHUNK],
        "context_ids": [ID],
        "answer": "Delhi",
    }
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case | {"status": "accepted"}]))
    traffic.log(traffic.answer("later", 5, contexts=[chunk(CHANGED)]))
    evaluator.run_once()
    assert newest(traffic)["status"] == "stale"


def test_a_case_that_signals_withdraw_is_not_stale_too(evaluator: Evaluator, traffic: Any) -> None:
    liked(traffic, evaluator)
    traffic.rate(traffic.signal("dislike", "liked", 4, "bob"), traffic.signal("dislike", "liked", 4, "eve"))
    traffic.log(traffic.answer("later", 5, contexts=[chunk(CHANGED)]))
    evaluator.run_once()
    assert (newest(traffic)["status"], newest(traffic)["version"]) == ("rejected", 2)


@pytest.mark.parametrize("changed_first", [True, False])
def test_signals_and_a_changed_document_at_once_give_what_signals_say(
    changed_first: bool, evaluator: Evaluator, traffic: Any
) -> None:
    """Whichever row came first: withdrawn. Once its answer is liked again, what the document says counts."""
    liked(traffic, evaluator)
    steps = [
        lambda: traffic.log(traffic.answer("later", 5, contexts=[chunk(CHANGED)])),
        lambda: traffic.rate(*(traffic.signal("dislike", "liked", 4, user) for user in ("ann", "bob"))),
    ]
    for step in steps if changed_first else steps[::-1]:
        step()
    evaluator.run_once()
    assert newest(traffic)["status"] == "rejected"
    assert "signals" in newest(traffic)["note"]
    traffic.rate(*(traffic.signal("like", "liked", 9, user) for user in ("ann", "bob")))
    evaluator.run_once()
    traffic.log(traffic.answer("latest", 6, contexts=[chunk(CHANGED)]))
    evaluator.run_once()
    assert (newest(traffic)["status"], newest(traffic)["version"]) == ("stale", 4)


def test_an_accepted_case_that_signals_doubt_and_whose_document_changed_has_both_said(
    lake: Lake, evaluator: Evaluator, traffic: Any
) -> None:
    """Two versions of one pass: the later is stale, and made of the one with the note."""
    liked(traffic, evaluator)
    change_case(lake, "rag", newest(traffic)["case_id"], {"status": "accepted"}, "ann", NOW)
    traffic.log(traffic.answer("later", 5, contexts=[chunk(CHANGED)]))
    traffic.rate(*(traffic.signal("dislike", "liked", 4, user) for user in ("ann", "bob", "eve")))
    evaluator.run_once()
    history = case_history(lake.table(GROUND_TRUTH, "rag"), newest(traffic)["case_id"])
    assert [(row["version"], row["status"]) for row in history[:2]] == [(4, "stale"), (3, "accepted")]
    assert "signals speak against" in history[1]["note"]
    assert "no longer holds" in history[0]["note"]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("Q b c. D x f. G h i.", True),
        ("Q b c. G h i.", True),
        ("Q b c. X y z.", True),
        ("Q b c.", False),
        ("G h i. J k l.", False),
        ("Z y x. Q b c. D e", False),
    ],
)
def test_a_fact_is_lost_where_something_is_in_its_place(new: str, expected: bool) -> None:
    assert has_lost("Q b c. D e f. G h i.", new, "D e f") is expected


@pytest.mark.parametrize(
    ("chunk_id", "url", "expected"),
    [
        ("india.pdf:3", "files/india.pdf", True),
        ("INDIA-p3", "https://x/files/India.pdf#page=3", True),
        ("employee handbook/7", "files/employee%20handbook.pdf", True),
        ("3", "files/3.pdf", False),
        ("12", "files/india.pdf", False),
        ("chunk-12", "files/india.pdf", False),
        ("india", "files/india.pdf", False),
        ("india.pdf", "files/india.pdf", False),
        ("india.pdf:3", None, False),
    ],
)
def test_an_id_that_names_its_document_and_a_chunk_is_one(chunk_id: str, url: str | None, expected: bool) -> None:
    assert names_chunk(chunk_id, url) is expected
