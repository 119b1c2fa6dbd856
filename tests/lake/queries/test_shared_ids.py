"""Ratings of answers whose ids other answers have too, in the list of answers and on the page of one."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lake.queries.answer_details import read_answer
from lake.queries.answer_filter import AnswerFilter
from lake.queries.answer_search import find_answers
from lake.queries.ratings import AnswerRating
from lake.queries.signals_by_answer import (
    JOIN_COLUMNS,
    SignalJoin,
    UnjoinedReason,
    count_unjoined,
    read_signaled,
    signals_by_answer,
)
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake

START = datetime(2026, 11, 10, tzinfo=UTC)
DAY = timedelta(days=1)


def answer(name: str, days: float, response_id: str | None, **columns: Any) -> dict[str, Any]:
    at = START + days * DAY
    ids = {"event_id": name, "response_id": response_id, "response_ids": [response_id] if response_id else []}
    seen = {"kind": "chat_completion", "is_entry": True, "status": 200, "question": "Q?", "answer": "A."}
    of = {"chat_id": f"c-{name}", "user_id": f"u-{name}"}
    return ids | seen | of | {"date": at.date(), "requested_at": at, "ingested_at": at} | columns


def like(days: float, response_id: str | None, **columns: Any) -> dict[str, Any]:
    at = START + days * DAY
    said = {"signal_id": f"s{days}", "signal": "like", "origin": "explicit", "response_id": response_id}
    return said | {"date": at.date(), "signaled_at": at} | columns


def written(root: str, answers: list[dict[str, Any]], signals: list[dict[str, Any]]) -> Lake:
    lake = Lake(root)
    for spec, rows in ((PARSED_LOGS, answers), (USER_SIGNALS, signals)):
        if rows:
            lake.table(spec, "rag").append(spec.rows(rows))
    return lake


def listed(lake: Lake, answers: list[dict[str, Any]]) -> set[str]:
    """The liked answers, by a list of each answer's own minute: it holds no other answer."""
    found = set()
    for one in answers:
        period = {"since": one["requested_at"], "until": one["requested_at"] + timedelta(minutes=1)}
        rows = find_answers(lake, AnswerFilter(deployment="rag", **period)).rows
        found |= {row.event_id for row in rows if row.rating == AnswerRating.LIKED}
    return found


def shown(lake: Lake, answers: list[dict[str, Any]]) -> set[str]:
    pages = [read_answer(lake, "rag", one["date"], one["event_id"]) for one in answers]
    return {page.row["event_id"] for page in pages if page is not None and page.signals}


REPEATED = [answer("a", 0.2, "1"), answer("b", 20.2, "1")]
LATER_TURN = [answer(name, days, "1", chat_id="c", user_id="u") for name, days in (("a", 0.9), ("b", 1.1))]
NO_ID = [answer(name, days, None, chat_id="c", user_id="u") for name, days in (("a", 0.9), ("b", 1.1))]


@pytest.mark.parametrize(
    ("answers", "signal", "about"),
    [
        (REPEATED, like(20.3, "1", chat_id="c-b", user_id="u-b"), {"b"}),
        (REPEATED, like(20.3, "1", chat_id="c-a", user_id="u-a"), {"a"}),
        (REPEATED, like(20.3, "1"), set()),
        (LATER_TURN, like(1.2, "1", chat_id="c", user_id="u"), {"b"}),
        (LATER_TURN, like(1.0, "1", chat_id="c", user_id="u"), {"a"}),
        (NO_ID, like(1.2, None, chat_id="c", user_id="u"), {"b"}),
        (REPEATED[:1], like(40, "1", chat_id="renamed", user_id="u"), {"a"}),
        (REPEATED[1:], like(20.1, "1"), {"b"}),
    ],
    ids=["weeks apart", "late", "nobody", "after midnight", "before the next", "no id", "unique", "unique, before it"],
)  # fmt: skip
def test_a_like_is_on_one_answer_whatever_period_is_read(
    tmp_path: Any, answers: list[dict[str, Any]], signal: dict[str, Any], about: set[str]
) -> None:
    """An id may come again weeks later: a list of one minute and the page of one answer know of it."""
    lake = written(str(tmp_path), answers, [signal])
    assert listed(lake, answers) == about
    assert shown(lake, answers) == about


ANSWERS = st.tuples(st.integers(0, 40), st.sampled_from(["1", "2", None]), st.sampled_from("cd"), st.sampled_from("uv"))
LIKES = st.tuples(st.integers(0, 45), st.sampled_from(["1", "2", None]), st.sampled_from(["c", "d", None]),
                  st.sampled_from(["u", "v", None]))  # fmt: skip


@pytest.mark.slow
@given(st.lists(ANSWERS, min_size=1, max_size=5, unique_by=lambda one: one[0]), LIKES, st.randoms())
def test_list_page_and_join_of_the_whole_log_agree(rows: list[Any], said: Any, random: Any) -> None:
    """Whatever ids, conversations, people, days and order: what decides is the whole log, and one answer at most."""
    answers = [
        answer(str(number), days / 2 + 0.1, response_id, chat_id=chat, user_id=user)
        for number, (days, response_id, chat, user) in enumerate(rows)
    ]
    random.shuffle(answers)
    signal = like(said[0] / 2 + 0.2, said[1], chat_id=said[2], user_id=said[3])
    table = PARSED_LOGS.rows(answers).select(JOIN_COLUMNS)
    joined = {answers[number]["event_id"] for number in signals_by_answer(table, USER_SIGNALS.rows([signal]))}
    assert len(joined) <= 1
    with tempfile.TemporaryDirectory() as root:
        lake = written(root, answers, [signal])
        # Signals of more than a day before an answer are not looked for.
        near = {one["event_id"] for one in answers if signal["date"] >= one["date"] - DAY}
        assert listed(lake, answers) == joined & near
        assert shown(lake, answers) == joined & near


@pytest.mark.slow
@given(st.lists(ANSWERS, min_size=1, max_size=8, unique_by=lambda one: one[0]), st.lists(LIKES, min_size=1, max_size=4))
@example(
    [(3, None, "c", "u"), (0, "2", "c", "u"), (1, "2", "c", "v"), (2, "2", "c", "u")],
    [(16, "1", "c", "u"), (16, "2", "c", "v")],
)
def test_the_answers_that_decide_give_the_join_of_the_whole_log(rows: list[Any], said: list[Any]) -> None:
    """However far away its namesakes are, each signal is joined, or not with a reason, as by all answers."""
    answers = [
        answer(str(number), days / 2 + 0.1, response_id, chat_id=chat, user_id=user)
        for number, (days, response_id, chat, user) in enumerate(rows)
    ]
    signals = USER_SIGNALS.rows(
        [like(days / 2 + 0.2, name, chat_id=chat, user_id=user) for days, name, chat, user in said]
    )
    some = signals.to_pylist()
    whole = SignalJoin(PARSED_LOGS.rows(answers), some)
    with tempfile.TemporaryDirectory() as root:
        lake = written(root, answers, some)
        few = SignalJoin(read_signaled(lake.table(PARSED_LOGS, "rag"), signals), some)
        assert [few.answer_of(one) for one in some] == [whole.answer_of(one) for one in some]
        assert [few.unjoined(one) for one in some] == [whole.unjoined(one) for one in some]
        reasons = [reason for one in some if (reason := whole.unjoined(one)) is not None]
        counted = count_unjoined(lake, "rag", START.date())
        assert (sorted(counted[0].elements()), counted[1]) == (sorted(reasons), len(some))


GATEWAY = [answer(name, 30 + place / 100, "chat") for place, name in enumerate("abcdef")]


def test_unjoined_signals_are_counted_by_reason(tmp_path: Any) -> None:
    """Six people's answers have the id "chat"; what is unreadable, a label, or said before the day is not counted."""
    said = [
        like(30.5, "chat", chat_id="c-b", user_id="u-b"),
        like(30.6, "chat"),
        like(30.61, "chat", chat_id="another", user_id="another"),
        like(30.62, "unknown"),
        like(30.63, None, chat_id="c-b", user_id="u-b"),
        like(30.64, None) | {"signal": "unreadable"},
        like(30.65, "gone") | {"origin": "label", "signal": "wrong"},
        like(2, "chat"),
    ]
    lake = written(str(tmp_path), [*GATEWAY, answer("failed", 30.1, None, status=502, chat_id="c-b")], said)
    counts, of_all = count_unjoined(lake, "rag", (START + 20 * DAY).date())
    assert of_all == 5
    assert counts == {UnjoinedReason.SHARED_ID: 2, UnjoinedReason.UNKNOWN_ID: 1, UnjoinedReason.NO_ID: 1}
    assert count_unjoined(lake, "nothing", START.date()) == ({}, 0)


def test_of_one_word_for_all_answers_two_others_are_read(tmp_path: Any) -> None:
    """A gateway's word may be the id of millions of answers: those that nobody can mean stay in the lake."""
    label = like(30.6, "chat") | {"origin": "label", "details": json.dumps({"event_id": "c"})}
    said = USER_SIGNALS.rows([like(30.5, "chat", chat_id="c-d", user_id="u-d"), label])
    lake = written(str(tmp_path), GATEWAY, said.to_pylist())
    found = read_signaled(lake.table(PARSED_LOGS, "rag"), said)["event_id"].to_pylist()
    assert set(found) == {"a", "c", "d", "f"}


def test_a_failed_call_without_an_id_has_no_signal_of_the_conversation(tmp_path: Any) -> None:
    """Of a failed call a person saw no answer: the like is of the one before, on the page and in the list."""
    seen = answer("a", 1.1, None, chat_id="c", user_id="u")
    failed = answer("b", 1.2, None, chat_id="c", user_id="u", status=502, answer=None)
    lake = written(str(tmp_path), [seen, failed], [like(1.3, None, chat_id="c", user_id="u")])
    assert listed(lake, [seen, failed]) == {"a"}
    assert shown(lake, [seen, failed]) == {"a"}
