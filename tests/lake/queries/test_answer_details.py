"""One answer with all that belongs to it, and the lookup of a response id."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.queries.answer_calls import MOST_CALLS, answer_calls
from lake.queries.answer_details import AnswerDetails, read_answer
from lake.queries.answer_lookup import locate_response
from lake.queries.failures import AnswerStatus
from lake.queries.frames import answers_frame
from lake.queries.ratings import AnswerRating
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def log_row(event_id: str, minute: float = 0, **columns: Any) -> dict[str, Any]:
    at = START + minute * MINUTE
    seen = {"kind": "chat_completion", "is_entry": True, "status": 200, "question": f"Q-{event_id}", "answer": "A."}
    ids = {"event_id": event_id, "response_id": f"r-{event_id}", "response_ids": [f"r-{event_id}", f"x-{event_id}"]}
    return ids | seen | {"date": at.date(), "requested_at": at, "ingested_at": at, "contexts_origin": "none"} | columns


def call_row(event_id: str, minute: float, caller: str | None = None, **columns: Any) -> dict[str, Any]:
    """A call of trace `t` whose span is its event id."""
    span = {"trace_id": "t", "span_id": event_id, "parent_span_id": caller, "is_entry": caller is None}
    return log_row(event_id, minute, **span | columns)


def log(lake: Lake, *rows: dict[str, Any], deployment: str = "rag") -> None:
    lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows(rows))


def read(lake: Lake, event_id: str = "e", *callees: str) -> AnswerDetails:
    details = read_answer(lake, "rag", START.date(), event_id, callees)
    assert details is not None
    return details


def test_an_answer_has_every_column_of_its_row(lake: Lake) -> None:
    """And the texts, status and rating that a list has; without other tables these are empty."""
    log(lake, log_row("e", request_body="{}", assembled_response="{}"), log_row("other"))
    details = read(lake)
    assert set(details.row) == set(PARSED_LOGS.schema.names)
    assert (details.row["question"], details.row["request_body"], details.row["deployment"]) == ("Q-e", "{}", "rag")
    assert (details.status, details.rating) == (AnswerStatus.OK, AnswerRating.NONE)
    assert (details.contexts, details.before, details.scores, details.signals, details.calls) == ((),) * 5


@pytest.mark.parametrize("at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_an_answer_of_the_first_or_last_day_there_is_can_be_read(lake: Lake, at: datetime) -> None:
    """A line may say any time."""
    ids = {"trace_id": "t", "span_id": "s", "chat_id": "c", "response_id": None, "response_ids": []}
    log(lake, log_row("e", requested_at=at, date=at.date(), **ids))
    row = {
        "signal_id": "s",
        "response_id": "e",
        "signal": "like",
        "origin": "explicit",
        "value": 1.0,
        "confidence": 1.0,
    }
    signal = row | {"deployment": "rag", "date": at.date(), "signaled_at": at}
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([signal]))
    details = read_answer(lake, "rag", at.date(), "e")
    assert details is not None
    assert (details.row["question"], len(details.signals)) == ("Q-e", 1)


def test_there_is_no_answer_at_a_wrong_address(lake: Lake) -> None:
    """Of a deployment without a table, another day, an id that is not there, and one that was erased."""
    assert read_answer(lake, "rag", START.date(), "e") is None
    log(lake, log_row("e", chat_id="c"), log_row("other"))
    assert read_answer(lake, "rag", START.date() - timedelta(days=1), "e") is None
    assert read_answer(lake, "rag", START.date(), "f") is None
    assert read_answer(lake, "rag", START.date(), "e") is not None
    erase(lake, Subject(chat="c"), START)
    assert read_answer(lake, "rag", START.date(), "e") is None
    assert locate_response(lake, "r-e", ["rag"]) == []


def test_of_two_rows_of_one_line_the_first_written_is_shown(lake: Lake) -> None:
    """A line that comes again after long becomes a row again."""
    log(lake, log_row("e", ingested_at=START + 9 * MINUTE, model="second"), log_row("e", model="first"))
    assert read(lake).row["model"] == "first"


def test_the_conversation_before_is_what_people_asked_earlier_in_the_same_chat(lake: Lake) -> None:
    """The oldest first, across midnight, at most the last 20; no other chats, no calls between applications."""
    earlier = [log_row(f"b{n:02}", -60 * n, chat_id="c") for n in range(1, 25)]
    others = [log_row("later", 1, chat_id="c"), log_row("chat", -1, chat_id="d"), log_row("none", -1)]
    inner = [log_row("model", -2, chat_id="c", is_entry=False), log_row("test", -2, chat_id="c", origin="test")]
    log(lake, *earlier, *others, *inner, earlier[0], log_row("e", chat_id="c"))
    turns = read(lake).before
    assert [turn.event_id for turn in turns] == [f"b{n:02}" for n in range(20, 0, -1)]
    assert (turns[0].date, turns[0].requested_at) == (date(2026, 11, 19), START - 20 * 60 * MINUTE)
    assert (turns[-1].question, turns[-1].answer) == ("Q-b01", "A.")
    assert read(lake, "none").before == ()


def test_contexts_are_in_rank_order_with_their_documents(lake: Lake) -> None:
    """A chunk without text keeps its rank."""
    chunks = [{"text": "one", "title": "a.pdf", "url": "u", "page": 3, "id": "i"}, {"text": None}, None]
    log(lake, log_row("e", contexts=chunks, contexts_origin="retrieval_stage"))
    one, two, three = read(lake).contexts
    assert (one.rank, one.text, one.title, one.url, one.page, one.id) == (1, "one", "a.pdf", "u", 3, "i")
    assert [(two.rank, two.text), (three.rank, three.text)] == [(2, ""), (3, "")]


def logged_late(lake: Lake, case: str) -> None:
    """An answer whose contexts only the call of its model has."""
    known = {"requested_at": START, "duration_ms": 60_000, "execution_path": ["rag"]}
    log(lake, call_row("e", 0, **known, contexts=[{"text": "cited"}], contexts_origin="cited"))
    model = {"parent_deployment": "rag", "contexts": [{"text": "seen"}], "contexts_origin": "prompt", "duration_ms": 1}
    if case == "behind an interceptor":
        log(lake, call_row("m", 0.5, "hop", execution_path=["rag", "guard", "gpt"], **model), deployment="gpt")
    else:
        log(lake, call_row("m", 0.5, "e", execution_path=["rag", "gpt"], **model), deployment="gpt")
    if case == "the last counts":
        log(lake, call_row("n", 0.7, "e", **model | {"contexts": [{"text": "later"}]}), deployment="gpt")


@pytest.mark.parametrize("case", ["of its child", "behind an interceptor", "the last counts"])
def test_late_contexts_are_those_that_are_scored(lake: Lake, case: str) -> None:
    """The same that `answers_frame` and the evaluator join, if the deployment of the call is looked into."""
    logged_late(lake, case)
    (scored,) = answers_frame(lake, "rag")["context"]
    details = read(lake, "e", "gpt", "not-there")
    assert [context.text for context in details.contexts] == scored
    assert scored != ["cited"]
    assert (details.contexts_origin, details.row["contexts_origin"]) == ("child_call", "child_call")
    assert [context.text for context in read(lake).contexts] == ["cited"]


def test_scores_are_all_of_the_answer_the_latest_of_each_metric_first(lake: Lake) -> None:
    """With value or reason, judge, details and range; one that was replaced says so."""
    log(lake, log_row("e"))
    same = {"event_id": "e", "date": START.date(), "requested_at": START, "judge": "lexical"}
    rows = [
        {"score_id": "1", "metric": "f", "metric_version": "1", "reason": "judge_budget", "scored_at": START},
        {"score_id": "2", "metric": "f", "metric_version": "1", "value": 0.5, "scored_at": START + MINUTE,
         "details": json.dumps({"claims": ["c"]}), "direction": "down", "low": 0.0, "high": 2.0, "cost": 0.1},
        {"score_id": "3", "metric": "a", "metric_version": "1", "value": 1.0, "details": "no JSON"},
        {"score_id": "4", "metric": "a", "metric_version": "1", "value": 0.0, "event_id": "other"},
    ]  # fmt: skip
    lake.table(SCORES, "rag").append(SCORES.rows([same | row for row in [*rows, rows[1]]]))
    first, second, third = read(lake).scores
    assert (first.metric, first.value, first.details, first.is_latest) == ("a", 1.0, None, True)
    assert (second.metric, second.value, second.reason, second.judge) == ("f", 0.5, None, "lexical")
    assert (second.details, second.direction, second.high, second.cost) == ({"claims": ["c"]}, "down", 2.0, 0.1)
    assert (third.value, third.reason, third.is_latest) == (None, "judge_budget", False)


def test_signals_are_joined_by_any_id_whenever_they_came(lake: Lake) -> None:
    """In the order of time, with the person's comment."""
    log(lake, log_row("e"), log_row("no-ids", response_id=None, response_ids=None))
    rows = [
        {"signal_id": "1", "response_id": "x-e", "signal": "dislike", "value": -1.0, "origin": "explicit", "day": 40,
         "details": json.dumps({"comment": "Wrong!"})},
        {"signal_id": "2", "response_id": "r-e", "signal": "regenerate", "value": -0.5, "origin": "implicit", "day": 0,
         "details": json.dumps({"comment": 5})},
        {"signal_id": "3", "response_id": "r-other", "signal": "like", "value": 1.0, "origin": "explicit", "day": 0},
        {"signal_id": "4", "response_id": None, "signal": "like", "value": 1.0, "origin": "explicit", "day": 0},
    ]  # fmt: skip
    for row in rows:
        at = START + row.pop("day") * timedelta(days=1)
        lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([row | {"date": at.date(), "signaled_at": at}]))
    details = read(lake)
    said = [(one.signal_id, one.signal, one.value, one.origin, one.comment) for one in details.signals]
    assert said == [
        ("2", "regenerate", -0.5, "implicit", None),
        ("1", "dislike", -1.0, "explicit", "Wrong!"),
    ]
    assert (details.rating, read(lake, "no-ids").signals) == (AnswerRating.DISLIKED, ())


def indented(details: AnswerDetails) -> list[str]:
    return ["  " * call.depth + call.event_id + "?" * (not call.has_known_caller) for call in details.calls]


def test_calls_are_a_tree_of_who_called_whom(lake: Lake) -> None:
    """Children stand under their caller by their time, also of one that another deployment's table holds."""
    log(lake, call_row("e", 0, price=0.5, duration_ms=9), call_row("tool", 3, "e"))
    log(lake, call_row("m2", 2, "e"), call_row("m1", 1, "e"), call_row("m3", 4, "tool"), deployment="gpt")
    log(lake, call_row("unasked", 2, "e"), deployment="hidden")
    details = read(lake, "e", "gpt", "gpt", "not-there")
    assert indented(details) == ["e", "  m1", "  m2", "  tool", "    m3"]
    assert [call.is_shown for call in details.calls] == [True, False, False, False, False]
    assert [call.deployment for call in details.calls] == ["rag", "gpt", "gpt", "rag", "gpt"]
    assert (details.calls[0].price, details.calls[0].duration_ms, details.calls[1].price) == (0.5, 9, None)
    inner = read_answer(lake, "gpt", START.date(), "m3", ["rag"])
    assert inner is not None
    assert indented(inner) == indented(details)
    assert [call.event_id for call in inner.calls if call.is_shown] == ["m3"]


def test_a_call_whose_caller_is_not_logged_stands_at_the_end(lake: Lake) -> None:
    """One behind an interceptor has a caller if only one can have made it; another question is left out."""
    known = {"duration_ms": 60_000, "execution_path": ["rag"]}
    log(lake, call_row("e", 0, **known), call_row("another", 30), call_row("its", 31, "another"))
    hop = {"parent_deployment": "rag", "duration_ms": 1}
    log(lake, call_row("lost", 0.2, "gone"), call_row("m", 0.5, "hop", execution_path=["rag", "guard", "gpt"], **hop),
        call_row("direct", 0.6, "gone", execution_path=["rag", "gpt"], **hop), deployment="gpt")  # fmt: skip
    assert indented(read(lake, "e", "gpt")) == ["e", "  m", "  lost?", "  direct?"]


def test_calls_of_other_traces_and_times_are_not_behind_the_answer(lake: Lake) -> None:
    """The same trace a day later is another one; without tracing there are no calls."""
    log(lake, call_row("e", 0), call_row("old", -90, "e"), call_row("other", 1, "e", trace_id="u"), log_row("untraced"))
    assert indented(read(lake)) == ["e"]
    assert read(lake, "untraced").calls == ()


@given(callers=st.lists(st.sampled_from(["e", "a", "b", "c", "d", None]), min_size=5, max_size=5))
def test_calls_that_call_each_other_are_listed_once(callers: list[str | None]) -> None:
    """Span ids come from clients: a call may name itself, or two each other."""
    rows = [call_row(name, 0, caller) for name, caller in zip("eabcd", callers, strict=True)]
    nulls: dict[str, Any] = dict.fromkeys(PARSED_LOGS.schema.names)
    whole = [nulls | row | {"deployment": "rag"} for row in rows]
    ids = [call.event_id for call in answer_calls(whole[0], whole)]
    assert "e" in ids
    assert len(ids) == len(set(ids))


def test_of_a_great_many_calls_the_first_are_given(lake: Lake) -> None:
    """The answer says how many were left out."""
    log(lake, call_row("e", 0), *(call_row(f"m{n:04}", 1, "e") for n in range(MOST_CALLS + 5)))
    details = read(lake)
    assert len(details.calls) == MOST_CALLS
    assert details.calls[0].is_shown
    assert details.calls_left_out == 6


def test_an_id_is_found_in_several_deployments_the_latest_first(lake: Lake) -> None:
    """By any id of the answer's chunks and the event id, within the days that are asked for."""
    log(lake, log_row("e"), log_row("f"))
    log(lake, log_row("m", 1, response_id="x-e", response_ids=None, is_entry=False), deployment="gpt")
    log(lake, log_row("n", -3000, response_id="x-e"), deployment="gpt")
    found = locate_response(lake, "x-e", ["rag", "gpt", "gpt", None])
    assert [(one.deployment, one.event_id, one.is_entry) for one in found] == [
        ("gpt", "m", False), ("rag", "e", True), ("gpt", "n", True),
    ]  # fmt: skip
    assert [(one.date, one.requested_at) for one in found[1:2]] == [(START.date(), START)]
    assert locate_response(lake, "x-e", ["rag"]) == locate_response(lake, "e", ["rag"]) == found[1:2]
    assert locate_response(lake, "x-e", ["gpt"], START.date(), START.date()) == found[:1]
    assert locate_response(lake, "unknown", ["rag", "gpt"]) == []
