import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.request.history import HistoryHashes
from collector.parsing.request.request import read_request

TEXTS = st.text(min_size=1, max_size=8)
QUESTIONS = st.tuples(TEXTS, st.sampled_from([None, "files/b/1.pdf", "files/b/2.pdf"]))
TURNS = st.lists(st.tuples(QUESTIONS, TEXTS), min_size=1, max_size=4)
SYSTEM = st.none() | TEXTS


def asked(question: tuple[str, str | None]) -> dict[str, Any]:
    text, url = question
    message: dict[str, Any] = {"role": "user", "content": text}
    return message | ({"custom_content": {"attachments": [{"url": url}]}} if url else {})


def chat(system: str | None, turns: list[tuple[tuple[str, str | None], str]], state: str = "s") -> list[dict[str, Any]]:
    """Messages as DIAL Chat sends them back: an answer comes with its state only."""
    messages: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
    for question, answer in turns:
        reply = {"role": "assistant", "content": answer, "custom_content": {"state": {"version": state}}}
        messages += [asked(question), reply]
    return messages


def history(messages: list[dict[str, Any]]) -> HistoryHashes:
    return read_request(json.dumps({"messages": messages})).history


@given(SYSTEM, TURNS, QUESTIONS)
def test_the_next_turn_names_the_one_before(system: str | None, turns: Any, question: Any) -> None:
    """Log format 5: parent_history_hash of a turn is the history_hash of the turn whose answer it follows."""
    before = history(chat(system, turns)[:-1])
    after = history([*chat(system, turns), asked(question)])
    assert after.parent_history_hash == before.history_hash
    assert after.history_hash not in (None, before.history_hash)


@given(SYSTEM, TURNS, QUESTIONS)
def test_a_regenerated_turn_has_the_same_hashes(system: str | None, turns: Any, question: Any) -> None:
    """Log format 5: the identical history sent again has equal hashes, whatever state the answers carry."""
    first = history([*chat(system, turns), asked(question)])
    assert history([*chat(system, turns, state="other"), asked(question)]) == first


@given(SYSTEM, TURNS, QUESTIONS, QUESTIONS)
def test_an_edited_turn_has_the_same_prefix(system: str | None, turns: Any, question: Any, edited: Any) -> None:
    """Log format 5: an edited question has an equal prefix_hash and another history_hash."""
    first, second = (history([*chat(system, turns), asked(one)]) for one in (question, edited))
    assert first.prefix_hash == second.prefix_hash is not None
    if question[0] != edited[0]:
        assert first.history_hash != second.history_hash


def test_a_first_question_follows_nothing() -> None:
    """Log format 5: parent_history_hash is null where no answer stands before the question."""
    assert history([*chat("be brief", []), asked(("Why?", None))]).parent_history_hash is None
    assert history([]) == HistoryHashes()


def test_a_greeting_of_the_assistant_has_nothing_before_it() -> None:
    """An answer that nothing was asked for has the hash of no messages, which no request has."""
    greeted = history([{"role": "assistant", "content": "Hello"}, asked(("Why?", None))])
    assert greeted.parent_history_hash not in (None, greeted.prefix_hash, greeted.history_hash)


@pytest.mark.parametrize("named", [{"previous_response_id": "resp_1"}, {"conversation": {"id": "conv_1"}}])
def test_a_question_whose_conversation_is_named_by_an_id_is_not_the_first(named: dict[str, Any]) -> None:
    """The Responses API sends the last message alone; the same words after another answer are another history."""

    def asked_after(**columns: Any) -> HistoryHashes:
        return read_request(json.dumps({"input": "Yes"} | columns)).history

    first, after = asked_after(previous_response_id=None, conversation=""), asked_after(**named)
    assert first == asked_after()
    assert first.parent_history_hash is None
    assert after.parent_history_hash not in (None, after.history_hash)
    assert after.history_hash != first.history_hash
    assert after.history_hash != asked_after(previous_response_id="resp_2").history_hash
    assert after == asked_after(**named)
