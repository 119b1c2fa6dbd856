"""Conversations of requests: which turns are on the way back from the last one."""

from __future__ import annotations

from datetime import timedelta
from time import process_time

import pytest

from evaluator.answers import conversations as module
from evaluator.answers.conversations import REQUEST_COLUMNS, answers_of, conversations, with_conversations
from lake.spec.schemas import PARSED_LOGS
from lake.tables.table import Table
from tests.evaluator.conftest import Traffic
from tests.evaluator.conversing import Talk

CHATS = pytest.mark.parametrize("chat", ["chat", None])


def logs(traffic: Traffic) -> Table:
    return traffic.lake.table(PARSED_LOGS, traffic.deployment)


def found(traffic: Traffic) -> list[list[str]]:
    """The questions of each conversation of the log, those of all its rows looked at."""
    table = logs(traffic)
    talks = list(conversations(table, table.read(REQUEST_COLUMNS).to_pylist()))
    whole = {row["event_id"]: row["question"] for row in table.read(["event_id", "question"]).to_pylist()}
    return sorted([whole[turn["event_id"]] for turn in talk.turns] for talk in talks)


@CHATS
def test_turns_that_follow_each_other_are_a_conversation(traffic: Traffic, chat: str | None) -> None:
    """In order, whatever the order of their rows; those of another person or chat are another one."""
    talk = Talk(traffic, chat)
    first, after = talk.turn("A", "a", 0)
    second, after = after.turn("B", "b", 5)
    third, _ = after.turn("C", "c", 9)
    traffic.log(third, first, second)
    Talk(traffic, chat and "other", "bob").log(("A", "a", 1), ("Z", "z", 6))
    assert found(traffic) == [["A", "B", "C"], ["A", "Z"]]


@CHATS
def test_what_was_regenerated_edited_or_deleted_falls_out(traffic: Traffic, chat: str | None) -> None:
    """The last way counts: an answer that was asked for again, a question that was edited, turns that were deleted."""
    talk = Talk(traffic, chat)
    row, first = talk.turn("A", "a", 0, name="first")
    again, first_again = talk.turn("A", "better", 1, name="again")
    typo, _ = first_again.turn("Bb", "?", 2)
    edited, second = first_again.turn("B", "b", 3)
    third, _ = second.turn("C", "c", 4)
    anew, _ = first_again.turn("D", "d", 5)
    traffic.log(row, again, typo, edited, third, anew)
    assert found(traffic) == [["A", "D"]]
    table = logs(traffic)
    (one,) = conversations(table, table.read(REQUEST_COLUMNS).to_pylist())
    assert [turn["event_id"] for turn in one.turns] == ["event-again", anew["event_id"]]
    assert first.said != first_again.said


@CHATS
def test_a_failed_turn_links_those_around_it(traffic: Traffic, chat: str | None) -> None:
    """People go on after an error; a conversation does not end with a failed call or a call of a tool, though."""
    row, talk = Talk(traffic, chat).turn("A", "a", 0)
    failed, talk = talk.turn("B", None, 1, status=500)
    last, talk = talk.turn("C", "c", 2)
    asked, _ = talk.turn("D", None, 3, answer_kind="tool_call")
    broken, _ = talk.turn("E", None, 4, status=500)
    traffic.log(row, failed, last, asked, broken)
    assert found(traffic) == [["A", "B", "C"]]


def test_the_same_words_of_other_people_are_other_conversations(traffic: Traffic) -> None:
    """Without a chat: of one user and project alone; a greeting of the application joins nobody's."""
    for user, project in (("ann", "p"), ("bob", "p"), ("ann", "q"), (None, None)):
        Talk(traffic, None, user, columns={"project_id": project, "event_id": f"{user}{project}"}).log(("A", "a", 0))
    rows = [Talk(traffic, None, "ann").turn("A", "a", minute, parent_history_hash="of nothing")[0] for minute in (7, 9)]
    rows[1] |= {"history_hash": "other"}
    traffic.log(*rows)
    assert found(traffic) == [["A"]] * 6


def test_what_came_days_before_is_no_part_of_it(traffic: Traffic) -> None:
    """Two days back; the transcript begins there."""
    table = logs(traffic)
    for days, turns in ((4, 1), (1, 2)):
        row, talk = Talk(traffic, f"chat{days}").turn("A", "a", 0)
        earlier = {
            "requested_at": row["requested_at"] - timedelta(days=days),
            "date": row["date"] - timedelta(days=days),
        }
        last, _ = talk.turn("B", "b", 5)
        traffic.log(row | earlier, last)
        late = [one for one in table.read(REQUEST_COLUMNS).to_pylist() if one["event_id"] == last["event_id"]]
        (one,) = conversations(table, late)
        assert len(one.turns) == turns


def test_a_request_of_the_chat_keeps_it_open_whatever_became_of_it(traffic: Traffic) -> None:
    """Whoever got an error may ask again: a conversation is as old as the last row of its chat."""
    row, talk = Talk(traffic).turn("A", "a", 0)
    failed, _ = talk.turn("B", None, 30, status=500)
    traffic.log(row, failed)
    table = logs(traffic)
    (one,) = conversations(table, table.read(REQUEST_COLUMNS).to_pylist())
    assert (one.last["event_id"], one.written) == (row["event_id"], failed["ingested_at"])


def test_rows_without_hashes_and_of_others_are_left_out(traffic: Traffic) -> None:
    """Of a body that was cut nothing is known; evaluations, judges and calls between applications are nobody's talk."""
    for name, changes in {
        "cut": {"history_hash": None}, "test": {"origin": "evaluation"}, "inner": {"is_entry": False},
    }.items():  # fmt: skip
        row, _ = Talk(traffic, f"chat-{name}").turn("A", "a", 0, **changes)
        traffic.log(row)
    assert found(traffic) == []


def test_a_turn_after_a_failed_one_counts_before_it_is_due(traffic: Traffic) -> None:
    """Without a chat too: the first turn ends no conversation that went on."""
    row, talk = Talk(traffic, None).turn("A", "a", 0)
    failed, talk = talk.turn("B", None, 1, status=500)
    traffic.log(row, failed)
    table = logs(traffic)
    due = table.read(REQUEST_COLUMNS).to_pylist()
    assert len(list(conversations(table, due))) == 1
    traffic.log(talk.turn("C", "c", 2)[0])
    assert not list(conversations(logs(traffic), due))


@CHATS
def test_an_answer_is_given_with_all_that_was_said(
    traffic: Traffic, chat: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own ids and times, and all turns as its question; of a long one the first and the last ones."""
    talk = Talk(traffic, chat).log(("A", "a", 0), ("B", "b", 1), ("C", "<think>so</think>c", 2), ("D", "d", 3))
    table = logs(traffic)
    (one,) = conversations(table, table.read(REQUEST_COLUMNS).to_pylist())
    (answer,) = answers_of(table, [one])
    assert [tuple(turn) for turn in answer.conversation or ()] == [("A", "a"), ("B", "b"), ("C", "c"), ("D", "d")]
    assert (answer.event_id, answer.chat_id, answer.text) == (f"event-{talk.chat}-ann-3", chat, "d")
    assert (answer.question, answer.case_question) == ("A\nB\nC\nD", ("A\nB\nC\nD", None))
    assert with_conversations(table, [answer]) == [answer]
    monkeypatch.setattr(module, "MOST_TURNS", 3)
    assert [turn.question for turn in answers_of(table, [one])[0].conversation or ()] == ["A", "C", "D"]


@pytest.mark.parametrize("tries", [1, 3])
def test_an_outage_that_a_bot_does_not_see_is_walked_in_a_moment(traffic: Traffic, tries: int) -> None:
    """Without a chat: hundreds of failed turns in a row, each tried several times, are walked once."""
    row, talk = Talk(traffic, None).turn("A", "a", 0)
    rows = [row]
    for turn in range(1, 1200 // tries):
        failed, _ = talk.turn("go on", None, turn, status=500, name="failed")
        # A short text for the hashes of a long one: each turn would say all before it again.
        failed |= {"history_hash": f"hash-{turn}", "parent_history_hash": rows[-1]["history_hash"]}
        rows += [
            failed | {"event_id": f"{turn}-{one}", "requested_at": failed["requested_at"] + timedelta(seconds=one)}
            for one in range(tries)
        ]
    traffic.log(*rows)
    before = process_time()
    assert found(traffic) == [["A"]]
    assert process_time() - before < 5


def test_the_log_is_read_as_often_for_many_turns_as_for_few(traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a chat too, back from a last turn and on from a first one."""
    Talk(traffic, None).log(*((f"Q{turn}", f"a{turn}", turn) for turn in range(20)))
    table = logs(traffic)
    due = [max(table.read(REQUEST_COLUMNS).to_pylist(), key=lambda row: row["requested_at"])]
    (answer,) = answers_of(table, list(conversations(table, due)))
    reads: list[object] = []
    original = Table.read
    monkeypatch.setattr(Table, "read", lambda *given: reads.append(given) or original(*given))  # type: ignore[func-returns-value]
    (one,) = conversations(table, due)
    assert (len(one.turns), len(reads)) == (20, 1)
    assert with_conversations(table, [answer]) == [answer]
    assert len(reads) == 4


def test_an_only_answer_that_was_asked_for_again_ends_nothing(traffic: Traffic) -> None:
    """Without a chat too: the later one ends the conversation."""
    traffic.log(*(Talk(traffic, None).turn("A", "a", minute)[0] for minute in (1, 2)))
    assert found(traffic) == [["A"]]


def test_requests_without_a_chat_are_no_busy_chat(traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are."""
    monkeypatch.setattr(module, "MOST_REQUESTS", 1)
    Talk(traffic, None).log(("A", "a", 0), ("B", "b", 1))
    requests = logs(traffic).read(REQUEST_COLUMNS)
    assert module.without_busy_chats(requests) == (requests, frozenset())


@pytest.mark.parametrize(
    ("minutes", "is_busy"),
    [
        ((0, 1, 2, 3), True),
        ((0, 1, 2, 4_000), False),
        ((0, 900, 2_800, 2_880), True),
        ((0, 900, 2_800, 2_881), False),
    ],
)
def test_a_busy_chat_is_one_with_too_many_requests_within_two_days(
    traffic: Traffic, monkeypatch: pytest.MonkeyPatch, minutes: tuple[int, ...], is_busy: bool
) -> None:
    """However long it goes on, and whatever other chats have."""
    monkeypatch.setattr(module, "MOST_REQUESTS", 3)
    Talk(traffic, "a").log(*((f"A{at}", "a", at) for at in minutes))
    Talk(traffic, "b").log(*((f"A{at}", "a", at) for at in (1, 2, 3)))
    left, busy = module.without_busy_chats(logs(traffic).read(REQUEST_COLUMNS))
    assert (busy, left.num_rows) == ((frozenset({"a"}), 3) if is_busy else (frozenset(), 7))
