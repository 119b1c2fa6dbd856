"""Which answer a signal is about, where clients name answers by ids that are not unique, or by none."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.queries.signals_by_answer import JOIN_COLUMNS, signals_by_answer
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def answer(name: str, minute: int, response_id: str | None = "chat", **columns: Any) -> dict[str, Any]:
    ids = [] if response_id is None else [response_id]
    asked = {"event_id": name, "response_id": response_id, "response_ids": ids, "chat_id": f"c-{name}"}
    return asked | {"user_id": f"u-{name}", "requested_at": NOON + timedelta(minutes=minute)} | columns


def like(minute: int, response_id: str | None = "chat", **columns: Any) -> dict[str, Any]:
    said = {"signal_id": f"s{minute}", "signal": "like", "origin": "explicit", "response_id": response_id}
    return said | {"signaled_at": NOON + timedelta(minutes=minute)} | columns


def liked(answers: list[dict[str, Any]], signal: dict[str, Any]) -> list[str]:
    table = PARSED_LOGS.rows(answers).select(JOIN_COLUMNS)
    found = signals_by_answer(table, USER_SIGNALS.rows([signal]))
    return [table["event_id"][number].as_py() for number in sorted(found)]


GATEWAY = [answer("a", 1), answer("b", 2), answer("c", 3)]


@pytest.mark.parametrize(
    ("signal", "about"),
    [
        (like(9, chat_id="c-b", user_id="u-b"), ["b"]),
        (like(9, chat_id="c-b"), ["b"]),
        (like(9, user_id="u-b"), ["b"]),
        (like(9, chat_id="c-b", user_id="u-c"), []),
        (like(9, chat_id="another"), []),
        (like(9), []),
        (like(0, chat_id="c-b", user_id="u-b"), []),
        (like(9, "unknown", chat_id="c-b"), []),
    ],
    ids=["both", "chat", "user", "another person", "another chat", "nobody", "before the answer", "another id"],
)  # fmt: skip
def test_of_answers_with_one_id_the_conversation_and_the_person_decide(
    signal: dict[str, Any], about: list[str]
) -> None:
    """Some gateways send "chat" as the id of every answer: a like is of one answer, or of none."""
    assert liked(GATEWAY, signal) == about


def test_of_several_in_one_conversation_the_nearest_earlier_one_is_meant() -> None:
    """Counters begin anew with each stream: the third answer of a chat has the id of the first."""
    turns = [answer(f"t{minute}", minute, chat_id="c", user_id="u") for minute in (1, 3, 5)]
    assert liked(turns, like(4, chat_id="c", user_id="u")) == ["t3"]
    assert liked(turns, like(9, chat_id="c", user_id="u")) == ["t5"]


def test_an_id_of_one_answer_names_it_whoever_says_so() -> None:
    """A renamed conversation has another id, and a shared one another person; a line that came twice is one answer."""
    unique = [answer("a", 1, "r-1"), answer("a", 1, "r-1"), answer("b", 2, "r-2")]
    assert liked(unique, like(9, "r-1", chat_id="renamed", user_id="somebody")) == ["a", "a"]
    chunks = [answer("a", 1, "last", response_ids=["first", "last"]), answer("b", 2, "r-2")]
    assert liked(chunks, like(9, "first")) == ["a"]


def test_an_answer_without_an_id_is_found_by_the_same_rule() -> None:
    """A client that was given no id can send none."""
    unnamed = [answer("a", 1, None), answer("b", 2, None), answer("c", 3, "r-3", chat_id="c-a", user_id="u-a")]
    assert liked(unnamed, like(9, None, chat_id="c-a", user_id="u-a")) == ["a"]
    assert liked(unnamed, like(9, None)) == []
    assert liked(unnamed[:1], like(9, None)) == []


@pytest.mark.parametrize(("origin", "about"), [("implicit", ["b"]), ("label", ["b"]), ("explicit", ["a"])])
def test_what_dialwatch_made_names_its_row(origin: str, about: list[str]) -> None:
    """Implicit signals and labels say which row they are about; what a client wrote beside its rating does not."""
    signal = like(9, chat_id="c-a", user_id="u-a", origin=origin, details=json.dumps({"event_id": "b"}))
    assert liked(GATEWAY, signal) == about


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xy"), st.sampled_from("pq")), max_size=8), st.data())
def test_a_signal_is_never_on_two_answers_and_never_on_another_persons(
    rows: list[tuple[int, str, str]], data: st.DataObject
) -> None:
    """Whatever ids, conversations and people: one answer at most, and where ids repeat none that is not theirs."""
    answers = [answer(str(n), minute, chat_id=chat, user_id=user) for n, (minute, chat, user) in enumerate(rows)]
    chat, user = data.draw(st.sampled_from("xy")), data.draw(st.sampled_from("pq"))
    found = liked(answers, like(3, chat_id=chat, user_id=user))
    assert len(found) <= 1
    if len(answers) > 1 and found:
        (minute, its_chat, its_user) = rows[int(found[0])]
        assert (its_chat, its_user) == (chat, user)
        assert minute == max(row[0] for row in rows if row[1:] == (chat, user) and row[0] <= 3)


def test_no_signals_and_no_answers_are_nothing() -> None:
    """Empty tables join to nothing."""
    empty = PARSED_LOGS.rows([]).select(JOIN_COLUMNS)
    assert signals_by_answer(empty, USER_SIGNALS.rows([like(1)])) == {}
    assert signals_by_answer(PARSED_LOGS.rows(GATEWAY), pa.Table.from_batches([], USER_SIGNALS.schema)) == {}
