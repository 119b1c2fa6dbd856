"""What the chunks of newer answers say of the facts of a case."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from evaluator.ground_truth.changed_chunks import document_of, has_lost, names_chunk, names_place
from evaluator.ground_truth.changed_documents import CASE_COLUMNS, WATCHED_COLUMNS, CaseWatch, telling_ids
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.spec.schemas import PARSED_LOGS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
URL = "files/india.pdf"
FACT = "Delhi is the seat of government"
CHUNK = f"The republic has a capital. {FACT}. The city is large and old."
CHANGED = "The republic has a capital. Mumbai is the seat of parliament. The city is large and old."
ID = "india.pdf:3"


@pytest.mark.parametrize(
    ("url", "expected"),
    [("a.pdf#page=12", "a.pdf"), ("a.pdf", "a.pdf"), ("a.pdf#page=1&x", "a.pdf#page=1&x"), ("", None), (None, None)],
)
def test_the_document_of_a_chunk_is_its_address_without_the_page(url: str | None, expected: str | None) -> None:
    assert document_of(url) == expected


@pytest.mark.parametrize(
    ("chunk_id", "url", "chunk", "place"),
    [
        ("abc.pdf:1", "files/abc.pdf", True, False),
        ("ab.pdf:1", "files/ab.pdf", False, False),
        ("abc-1", "files/ABC.pdf", True, False),
        ("abc.pdf:", "files/abc.pdf", False, False),
        ("files/abc.pdf", "files/abc.pdf#page=3", False, True),
        ("files/abc.pdf#page=3", "files/abc.pdf#page=3", False, True),
        ("2.15", "files/abc.pdf", False, True),
        ("2.15a", "files/abc.pdf", False, False),
        ("2.15", None, False, False),
    ],
)
def test_an_id_names_a_chunk_a_place_or_nothing(chunk_id: str, url: str | None, chunk: bool, place: bool) -> None:
    """The stem of a file's name has three characters or more, and something stands beside it."""
    assert (names_chunk(chunk_id, url), names_place(chunk_id, url)) == (chunk, place)


@pytest.mark.parametrize(
    ("old", "new", "fact", "expected"),
    [
        ("q r f g c d", "q r x y c d", "f g", True),
        ("q r f g c d", "q r x z w", "f g", False),
        ("q r f g", "q r x y", "f g", True),
        ("q f g h", "q x y z", "f g", False),
        ("q r f g c d", "q r f x c d", "f g", True),
        ("q r f g c d", "q r x f g c d", "f g", False),
        ("q r f g c d", "q x f g c d", "f g", False),
        ("q r f g c d", "q r f g y d", "f g", False),
        ("q r f g", "q r", "f g", False),
        ("f g q r", "q r", "f g", False),
        ("q f g r", "q r", "f g", True),
        ("q r", "q x", "f", False),
        ("q f r", "q x r", "", False),
        pytest.param(f"f {'w ' * 1999}", f"x {'w ' * 1999}", "f", True, id="2,000 words"),
        pytest.param(f"f {'w ' * 2000}", f"x {'w ' * 2000}", "f", False, id="2,001 words"),
    ],
)
def test_a_fact_is_lost_where_half_of_a_chunk_is_as_it_was(old: str, new: str, fact: str, expected: bool) -> None:
    """Half of the words of the shorter one, in 2,000 at most; a fact at the end or beginning may be in another cut."""
    assert has_lost(old, new, fact) is expected


def versions(*rows: dict[str, Any]) -> pa.Table:
    case = {
        "case_id": "c", "version": 1, "status": "accepted", "question": "Where?", "documents": [URL], "facts": [FACT],
        "context": [CHUNK], "context_ids": [ID], "source_date": date(2026, 11, 10), "created_at": NOW, "status_at": NOW,
        "updated_by": "evaluator",
    }  # fmt: skip
    return GROUND_TRUTH.rows([case | row for row in rows]).select(CASE_COLUMNS)


def retrieved(*answers: tuple[date, str, str, str], question: str = "How large?") -> pa.Table:
    """Answers of days, each with the text, id and address of a chunk."""
    return PARSED_LOGS.rows(
        [
            {"date": day, "requested_at": datetime(day.year, day.month, day.day, number, tzinfo=UTC),
             "documents": [URL], "contexts": [{"text": text, "id": chunk_id, "url": url}],
             "contexts_origin": "retrieval_stage", "question": question, "message_count": 1}
            for number, (day, text, chunk_id, url) in enumerate(answers)
        ]
    ).select(WATCHED_COLUMNS)  # fmt: skip


def changes(cases: pa.Table, rows: pa.Table) -> dict[str, Any]:
    return CaseWatch(cases, telling_ids(rows)).changes(rows)


STALE = {"status": CaseStatus.STALE, "note": f"its document changed: {URL} no longer holds the fact '{FACT}'"}
MADE = {"status": "stale", "version": 2, "note": STALE["note"], "status_at": NOW}


@pytest.mark.parametrize(
    ("case", "day", "expected"),
    [
        ({}, 9, {}),
        ({}, 10, STALE),
        ({"source_date": None}, 20, {}),
        ({"source_date": None}, 21, STALE),
        ({"source_date": None, "created_at": None}, 1, STALE),
        ({"status": "proposed"}, 10, STALE),
        ({"status": "rejected"}, 10, {}),
        ({"facts": None}, 10, {}),
        ({"facts": ["Nobody said this"]}, 10, {}),
        ({"context_ids": ["india.pdf:4"]}, 10, {}),
        ({"context_ids": None}, 10, {}),
    ],
)
def test_a_case_goes_stale_by_answers_of_its_own_day_on(case: dict[str, Any], day: int, expected: Any) -> None:
    """The day of its answer, else that on which it was made; only a usable case, and a fact of such a chunk."""
    found = changes(versions(case), retrieved((date(2026, 11, day), CHANGED, ID, URL)))
    assert found == ({"c": expected} if expected else {})


@pytest.mark.parametrize(("day", "is_back"), [(19, False), (20, True), (25, True)])
def test_a_case_comes_back_by_answers_of_the_day_before_it_went_stale_on(day: int, is_back: bool) -> None:
    """By another clock that is the same day; it gets the status that it had, by the fact that made it stale alone."""
    cases = versions({"version": 1, "status": "proposed"}, {"version": 2}, MADE | {"version": 3})
    found = changes(cases, retrieved((date(2026, 11, day), CHUNK, ID, URL)))
    back = {"status": "accepted", "note": f"{URL} holds the fact '{FACT}' again"}
    assert found == ({"c": back} if is_back else {})
    other = MADE | {"version": 3, "note": "its document changed: x no longer holds the fact 'another'"}
    assert changes(versions({}, other), retrieved((date(2026, 11, day), CHUNK, ID, URL))) == {}


def test_what_a_person_decided_after_a_change_stays() -> None:
    """Unless the facts are others by then; only the evaluator says that a document changed."""
    seen = retrieved((date(2026, 11, 25), CHANGED, ID, URL))
    kept = {"version": 3, "updated_by": "ann"}
    assert changes(versions({}, MADE, kept), seen) == {}
    assert changes(versions({}, MADE | {"facts": ["x"]}, kept), seen) == {"c": STALE}
    by_person = MADE | {"updated_by": "ann"}
    assert changes(versions({}, by_person), retrieved((date(2026, 11, 25), CHUNK, ID, URL))) == {}
    assert changes(versions({}, MADE | {"note": "old"}), retrieved((date(2026, 11, 25), CHUNK, ID, URL))) == {}


def test_the_last_answer_that_shows_a_chunk_counts() -> None:
    """By its time, in whatever order they were written; a note names the first of several facts, shortened."""
    day = date(2026, 11, 21)
    first, last = (day, CHANGED, ID, URL), (day, CHUNK, ID, URL)
    assert changes(versions({}), retrieved(first, last)) == {}
    rows = retrieved(last, first)
    assert changes(versions({}), rows) == changes(versions({}), rows.take([1, 0])) == {"c": STALE}
    long = "Delhi is the seat of government " + "and of much more " * 20 + "besides"
    chunk = f"The republic has a capital. It has a port of call. {long}. The city is large and old."
    both = {"facts": ["It has a port of call", long], "context": [chunk]}
    lost = retrieved((day, chunk.replace("a port of call", "no port").replace(long, "Mumbai is"), ID, URL))
    assert changes(versions(both), lost)["c"]["note"].endswith("'It has a port of call'")
    only = changes(versions(both | {"facts": [long]}), lost)["c"]["note"]
    assert only.endswith(f"'{long[:200]} …'")


@pytest.mark.parametrize(
    ("elsewhere", "question", "is_lost"),
    [
        (("india.pdf:9", URL), "Who?", False),
        (("india.pdf:9", f"{URL}#page=4"), "Who?", False),
        (("peru.pdf:9", "files/peru.pdf"), "Who?", True),
        (("peru.pdf:9", "files/peru.pdf"), "Where?", False),
        (("peru.pdf:9", "files/peru.pdf"), " WHERE ?", False),
    ],
)
def test_a_fact_that_another_chunk_holds_is_not_lost(elsewhere: tuple[str, str], question: str, is_lost: bool) -> None:
    """One of the same document, or of an answer to the same question however it is spelled, from that day on."""
    lost = retrieved((date(2026, 11, 12), CHANGED, ID, URL))
    other = retrieved((date(2026, 11, 10), f"Now: {FACT}.", *elsewhere), question=question)
    before = retrieved((date(2026, 11, 9), f"Now: {FACT}.", *elsewhere), question=question)
    assert changes(versions({}), pa.concat_tables([lost, other])) == ({"c": STALE} if is_lost else {})
    assert changes(versions({}), pa.concat_tables([lost, before])) == {"c": STALE}
