"""Scores of conversations: when one is closed, what is scored then, and that it is scored once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.answers import conversations as reading
from evaluator.service import conversation_scores
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests.evaluator.conftest import NOON, Traffic
from tests.evaluator.conversing import Talk
from tests.evaluator.judges.scripted_server import ScriptedServer, fails
from tests.evaluator.service.conversation_service import METRICS, MINUTE, Service, judges


@pytest.fixture
def service(traffic: Traffic, judge: ScriptedServer, tmp_path: Path) -> Iterator[Service]:
    judge.always = judges
    Talk(traffic, "before").log(("A", "a", -300), ("B", "b", -299))
    service = Service(traffic, judge, tmp_path)
    service.at(0)
    yield service
    service.evaluator.close()


def test_a_conversation_is_scored_once_it_was_silent_for_an_hour(service: Service, traffic: Traffic) -> None:
    """Under its last turn, with its chat; one call for all metrics. What was closed before the first pass is not."""
    Talk(traffic).log(("A", "a", 1), ("B", "b", 9))
    assert service.at(10, 40, 68) == {}
    assert service.calls() == 0
    assert service.at(75, 90) == {"chat-ann-9": 0.5}
    rows = traffic.scores()
    assert sorted(row["metric"] for row in rows) == METRICS
    assert service.calls() == 1
    for row in rows:
        assert (row["chat_id"], row["event_id"], row["judge"]) == ("chat", "event-chat-ann-9", "strict")
        assert row["date"] == NOON.date()
    repetition = next(row for row in rows if row["metric"] == "repetition")
    assert (repetition["direction"], repetition["low"], repetition["high"]) == ("down", 0.0, 1.0)
    assert json.loads(repetition["details"])["repeats"] == [2]
    assert sum(row["cost"] > 0 for row in rows) == 1


def test_one_turn_is_null_and_asks_nobody(service: Service, traffic: Traffic) -> None:
    """A row says so."""
    Talk(traffic).log(("A", "a", 1))
    assert service.at(75) == {"chat-ann-1": "one_turn"}
    assert service.calls() == 0


def test_one_that_goes_on_is_scored_again_and_the_old_score_stays(service: Service, traffic: Traffic) -> None:
    """Under its new last turn, with all turns."""
    talk = Talk(traffic).log(("A", "a", 1), ("B", "b", 9))
    assert service.at(75) == {"chat-ann-9": 0.5}
    talk.log(("C", "c", 200), ("D", "d", 205))
    assert service.at(206, 250) == {"chat-ann-9": 0.5}
    assert service.at(270, 300) == {"chat-ann-9": 0.5, "chat-ann-205": 0.25}


def test_no_conversation_is_scored_while_it_goes_on(service: Service, traffic: Traffic) -> None:
    """Turns half an hour apart are one conversation; its regenerated last turn is what counts."""
    talk = Talk(traffic)
    for minute in range(1, 180, 30):
        talk = talk.log((f"Q{minute}", "a", minute))
        assert service.at(minute + 1, minute + 15) == {}
    again = Talk(traffic, said=talk.said[:-1])
    again.log((talk.said[-1][0], "better", 155))
    assert service.at(212) == {}
    assert service.at(240) == {"chat-ann-155": 1 / 6}


@pytest.mark.slow
@pytest.mark.parametrize("commit_seconds", [0, 60])
def test_restarts_and_parts_score_nothing_twice(
    service: Service, traffic: Traffic, monkeypatch: pytest.MonkeyPatch, commit_seconds: int
) -> None:
    """Whenever an evaluator begins anew, also one that commits after each few conversations, and is stopped then."""
    monkeypatch.setattr(conversation_scores, "_COMMIT_SECONDS", commit_seconds)
    monkeypatch.setattr(conversation_scores, "_TURNS_AT_ONCE", 2)
    monkeypatch.setattr(conversation_scores, "_REQUESTS_AT_ONCE", 3)
    for number in range(7):
        Talk(traffic, f"chat{number}").log(("A", f"a{number}", 1 + number), ("B", "b", 5 + number))
    service.now = NOON + 75 * MINUTE
    asked = iter([False] * 8)
    service.evaluator.run_once(lambda: next(asked, True))
    some = traffic.values("repetition")
    assert 0 < len(some) < 7
    service.restart()
    assert len(service.at(76, 77, 95)) == 7
    service.restart()
    assert len(service.at(96, 200)) == 7
    rows = traffic.scores()
    assert len({row["score_id"] for row in rows}) == len(rows) == 7 * 3
    assert service.calls() == 7


def test_of_two_evaluators_one_is_refused(service: Service, traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks while another one commits writes nothing; no reply is paid for twice."""
    Talk(traffic).log(("A", "a", 1), ("B", "b", 9))
    other = service.begun()
    service.now = NOON + 75 * MINUTE
    original = conversation_scores.answers_of

    def late(*arguments: Any) -> Any:
        monkeypatch.setattr(conversation_scores, "answers_of", original)
        other.run_once()
        return original(*arguments)

    monkeypatch.setattr(conversation_scores, "answers_of", late)
    result = service.evaluator.run_once()
    assert (result.scored, result.failures) == (0, ())
    assert len(traffic.scores()) == len(METRICS)
    assert service.at(76, 120) == {"chat-ann-9": 0.5}
    assert (len(traffic.scores()), service.calls()) == (len(METRICS), 1)
    other.close()


def test_rows_that_come_late_are_scored_too(service: Service, traffic: Traffic) -> None:
    """A line that comes hours late with its own time of writing, and one of a collector whose clock is behind."""
    assert service.at(30, 60, 90) == {}
    row, talk = Talk(traffic, "late").turn("A", "a", 1)
    last, _ = talk.turn("B", "b", 2)
    traffic.log(*({**one, "ingested_at": NOON + 91 * MINUTE} for one in (row, last)))
    Talk(traffic, "behind").log(("A", "a", 3), ("B", "b", 4))
    assert service.at(108) == {"behind-ann-4": 0.5}
    assert service.at(150, 170) == {"behind-ann-4": 0.5, "late-ann-2": 0.5}


def test_a_late_turn_in_the_middle_changes_no_score(service: Service, traffic: Traffic) -> None:
    """It was scored by what was known; the last turn has its score."""
    row, talk = Talk(traffic).turn("A", "a", 1)
    last, _ = talk.turn("B", "b", 2)
    traffic.log(last)
    assert service.at(75) == {"chat-ann-2": "one_turn"}
    traffic.log({**row, "ingested_at": NOON + 80 * MINUTE})
    assert service.at(160) == {"chat-ann-2": "one_turn"}


@pytest.mark.parametrize("minutes", [-600, 600])
def test_a_clock_that_is_set_costs_no_score(service: Service, traffic: Traffic, minutes: int) -> None:
    """Back or ahead and back again by hours: each conversation has its scores in the end, once."""
    talk = Talk(traffic, "one").log(("A", "a", 1), ("B", "b", 2))
    service.at(75)
    Talk(traffic, "two").log(("A", "a", 80), ("B", "b", 82))
    service.at(90, 90 + minutes, 91, 120, 160)
    assert service.at(180).keys() == {"one-ann-2", "two-ann-82"}
    talk.log(("C", "c", 190))
    assert service.at(200, 260, 275).keys() == {"one-ann-2", "two-ann-82", "one-ann-190"}
    rows = traffic.scores()
    assert len({row["score_id"] for row in rows}) == len(rows)


def test_what_is_looked_at_again_gets_only_the_scores_that_it_lacks(service: Service, traffic: Traffic) -> None:
    """After a clock that was ahead, and a metric that was chosen since."""
    service.restart(metrics=["repetition"])
    Talk(traffic).log(("A", "a", 1), ("B", "b", 2))
    service.at(75)
    Talk(traffic, "two").log(("A", "a", 76))
    service.at(700)
    service.restart()
    service.at(90)
    rows = [row for row in traffic.scores() if row["chat_id"] == "chat"]
    assert sorted(row["metric"] for row in rows) == METRICS


@pytest.mark.slow
def test_the_sample_is_one_of_conversations(service: Service, traffic: Traffic) -> None:
    """By the hash of the chat, with its probability; of the others no text is read."""
    service.restart(sampling={"rate": 0.3})
    read: list[str] = []
    for number in range(30):
        Talk(traffic, f"chat{number}").log(("A", "a", 1), ("B", f"b{number}", 2))
    original, reading._texts = (
        reading._texts,
        lambda logs, chains: read.extend("x" for _ in chains) or original(logs, chains),
    )  # type: ignore[func-returns-value, assignment]
    try:
        scores = service.at(75)
    finally:
        reading._texts = original
    assert 3 <= len(scores) <= 17
    assert len(read) == len(scores) == service.calls()
    assert {row["sampling_probability"] for row in traffic.scores()} == {0.3}


def test_a_score_that_is_pending_is_asked_for_again(service: Service, traffic: Traffic) -> None:
    """With the whole conversation, although it has gone on since."""
    service.judge.always = fails(401)
    talk = Talk(traffic).log(("A", "a", 1), ("B", "b", 2), ("C", "c", 3))
    assert service.at(75) == {"chat-ann-3": "judge_unavailable"}
    talk.log(("D", "d", 80))
    service.judge.always = judges
    assert service.at(87).keys() == {"chat-ann-3"}
    rows = [row for row in traffic.scores() if row["metric"] == "repetition" and row["value"] is not None]
    assert [row["value"] for row in rows] == [1 / 3]


def test_answers_are_scored_as_before(service: Service, traffic: Traffic) -> None:
    """Metrics of answers score each answer as it comes, those of conversations none of them."""
    service.restart(metrics=[*METRICS, "context_present"])
    Talk(traffic).log(("A", "a", 1), ("B", "b", 2))
    service.at(3)
    assert traffic.values("context_present") == {"chat-ann-1": 0.0, "chat-ann-2": 0.0}
    assert service.at(75) == {"chat-ann-2": 0.5}
    assert len(traffic.values("context_present")) == 2


def test_the_time_of_silence_is_a_setting(service: Service, traffic: Traffic) -> None:
    """From a minute on, for deployments alike."""
    service.restart(conversations={"idle": "5m"})
    Talk(traffic).log(("A", "a", 1), ("B", "b", 2))
    assert service.at(3, 6) == {}
    assert service.at(8) == {"chat-ann-2": 0.5}
    with pytest.raises(ValueError, match="idle"):
        service.begun(conversations={"idle": "10s"})


@pytest.mark.slow
def test_a_conversation_of_an_erased_person_is_gone(service: Service, traffic: Traffic) -> None:
    """Its scores and their details too, by person, by chat, and by an answer in the middle of it; no other is."""
    for number, (chat, user) in enumerate([("x", "ann"), ("y", "bob"), ("z", "cy"), (None, "di"), ("w", "ed")]):
        Talk(traffic, chat, user).log(("A", f"The first answer of {user}, in words.", 1), ("B", "b", 2 + number))
    assert len(service.at(80)) == 5
    subjects = [Subject(user="ann"), Subject(chat="y"), Subject(response="chatcmpl-z-cy-1")]
    for subject in (*subjects, Subject(response="chatcmpl-None-di-1")):
        erase(traffic.lake, subject, service.now)
    assert traffic.values("repetition").keys() == {"w-ed-6"}
    service.restart()
    assert service.at(81, 200).keys() == {"w-ed-6"}


def test_what_is_closed_while_no_metric_is_asked_for_is_not_scored_later(service: Service, traffic: Traffic) -> None:
    """A person who switches the metrics on again does not pay for the months between."""
    service.restart(metrics=["answer_length"])
    day = 24 * 60
    for number in range(1, 5):
        Talk(traffic, f"off{number}").log(("A", "a", number * day), ("B", "b", number * day + 9))
        service.at(number * day + 90)
    Talk(traffic, "on").log(("A", "a", 4 * day + 100), ("B", "b", 4 * day + 101))
    service.restart()
    assert list(service.at(4 * day + 120, 4 * day + 200)) == [f"on-ann-{4 * day + 101}"]


def test_weeks_are_scored_day_by_day(service: Service, traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluator that was away, and is stopped again, goes on behind the last day that it committed."""
    day = 24 * 60
    for number in range(1, 5):
        Talk(traffic, f"day{number}").log(("A", "a", number * day), ("B", "b", number * day + 9))
    looked: list[int] = []
    real = conversation_scores._Look.scored_all

    def stops(self: Any, due: Any, is_stopping: Any) -> bool:
        looked.append(due.num_rows)
        return len(looked) < 3 and real(self, due, is_stopping)

    with monkeypatch.context() as patch:
        patch.setattr(conversation_scores._Look, "scored_all", stops)
        assert len(service.at(6 * day)) == len([rows for rows in looked[:2] if rows])
    assert max(looked) == 2
    service.restart()
    assert len(service.at(6 * day + 1)) == 4
    assert len(traffic.scores()) == 4 * len(METRICS)


@pytest.mark.parametrize("ahead", [(), (700,)], ids=["plain", "clock was ahead"])
def test_a_quiet_deployment_is_not_read(
    service: Service, traffic: Traffic, monkeypatch: pytest.MonkeyPatch, ahead: tuple[int, ...]
) -> None:
    """The log is looked at four times in the time of silence, and only what may be closed is looked up."""
    Talk(traffic).log(("A", "a", 1), ("B", "b", 2))
    service.at(75, *ahead)
    read: list[Any] = []
    original = type(traffic.lake.table(PARSED_LOGS, "rag")).read

    def noting(table: Any, columns: Any = None, where: Any = None) -> Any:
        if columns is reading.REQUEST_COLUMNS:
            read.append(where)
        return original(table, columns, where)

    monkeypatch.setattr(type(traffic.lake.table(PARSED_LOGS, "rag")), "read", noting)
    service.at(*range(76, 136))
    assert len(read) <= 5


def test_first_passes_commit_where_they_begin(lake: Lake, traffic: Traffic, service: Service) -> None:
    """An evaluator that is started anew before anything was closed goes on from there."""
    Talk(traffic).log(("A", "a", 1), ("B", "b", 2))
    service.restart()
    assert lake.table(SCORES, "rag").version() is not None
    assert service.at(200) == {"chat-ann-2": 0.5}


def test_a_fault_in_conversations_stops_nothing_else(
    service: Service, traffic: Traffic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores that are pending are asked for again all the same; the fault is told."""
    service.judge.always = fails(401)
    Talk(traffic).log(("A", "a", 1), ("B", "b", 2))
    assert service.at(75) == {"chat-ann-2": "judge_unavailable"}
    service.judge.always = judges

    def broken(*_: Any) -> Any:
        raise RecursionError("too deep")

    monkeypatch.setattr(conversation_scores.ConversationScores, "score", broken)
    service.now = NOON + 87 * MINUTE
    result = service.evaluator.run_once()
    assert ([failure.error for failure in result.failures], result.deployments) == (["RecursionError: too deep"], 0)
    assert traffic.values("repetition") == {"chat-ann-2": 0.5}


@pytest.mark.parametrize("restarts", [True, False], ids=["a new process", "one process"])
def test_a_log_that_was_restored_begins_anew(service: Service, traffic: Traffic, restarts: bool) -> None:
    """What was closed before the first look costs nothing after it either; what is closed from then on is scored."""
    Talk(traffic).log(("A", "a", 1), ("B", "b", 9))
    assert service.at(75) == {"chat-ann-9": 0.5}
    shutil.rmtree(traffic.lake.table(PARSED_LOGS, "rag").uri)
    old, talk = Talk(traffic, "before").turn("A", "a", -300)
    traffic.log(old, talk.turn("B", "b", -299)[0], Talk(traffic, "new").turn("A", "a", 80)[0])
    if restarts:
        service.restart()
    assert service.at(90, 110) == {"chat-ann-9": 0.5}
    talk = Talk(traffic, "newer").log(("C", "c", 111), ("D", "d", 112))
    assert service.at(190, 210) == {"chat-ann-9": 0.5, "new-ann-80": "one_turn", "newer-ann-112": 0.5}
    assert service.calls() == 2


@pytest.mark.parametrize("late", [0, 1, 4])
def test_a_chat_that_a_whole_client_uses_is_no_conversation(
    service: Service, traffic: Traffic, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, late: int
) -> None:
    """It is left out and told once, whether all its requests are due or only some; a chat with as many as may be is."""
    monkeypatch.setattr(reading, "MOST_REQUESTS", 3)
    busy = Talk(traffic, "default").log(*((f"Q{minute}", "a", minute) for minute in range(1, 5 - late)))
    Talk(traffic, "chat").log(("A", "a", 1), ("B", "b", 2), ("C", "c", 3))
    busy.log(*((f"R{minute}", "a", minute) for minute in range(40, 40 + late)))
    asked: list[int] = []
    original = reading.Conversation
    monkeypatch.setattr(reading, "Conversation", lambda turns, at: asked.append(len(turns)) or original(turns, at))
    assert service.at(75, 120, 140) == {"chat-ann-3": 1 / 3}
    assert set(asked) == {3}
    told = [record for record in caplog.records if record.name == conversation_scores.__name__]
    assert [(record.levelname, record.deployment) for record in told] == [("WARNING", "rag")]
    assert "1 chats" in told[0].getMessage()


def test_a_pending_score_of_a_chat_that_grew_too_busy_stays(
    service: Service, traffic: Traffic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not scored as a conversation of one turn."""
    service.judge.always = fails(401)
    Talk(traffic).log(("A", "a", 1), ("B", "b", 2))
    assert service.at(75) == {"chat-ann-2": "judge_unavailable"}
    service.judge.always = judges
    monkeypatch.setattr(reading, "MOST_REQUESTS", 1)
    assert service.at(87) == {"chat-ann-2": "judge_unavailable"}
