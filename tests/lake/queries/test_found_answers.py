"""Rows of a search: what each says, their order, and which files are read for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import write_deltalake

from lake.delta_log.delta_log import live_files
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.queries.answer_filter import AnswerFilter
from lake.queries.answer_search import find_answers
from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerRating
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests.lake.queries.test_answer_search import (
    HOUR,
    REPAIRED,
    START,
    comment_details,
    found,
    log_row,
    rating_row,
    score_row,
    write,
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def test_a_row_says_what_a_list_needs(lake: Lake) -> None:
    """Texts are cut; the address is the date and event id within the deployment."""
    said = {"question": "Why? " * 100, "answer": "Short.", "model": "gpt", "chat_id": "c"}
    write(lake, [log_row("e", error="broken", duration_ms=5, price=0.5, **said)])
    (row,) = find_answers(lake, AnswerFilter("rag", START, START + HOUR)).rows
    assert (row.deployment, row.date, row.event_id, row.response_id) == ("rag", START.date(), "e", "r-e")
    assert row.question == ("Why? " * 40)[:199] + "…"
    assert (row.answer, row.error, row.http_status, row.status) == ("Short.", "broken", 200, AnswerStatus.FAILED)
    assert (row.model, row.chat_id, row.duration_ms, row.price, row.requested_at) == ("gpt", "c", 5, 0.5, START)


def test_answers_of_one_moment_have_an_order(lake: Lake) -> None:
    """By their ids, so that no page repeats or leaves out one; the reverse order is just that."""
    write(lake, [log_row(f"e{number}") for number in (2, 0, 3, 1)])
    assert found(lake, ascending=True) == ["e0", "e1", "e2", "e3"]
    assert found(lake) == found(lake, sort="f") == ["e3", "e2", "e1", "e0"]


def test_a_rating_counts_whenever_it_came(lake: Lake) -> None:
    """Weeks later, and where clocks differ on the day before."""
    write(lake, [log_row("e"), log_row("f")], [], [rating_row("r-e", "like", START - HOUR)])
    write(lake, [], [], [rating_row("r-f", "dislike", START + 1000 * HOUR)])
    assert found(lake, rating=AnswerRating.LIKED) == ["e"]
    assert found(lake, rating=AnswerRating.DISLIKED) == ["f"]


def test_missing_tables_are_empty_ones(lake: Lake) -> None:
    """Before anything was logged, scored or rated."""
    assert found(lake) == []
    write(lake, [log_row("e")])
    assert found(lake) == found(lake, rating=AnswerRating.NONE, sort="f") == ["e"]
    assert found(lake, metric="f", below=1.0) == []


@pytest.fixture
def of_an_older_version(lake: Lake) -> Lake:
    """A table of a version that did not know origin, repairs and many others, with one new row beside it."""
    names = ["event_id", "response_id", "response_ids", "date", "requested_at", "kind", "is_entry", "status", "error",
             "question", "answer"]  # fmt: skip
    rows = PARSED_LOGS.rows([log_row("old", error=REPAIRED)]).select(names)
    uri = f"{lake.root}/rag/parsed_logs"
    write_deltalake(uri, rows, partition_by=["date"])
    return lake


def test_tables_of_older_versions_are_read(of_an_older_version: Lake) -> None:
    """Columns that they lack are null; a note of a repair is no error."""
    assert found(of_an_older_version) == ["old"]
    write(of_an_older_version, [log_row("new", START + HOUR)])
    assert found(of_an_older_version, words="a.", status=AnswerStatus.OK) == ["new", "old"]


def test_an_erased_answer_is_found_no_more(lake: Lake) -> None:
    """Neither by its text nor by its score."""
    write(lake, [log_row("e1", chat_id="c"), log_row("e2")], [score_row("e1", "f", 0.1), score_row("e2", "f", 0.2)])
    assert found(lake, sort="f") == ["e2", "e1"]
    erase(lake, Subject(chat="c"), START + HOUR)
    assert found(lake, sort="f") == found(lake, words="a") == ["e2"]


def test_only_files_of_the_period_are_opened(lake: Lake) -> None:
    """A search reads no file of another day, nor one that ended before the period began.

    A rating of the answer's own conversation, soon after it, needs none either.
    """
    said = {"chat_id": "c", "user_id": "u"}
    for hour in (0, 1, 24, 48):
        at = START + hour * HOUR
        write(
            lake,
            [log_row(f"e{hour}", at, **said)],
            [score_row(f"e{hour}", "f", 0.5, at)],
            [rating_row(f"r-e{hour}", "like", at, **said)],
        )
    for spec in (PARSED_LOGS, SCORES):
        table = lake.table(spec, "rag")
        first, _, *later = live_files(table.snapshot())
        for file in (first, *later):
            Path(table.uri, file.path).write_bytes(b"not to be read")
    period = {"since": START + HOUR / 2, "until": START + 2 * HOUR, "page_size": 1}
    assert found(lake, **period) == found(lake, **period, sort="f", words="q", rating=AnswerRating.LIKED) == ["e1"]


def test_words_are_found_in_any_order_wherever_each_of_them_stands(lake: Lake) -> None:
    """In the question, the answer or a comment, first where one comment has all; those of `comment` stand in one."""
    said = [("r-a", "Wrong name, it is Bee"), ("r-b", "Wrong"), ("r-b", "a name")]
    ratings = [
        rating_row(about, "dislike", START + number * HOUR, details=comment_details(text), user_id=text)
        for number, (about, text) in enumerate(said)
    ]
    write(lake, [log_row("a"), log_row("b"), log_row("c", question="Whose name is WRONG?")], signals=ratings)
    assert found(lake, words="name wrong") == ["a", "c", "b"]
    assert found(lake, comment="name wrong") == ["a"]
    assert found(lake, words="q? a. bee") == found(lake, words="q?", comment="bee") == ["a"]
    assert found(lake, words="wrong", comment="NAME") == ["b", "a"]
    assert found(lake, words="missing") == []


def test_where_no_answer_has_all_words_those_with_the_most_are_found(lake: Lake) -> None:
    """At least half of them; short words such as "in" do not count. The page says how many they have."""
    asked = {"a": "The mansion of Atlanta", "b": "A mansion in Rome", "c": "Rain"}
    write(lake, [log_row(name, question=text, answer="") for name, text in asked.items()])
    period = {"since": START - HOUR, "until": START + 9 * HOUR}

    def searched(words: str) -> tuple[int, list[str], int]:
        page = find_answers(lake, AnswerFilter("rag", words=words, **period))
        return page.total, [row.event_id for row in page.rows], page.words

    assert searched("mansion in Atlanta") == (1, ["a"], 2)
    assert searched("A “mansion”, (in Atlanta).") == (1, ["a"], 2)
    assert searched("the mansion Atlanta wrong name") == (1, ["a"], 3)
    assert searched("mansion wrong") == (2, ["b", "a"], 1)
    assert searched("mansion wrong name") == (0, [], 0)
    assert searched("in") == (2, ["c", "b"], 1)
