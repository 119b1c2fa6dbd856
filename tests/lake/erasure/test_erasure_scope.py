"""Whose rows an erasure takes, and whose not."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake

NOW = datetime.now(UTC)
OPENING = "What is our policy for travel by train?"
ANSWER = "Second class, booked through the portal."


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def put(lake: Lake, *calls: dict[str, Any], deployment: str = "app") -> None:
    fixed = {"deployment": deployment, "date": NOW.date(), "requested_at": NOW, "ingested_at": NOW}
    lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows([fixed | call for call in calls]))


def call(
    event_id: str, user: str | None, chat: str | None, *said: str, answer: str = "It depends.", **columns: Any
) -> dict[str, Any]:
    """A call whose body holds what was said; hashes as the collector makes them, of what was said before."""
    body = json.dumps({"messages": [{"content": text} for text in said]})
    return {
        "event_id": event_id,
        "user_id": user,
        "chat_id": chat,
        "question": said[-1],
        "answer": answer,
        "request_body": body,
        "history_hash": "|".join(said),
        "parent_history_hash": "|".join(said[:-2]) or None,
    } | columns


def left(lake: Lake, **subject: str) -> list[str]:
    """Erase and give the ids of the calls that are left."""
    erase(lake, Subject(**subject), NOW)
    return sorted(
        event_id
        for deployment in lake.deployments()
        for event_id in lake.table(PARSED_LOGS, deployment).read(["event_id"])["event_id"].to_pylist()
    )


@pytest.mark.parametrize("user", ["bob", None], ids=["a named one", "one without a name"])
@pytest.mark.parametrize("opening", ["hi", OPENING], ids=["short", "long"])
def test_a_stranger_who_opened_with_the_same_words_stays(lake: Lake, opening: str, user: str | None) -> None:
    """Two who begin with the same question, in chats of their own, have nothing to do with each other."""
    put(lake, call("a1", "alice", "chat-alice", opening, answer=ANSWER))
    put(lake, call("b1", user, "chat-b", opening, answer="Hello there, how are you?"))
    put(lake, call("b2", user, "chat-b", opening, "Hello there, how are you?", "I am well, who is the boss?"))
    assert left(lake, user="alice") == ["b1", "b2"]


def test_a_call_that_continues_without_a_name_goes(lake: Lake) -> None:
    """Calls without a name that follow the person's call and repeat its answer go, from a chat of their own too, with
    what they called; the other calls of that chat stay."""
    put(lake, call("a1", "alice", "chat-alice", OPENING, answer=ANSWER))
    put(lake, call("n1", None, "copy", OPENING, ANSWER, "Any?", answer="Any that goes.", trace_id="t"))
    put(lake, call("n2", None, "copy", OPENING, ANSWER, "Any?", "Any that goes.", "Thanks"))
    put(lake, call("n3", None, None, "Title, please", trace_id="t"), deployment="model")
    put(lake, call("n4", None, "copy", "Something else"))
    assert left(lake, user="alice") == ["n4"]


def test_a_chat_that_others_have_too(lake: Lake) -> None:
    """In a chat of several people the others' calls go where they repeat the person's words, with their own calls;
    nothing leads from there to their other calls."""
    put(lake, call("a1", "alice", "shared", OPENING, answer=ANSWER))
    put(lake, call("b1", "bob", "shared", OPENING, ANSWER, "And for bob, who flies to Rome?", trace_id="t"))
    put(lake, call("b2", None, None, "Rewrite: and for bob", trace_id="t"), deployment="model")
    put(lake, call("b3", "bob", None, f"Rewrite: {OPENING}", trace_id="t"), deployment="model")
    put(lake, call("b4", "bob", "chat-b", "And for bob, who flies to Rome?"))
    put(lake, call("b5", "bob", "shared", "And for bob, who flies to Rome?"))
    assert left(lake, user="alice") == ["b4", "b5"]


def test_short_ids_and_short_texts_lead_nowhere(lake: Lake) -> None:
    """A chat "1" and a question "hi" stand in everybody's lines: what is in them is no sign of the same person."""
    rows = [("alice", "1", "hi"), ("bob", "1", "What is this?"), ("carol", "1", "Which while"), ("dave", "d", "hi 1")]
    put(lake, *(call(user, user, chat, question) for user, chat, question in rows))
    lake.table(REJECTED).append(REJECTED.rows([{"raw": b'{"n": 1, "of": "1", "hi', "date": NOW.date()}]))
    assert left(lake, user="alice") == ["bob", "carol", "dave"]
    assert lake.table(REJECTED).read().num_rows == 1


def test_lines_that_could_not_be_read(lake: Lake) -> None:
    """A line goes if it holds an id of the person as a word, or a text; not if the id is a part of a longer one."""
    put(lake, call("a1", "alice@example.com", "chat-12345", OPENING))
    lines = ['{"id":"chat-12345', '{"id":"chat-123456', '"alice@example.com"', '"malice@example.com"', f'"{OPENING}']
    lake.table(REJECTED).append(REJECTED.rows([{"raw": line.encode(), "date": NOW.date()} for line in lines]))
    assert left(lake, user="alice@example.com") == []
    assert lake.table(REJECTED).read(["raw"])["raw"].to_pylist() == [lines[1].encode(), lines[3].encode()]


@pytest.mark.parametrize(
    "line",
    [
        rb'{"body":"{\"messages\":[{\"content\":\"Is 24\\\/7 support of \\u00DCberlingen open \\uD83D\\ude00?\"}]}", ',
        rb'{"message":"{\"body\":\"data: \\\"Is 24\\\\\\\/7 support of \\\\u00DCberlingen open \\\\ud83d\\\\uDE00?',
        rb'{"chat":{"id":"conversations\/b-1\/\u00DCber"}',
        rb'{"chat":{"id":"conversations%2fb-1%2F%C3%9Cber"}',
    ],
    ids=["as Core writes a text", "in an envelope", "an id with slashes", "an id in percents"],
)
def test_escapes_hide_nothing_in_lines_that_could_not_be_read(lake: Lake, line: bytes) -> None:
    """A line goes however its writer escaped the person's text or id: `\\/` as Core does, codes in any case, twice."""
    put(lake, call("a1", "alice", "conversations/b-1/Über", "Is 24/7 support of Überlingen open 😀?"))
    others = rb'{"body":"Is 24\/7 support of \u00DCberlingen shut?", "id": "conversations\/b-1\/\u00DCbergang"}'
    lake.table(REJECTED).append(REJECTED.rows([{"raw": raw, "date": NOW.date()} for raw in (line, others)]))
    assert left(lake, user="alice") == []
    assert lake.table(REJECTED).read(["raw"])["raw"].to_pylist() == [others]


def test_a_chat_goes_with_all_who_spoke_in_it(lake: Lake) -> None:
    """Of a chat all calls go, whoever made them, and copies by the same people; a stranger's same words stay."""
    put(lake, call("a1", "alice", "chat", OPENING, answer=ANSWER), call("b1", "bob", "chat", "Me too"))
    put(lake, call("a2", "alice", "copy", OPENING, ANSWER, "And by bus?"), call("a3", "alice", "copy", "Else"))
    put(lake, call("c1", "carol", "chat-c", OPENING, ANSWER, "And by bus?"), call("a4", "alice", "other", OPENING))
    assert left(lake, chat="chat") == ["a3", "a4", "c1"]


def test_an_answer_goes_with_the_later_turns_that_hold_it(lake: Lake) -> None:
    """Of an answer the later turns of that person's chat go; another person's only if they repeat its words."""
    later = {"requested_at": NOW + timedelta(minutes=1)}
    put(lake, call("a0", "alice", "chat", "Hello", requested_at=NOW - timedelta(minutes=1)))
    put(lake, call("a1", "alice", "chat", OPENING, answer=ANSWER, response_id="r1"))
    put(lake, call("a2", "alice", "chat", "And then?", **later), call("b1", "bob", "chat", "And me?", **later))
    put(lake, call("b2", "bob", "chat", OPENING, ANSWER, "And me?", **later))
    assert left(lake, response="r1") == ["a0", "b1"]


def test_a_trace_that_another_person_is_in(lake: Lake) -> None:
    """A client may give all its calls one trace: another person's own call in it stays. What an application called
    under a name of its own goes if it repeats the person's words."""
    put(lake, call("a1", "alice", "chat-alice", OPENING, trace_id="t"), call("b1", "bob", "b", OPENING, trace_id="t"))
    put(lake, call("a2", None, None, "Rewrite", trace_id="t"), deployment="model")
    put(lake, call("a3", "service", None, "Rewrite: " + OPENING, trace_id="t", is_entry=False), deployment="model")
    put(lake, call("c1", "service", None, "Rewrite: Something else", trace_id="t", is_entry=False), deployment="model")
    assert left(lake, user="alice") == ["b1", "c1"]


@pytest.mark.parametrize("day", [date.min, date.max])
def test_calls_of_the_first_and_the_last_day_of_the_calendar(lake: Lake, day: date) -> None:
    """Clocks of lines can be that wrong: there is no day before, or after it."""
    put(lake, call("of-ann", "ann", None, OPENING, date=day), call("of-bob", "bob", None, OPENING))
    assert left(lake, user="ann") == ["of-bob"]
