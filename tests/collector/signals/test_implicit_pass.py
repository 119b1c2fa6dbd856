"""Signals read from the rows of a real lake."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.signals import ImplicitResult, ImplicitSignals, SignalSettings
from lake.queries.answer_details import read_answer
from lake.queries.signals_by_answer import signals_by_answer
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.killing import KILLED, Moment, die, run

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WHO = "Who approves the travel budget?"
WHO_EDITED = "Who approves the travel budget in Germany?"


def passes(lake: Lake, **changed: Any) -> ImplicitSignals:
    return ImplicitSignals(lake, SignalSettings(**changed), clock=lambda: NOW)


def test_an_empty_lake_is_an_empty_pass(lake: Lake) -> None:
    """Nothing there is nothing wrong."""
    assert passes(lake).run_once() == ImplicitResult({})


@pytest.mark.parametrize("origins", [("test", "test"), ("test", None), ("production", "evaluation")])
def test_requests_that_people_did_not_make_say_nothing(chats: Any, origins: tuple[str | None, str | None]) -> None:
    """Neither the earlier nor the later request may be of another origin than production."""
    first, second = (
        chats.request(name, number, [WHO], origin=origin)
        for name, number, origin in zip("ab", (0, 2), origins, strict=True)
    )
    chats.log(first, second)
    assert passes(chats.lake).run_once() == ImplicitResult({})


@pytest.mark.parametrize("origin", ["production", None])
def test_requests_of_production_are_those_without_an_origin_too(chats: Any, origin: str | None) -> None:
    """Rows of earlier versions have none."""
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 2, [WHO], origin=origin))
    assert passes(chats.lake).run_once() == ImplicitResult({"regenerate": 1})


def test_the_same_history_asked_again_is_a_regenerate(chats: Any) -> None:
    """The signal is about the first answer, at the time of the second request, and says what it was made of."""
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 2, [WHO]))
    assert passes(chats.lake).run_once() == ImplicitResult({"regenerate": 1})
    [row] = chats.signals()
    assert len(row["signal_id"]) == 32
    assert row == {
        "signal_id": row["signal_id"],
        "response_id": "r-a",
        "deployment": "rag",
        "date": NOW.date() - timedelta(days=1),
        "signaled_at": chats.request("b", 2, [WHO])["requested_at"],
        "signal": "regenerate",
        "value": -0.5,
        "confidence": 0.6,
        "origin": "implicit",
        "user_id": "ann",
        "chat_id": "c1",
        "details": row["details"],
        "source": {"kind": "implicit", "name": "parsed_logs", "partition": "rag", "offset": 0},
        "ingested_at": NOW,
    }
    assert json.loads(row["details"]) == {"event_id": "a", "later_event_id": "b"}


def test_what_no_person_asked_is_no_sign_of_what_one_thought(chats: Any) -> None:
    """An evaluation that asks the same again, or what a person asked before, says nothing."""
    chats.log(
        chats.request("a", 0, [WHO], origin="production"),
        *(chats.request(f"e{n}", n, [WHO], origin="evaluation") for n in range(1, 4)),
    )
    assert passes(chats.lake).run_once() == ImplicitResult({})


def test_a_question_put_in_other_words_is_an_edit(chats: Any) -> None:
    """In the first question and in a later one."""
    chats.log(
        chats.request("a", 0, [WHO]),
        chats.request("b", 1, [WHO_EDITED]),
        chats.request("c", 2, [WHO_EDITED, "The CFO.", "How long does the CFO take?"]),
        chats.request("d", 3, [WHO_EDITED, "The CFO.", "How long does the CFO take for it?"]),
    )
    assert passes(chats.lake).run_once().signals == {"edit": 2}
    assert chats.found() == {("edit", "a"), ("edit", "c")}
    assert json.loads(chats.signals()[0]["details"])["similarity"] == 0.83


def test_a_rejection_in_the_next_message_is_a_correction(chats: Any) -> None:
    """Of the answer that the message follows, with the phrase's confidence."""
    chats.log(
        chats.request("a", 0, [WHO]),
        chats.request("b", 1, [WHO, "The CEO.", "No, that's wrong. Look again."]),
        chats.request("c", 2, [WHO, "The CEO.", "No, that's wrong. Look again.", "The CFO.", "Thanks, and who pays?"]),
    )
    assert passes(chats.lake).run_once().signals == {"correction": 1}
    [row] = chats.signals()
    assert (row["response_id"], row["value"], row["confidence"]) == ("r-a", -1.0, 0.9)
    assert json.loads(row["details"])["phrase"] == "that's wrong"


def test_an_own_lexicon_is_used(chats: Any, tmp_path: Path) -> None:
    """Phrases of the configured file count, with their confidence."""
    path = tmp_path / "own.yaml"
    path.write_text("nl: {dat klopt niet: 0.7}")
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 1, [WHO, "The CEO.", "Dat klopt niet."]))
    passes(chats.lake, lexicon=path).run_once()
    assert [row["confidence"] for row in chats.signals()] == [0.7]


AGAIN = {
    "another-chat": {"chat": "c2"},
    "no-chat": {"chat_id": None},
    "another-person": {"user_id": "bob"},
    "another-project": {"project_id": "hr"},
    "a-tool-call": {"is_entry": False},
    "an-embedding": {"kind": "embedding"},
    "secured": {"history_hash": None},
    "at-the-same-time": {"requested_at": datetime(2026, 11, 20, 12, 0, 5, tzinfo=UTC)},
    "hours-later": {"minute": 90},
}


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_what_is_no_second_try_of_one_person_gives_no_signal(again: dict[str, Any], chats: Any) -> None:
    """One person's chat, calls that a person made, the second after the first was answered and soon after."""
    columns = {"minute": 1, "messages": [WHO]} | again
    chats.log(chats.request("a", 0, [WHO], project_id="sales"), chats.request("b", **columns))
    assert passes(chats.lake).run_once() == ImplicitResult({})


@pytest.mark.parametrize(
    "first",
    [{"status": 502}, {"finish_reason": None}, {"is_entry": False}],
    ids=["failed", "broke-off", "tool-call"],
)
def test_a_retry_after_a_failure_is_no_signal(first: dict[str, Any], chats: Any) -> None:
    """There was no whole answer that somebody could dislike."""
    chats.log(chats.request("a", 0, [WHO], **first), chats.request("b", 1, [WHO]))
    assert passes(chats.lake).run_once() == ImplicitResult({})


def test_what_was_done_after_an_answer_without_an_id_is_a_signal_on_its_row(chats: Any) -> None:
    """Some gateways send none: the signal has the row's id in its place, and is joined with that answer alone."""
    unnamed = {"response_id": None, "response_ids": []}
    some = [chats.request(name, number, [WHO], **unnamed) for number, name in enumerate("ab")]
    chats.log(*some)
    assert passes(chats.lake).run_once() == ImplicitResult({"regenerate": 1})
    [row] = chats.signals()
    assert row["response_id"] == "a"
    signals = chats.lake.table(USER_SIGNALS, "rag").read()
    assert list(signals_by_answer(PARSED_LOGS.rows(some), signals)) == [0]
    read = read_answer(chats.lake, "rag", some[0]["date"], "a")
    assert read is not None
    assert [one.signal for one in read.signals] == ["regenerate"]


def test_a_call_of_which_less_is_known_may_be_the_same_persons(chats: Any) -> None:
    """A null user is nobody else."""
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 1, [WHO], user_id=None, project_id=None))
    passes(chats.lake).run_once()
    assert [row["user_id"] for row in chats.signals()] == ["ann"]


@pytest.mark.parametrize(
    "second",
    [
        {"messages": ["What is the capital of France?"]},
        {"messages": [WHO_EDITED], "documents": ["b.pdf"]},
        {"messages": [WHO_EDITED], "question": None},
        {"messages": [WHO, "The CEO.", WHO_EDITED]},
        {"messages": [WHO, "The CEO.", "What is wrong with the CEO's printer?"]},
        {"messages": [WHO, "The CEO.", "no problem, thanks"]},
    ],
    ids=["another-question", "another-document", "no-text", "follow-up", "question", "thanks"],
)
def test_another_question_is_no_signal(second: dict[str, Any], chats: Any) -> None:
    """A client that sends no history looks like one whose user edits, but for the texts."""
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 1, **second))
    assert passes(chats.lake).run_once() == ImplicitResult({})


PROGRAMS = {
    "ping": lambda number: ["ping"],
    "template": lambda number: [f"Summarise document {number} of the archive in three sentences"],
    "alternating": lambda number: [f"Summarise document {number % 3} of the archive in three sentences"],
    "fixed-history": lambda number: [WHO, "The CEO.", f"That is wrong. Number {number}"],
}


@pytest.mark.slow
@pytest.mark.parametrize("ask", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("at_once", [1, 40], ids=["one-by-one", "many"])
def test_a_program_with_one_chat_id_makes_no_storm(ask: Any, at_once: int, chats: Any) -> None:
    """However many calls come under one id, they leave a handful of signals behind, and none if they come at once."""
    signals = passes(chats.lake)
    calls = 15 if at_once == 1 else 120
    rows = [chats.request(f"{number}", number, ask(number)) for number in range(calls)]
    for start in range(0, calls, at_once):
        chats.log(*rows[start : start + at_once])
        signals.run_once()
    assert len(chats.signals()) <= (14 if at_once == 1 else 0)


@pytest.mark.parametrize(
    ("earlier", "later", "kinds"),
    [("p", "p", {"regenerate"}), (None, "p", {"regenerate"}), ("p", None, {"regenerate"}), ("p", "q", set())],
)
def test_a_second_try_comes_from_the_same_project(
    earlier: str | None, later: str | None, kinds: set[str], chats: Any
) -> None:
    """As far as both are known."""
    chats.log(chats.request("a", 0, [WHO], project_id=earlier), chats.request("b", 2, [WHO], project_id=later))
    assert set(passes(chats.lake).run_once().signals) == kinds


@pytest.mark.parametrize(("requests", "kinds"), [(8, {"regenerate", "correction"}), (9, set())])
def test_a_person_continues_a_history_at_most_eight_times(requests: int, kinds: set[str], chats: Any) -> None:
    """More requests that continue one history are a program's."""
    chats.log(*(chats.request(f"same-{number}", 0, [WHO]) for number in range(requests - 1)))
    chats.log(chats.request("again", 2, [WHO]))
    chats.log(chats.request("next", 4, [WHO, "Ann.", "No, that is wrong."]))
    assert set(passes(chats.lake).run_once().signals) == kinds


def test_an_answer_regenerated_and_then_rejected_has_one_signal_of_each_kind(chats: Any) -> None:
    """Two clicks on regenerate are two signals, not three."""
    chats.log(
        *(chats.request(name, minute, [WHO]) for minute, name in enumerate("abc")),
        chats.request("d", 5, [WHO, "The CEO.", "Wrong."]),
        chats.request("e", 6, [WHO, "The CEO.", "Wrong.", "The CFO.", "Thanks"]),
    )
    passes(chats.lake).run_once()
    corrections = {("correction", name) for name in "abc"}
    assert chats.found() == {("regenerate", "a"), ("regenerate", "b")} | corrections


def test_a_pass_without_news_adds_nothing(chats: Any) -> None:
    """Not even a commit; and a new process that reads everything again finds that it is all there."""
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 1, [WHO]))
    signals = passes(chats.lake)
    signals.run_once()
    version = chats.lake.table(USER_SIGNALS, "rag").version()
    chats.log(chats.request("c", 90, ["Something else?"]))
    assert [signals.run_once(), passes(chats.lake).run_once()] == [ImplicitResult({})] * 2
    assert chats.lake.table(USER_SIGNALS, "rag").version() == version


def test_a_deployment_without_signals_gets_no_table(chats: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that only applications call has nothing to say, and is not read from its beginning for ever."""
    monkeypatch.setattr("lake.tables.pass_transaction._VERSIONS_WITHOUT_ROWS", 6)
    signals = passes(chats.lake)
    for number in range(7):
        chats.log(chats.request(f"{number}", number, [WHO], is_entry=False))
        signals.run_once()
        if number < 5:
            assert chats.lake.table(USER_SIGNALS, "rag").version() is None
    assert chats.lake.table(USER_SIGNALS, "rag").committed("implicit:parsed_logs") is not None


conversations = st.lists(
    st.tuples(st.sampled_from(["next", "regenerate", "edit", "reject", "back"]), st.sampled_from(["c1", "c2"])),
    min_size=2,
    max_size=7,
)


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conversations, st.randoms(), st.integers(1, 4))
def test_order_of_arrival_and_number_of_collectors_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, chats: Any, acts: list[Any], chance: random.Random, at_once: int
) -> None:
    """Rows in any order, in any pieces, derived by several collectors in turn, give the signals of one quiet pass."""
    rows = [*_conversation(chats, acts)]
    quiet = type(chats)(Lake(str(tmp_path_factory.mktemp("quiet"))))
    quiet.log(*rows)
    passes(quiet.lake).run_once()
    busy = type(chats)(Lake(str(tmp_path_factory.mktemp("busy"))))
    collectors = [passes(busy.lake) for _ in range(2)]
    mixed = chance.sample(rows, len(rows))
    for start in range(0, len(mixed), at_once):
        busy.log(*mixed[start : start + at_once])
        assert chance.choice(collectors).run_once().failed == ()
    for collector in collectors:
        collector.run_once()
    assert busy.found() == quiet.found()


def _conversation(chats: Any, acts: list[Any]) -> Any:
    histories: dict[str, list[str]] = {}
    for number, (act, chat) in enumerate(acts):
        history = histories.get(chat)
        if history is None:
            history = [f"How many days of leave are there in {chat}?"]
        elif act == "next":
            history = [*history, "answer", f"Question {number} about another thing"]
        elif act == "edit":
            history = [*history[:-1], history[-1] + f" {number}"]
        elif act == "reject":
            history = [*history, "answer", f"That is wrong. {number}"]
        elif act == "back":
            history = history[:1]
        histories[chat] = history
        yield chats.request(f"{number}", number * 2, history, chat)


def test_of_two_collectors_at_once_one_adds_the_signals(chats: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second to commit is refused, adds nothing, and goes on at its next pass."""
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 1, [WHO]))
    append, results = Table.append, []

    def append_after_the_other(table: Table, *args: Any, **kwargs: Any) -> None:
        monkeypatch.undo()
        results.append(passes(chats.lake).run_once())
        append(table, *args, **kwargs)

    monkeypatch.setattr(Table, "append", append_after_the_other)
    first = passes(chats.lake)
    results.append(first.run_once())
    assert results == [ImplicitResult({"regenerate": 1}), ImplicitResult({})]
    chats.log(chats.request("c", 2, [WHO]))
    assert first.run_once() == ImplicitResult({"regenerate": 1})
    assert chats.found() == {("regenerate", "a"), ("regenerate", "b")}


def test_a_deployment_that_fails_does_not_stop_the_others(chats: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Its name is in the result and in the log; mended, the next pass does it."""
    other = type(chats)(chats.lake, "other")
    for each in (chats, other):
        each.log(each.request("a", 0, [WHO]), each.request("b", 1, [WHO]))
    broken = Path(chats.lake.table(USER_SIGNALS, "other").uri) / "_delta_log" / "00000000000000000000.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("no JSON")
    signals = passes(chats.lake)
    assert signals.run_once() == ImplicitResult({"regenerate": 1}, ("other",))
    assert "'other'" in caplog.text
    broken.unlink()
    assert signals.run_once() == ImplicitResult({"regenerate": 1})


@pytest.mark.parametrize(
    "odd",
    [
        {"requested_at": datetime(9999, 12, 31, 23, 59, tzinfo=UTC)},
        {"requested_at": datetime(1, 1, 1, tzinfo=UTC)},
        {"duration_ms": 2**63 - 1},
        {"duration_ms": -(2**63)},
    ],
)
def test_a_row_of_an_odd_time_costs_no_other_rows_their_signals(odd: dict[str, Any], chats: Any) -> None:
    """Of any year that can be written, or an answer that took longer than there are years."""
    row = chats.request("odd", 2, [WHO]) | odd
    chats.log(row | {"date": row["requested_at"].date()}, chats.request("a", 0, [WHO]), chats.request("b", 1, [WHO]))
    result = passes(chats.lake).run_once()
    assert result.failed == ()
    assert ("regenerate", "a") in chats.found()


def killed_pass(root: str, moment: Moment) -> None:
    """A pass that dies around its commit."""
    die(moment, Table, "append")
    ImplicitSignals(Lake(root), SignalSettings()).run_once()


@pytest.mark.integration
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_pass_is_made_up_for_by_the_next(moment: str, chats: Any) -> None:
    """SIGKILL before and after the commit: each signal is there once."""
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 1, [WHO]))
    assert run(killed_pass, chats.lake.root, moment) == KILLED
    chats.log(chats.request("c", 2, [WHO]))
    assert passes(chats.lake).run_once().failed == ()
    assert chats.found() == {("regenerate", "a"), ("regenerate", "b")}


def test_a_log_that_was_removed_and_made_anew_is_read_from_its_beginning(chats: Any) -> None:
    """The version of the old table means nothing in the new one, also where signals of the old one were committed."""
    signals = passes(chats.lake)
    for number in range(4):
        chats.log(chats.request(f"{number}", number * 100, [f"Question {number}"]))
    chats.log(chats.request("x", 700, ["Again?"]), chats.request("y", 702, ["Again?"]))
    assert signals.run_once() == ImplicitResult({"regenerate": 1})
    folder = Path(chats.lake.table(PARSED_LOGS, "rag").uri)
    folder.rename(folder.with_name("gone"))
    chats.log(chats.request("a", 0, [WHO]), chats.request("b", 1, [WHO]))
    assert signals.run_once() == ImplicitResult({"regenerate": 1})
