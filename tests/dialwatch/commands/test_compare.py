"""`dialwatch compare`: a judge compares logged answers to the same questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from dialwatch.cli import app
from dialwatch.errors import ConfigError
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.retention import drop_before
from lake.spec.preference_tables import PREFERENCES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.evaluator.judges.scripted_server import ScriptedServer, fails, serving
from tests.evaluator.preferences.comparing import choosing, shown

OLD, NEW = "help__1.0.0", "help__1.1.0"
DAY = date(2026, 11, 20)
SIDES = ("--deployment", NEW, "--before-deployment", OLD, "--until", "2026-11-20")
Row = dict[str, Any]


def good(_: str, one: str, other: str) -> str:
    """The answer that is called good; neither where both are."""
    return "tie" if ("good" in one) == ("good" in other) else "first" if "good" in one else "second"


def log(lake: Lake, deployment: str, *rows: Row) -> None:
    usual = {"deployment": deployment, "kind": "chat_completion", "status": 200, "is_entry": True, "message_count": 1}
    made = []
    for row in rows:
        day = row.get("date", DAY)
        at = {"date": day, "requested_at": datetime.combine(day, time(12), UTC), "ingested_at": datetime.now(UTC)}
        made.append(usual | at | row)
    lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows(made))


def answers(of: str, texts: dict[str, str], **common: Any) -> list[Row]:
    """An answer to each question; its id names both."""
    return [
        {"event_id": f"{of} {question}", "question": f"What of {question}?", "answer": text, **common}
        for question, text in texts.items()
    ]


def fill(lake: Lake, count: int, old: str = "bad", new: str = "good") -> None:
    """So many questions with an answer of both deployments."""
    questions = [f"q{number:03}" for number in range(count)]
    log(lake, OLD, *answers("old", {one: f"{old} {one}" for one in questions}, user_id="ann", chat_id="old chat"))
    log(lake, NEW, *answers("new", {one: f"{new} {one}" for one in questions}, user_id="bob", chat_id="new chat"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as stage:
        server = stage.fresh()
        server.always = choosing(good)
        yield server


Compare = Callable[..., Result]


@pytest.fixture
def compare(tmp_path: Path, server: ScriptedServer) -> Compare:
    """Runs the command with a judge at the server; `judge`, `judges` and `evaluator` are further settings."""

    def run(
        *options: str, judge: str = "", judges: str = "", evaluator: str = "replay: {preference: strict}"
    ) -> Result:
        settings = f"base_url: '{server.url}/v1', model: m, prompt_price: 1, completion_price: 10{judge}"
        config = tmp_path / "dialwatch.yaml"
        config.write_text(
            f"lake: {{root: {tmp_path}/lake}}\nevaluator:\n  judges: {{strict: {{{settings}}}{judges}}}\n"
            f"  judge_calls: {tmp_path}/calls\n  {evaluator}\n"
        )
        return CliRunner().invoke(app, ["compare", *(options or SIDES), "-c", str(config)], env={"COLUMNS": "140"})

    return run


def kept(lake: Lake) -> list[Row]:
    rows: list[Row] = lake.table(PREFERENCES, NEW).read().to_pylist()
    return sorted(rows, key=lambda row: str(row["event_id"]))


def test_two_deployments_are_compared(lake: Lake, server: ScriptedServer, compare: Compare) -> None:
    """In both orders, without a reference answer; what is said stands in the table, without a text."""
    log(lake, OLD, *answers("old", {"a": "bad", "b": "good", "c": "bad", "d": "same words", "e": "bad", "x": "bad"}))
    log(
        lake, NEW, *answers("new", {"a": "good", "b": "bad", "c": "good", "d": " same  words", "e": "poor", "y": "bad"})
    )
    done = compare()
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[:3] == [
        f"before: {OLD}, 2026-10-24 to 2026-11-20; after: {NEW}, 2026-10-24 to 2026-11-20",
        "5 questions have answers on both sides; 5 pairs drawn, 0 of them compared before",
        "preferred by the judge: after 2, before 1, ties 2, undecided 0; sign test 1",
    ]
    assert "8 calls of the judge for 0.00" in done.stdout
    orders = [shown(request) for request in server.requests]
    assert len(orders) == 8, "equal answers are a tie without a call"
    assert {(question, two, one) for question, one, two in orders} == set(orders)
    rows = kept(lake)
    assert [(row["earlier_event_id"], row["event_id"], row["value"]) for row in rows] == [
        (f"old {one}", f"new {one}", value) for one, value in zip("abcde", (1.0, 0.0, 1.0, 0.5, 0.5), strict=True)
    ]
    assert {(row["deployment"], row["earlier_deployment"], row["judge"]) for row in rows} == {(NEW, OLD, "strict")}
    assert not any("What of" in str(value) for row in rows for value in row.values())
    assert len({row["question_key"] for row in rows}) == len({row["preference_id"] for row in rows}) == 5


def test_two_periods_of_a_deployment_are_compared(lake: Lake, compare: Compare) -> None:
    """Those of the page where none are given, and each answer in its own."""
    log(lake, NEW, *answers("early", {"a": "bad"}, date=date(2026, 11, 10)))
    log(lake, NEW, *answers("late", {"a": "good"}, date=date(2026, 11, 14)))
    done = compare("--deployment", NEW, "--until", "2026-11-20", "--json")
    found = json.loads(done.stdout)
    assert found["before"] == {"deployment": NEW, "since": "2026-11-07", "until": "2026-11-13"}
    assert found["after"] == {"deployment": NEW, "since": "2026-11-14", "until": "2026-11-20"}
    assert (found["judge"], found["found"]["preferences"]["later"]) == ("strict", 1)
    assert [(row["earlier_date"], row["date"]) for row in kept(lake)] == [(date(2026, 11, 10), date(2026, 11, 14))]
    days = ("--since", "2026-11-10", "--before-since", "2026-11-10", "--before-until", "2026-11-10")
    done = compare("--deployment", NEW, "--until", "2026-11-20", *days)
    assert (done.exit_code, "have the same days" in done.output) == (2, True)


def test_a_judge_that_takes_the_first_answer_decides_nothing(
    lake: Lake, server: ScriptedServer, compare: Compare
) -> None:
    fill(lake, 3)
    server.always = choosing(lambda *_: "first")
    assert "after 0, before 0, ties 0, undecided 3; sign test 1" in compare().stdout
    assert {(row["value"], row["reason"]) for row in kept(lake)} == {(None, "judge_orders_differ")}


def test_the_draw_knows_nothing_of_scores_or_words(lake: Lake, compare: Compare) -> None:
    """A fifth of the questions: as many good ones as by chance, the same each time, and all in a larger draw."""
    questions = [f"q{number:03}" for number in range(400)]
    log(lake, OLD, *answers("old", dict.fromkeys(questions, "good")))
    log(
        lake, NEW, *answers("new", {one: "good too" if number < 200 else "bad" for number, one in enumerate(questions)})
    )
    done = json.loads(compare(*SIDES, "--most", "80", "--json").stdout)["found"]
    assert (done["questions"], done["pairs"]) == (400, 80)
    # 80 of 400, half of them worse: 40 with a standard deviation of 4; six of these are hardly ever passed.
    assert 16 < done["preferences"]["earlier"] < 64
    drawn = {row["event_id"] for row in kept(lake)}
    places = sorted(int(one.removeprefix("new q")) for one in drawn)
    assert places != list(range(80))
    assert places != list(range(320, 400))
    again = json.loads(compare(*SIDES, "--most", "80", "--json").stdout)["found"]
    assert (again["known"], again["calls"], again["preferences"]) == (80, 0, done["preferences"])
    more = json.loads(compare(*SIDES, "--most", "90", "--json").stdout)["found"]
    assert (more["pairs"], more["known"]) == (90, 80)
    assert drawn < {row["event_id"] for row in kept(lake)}


def test_of_several_answers_to_a_question_one_is_drawn(lake: Lake, compare: Compare) -> None:
    """Whatever it says, and whenever it came: not the first, the last or the longest of each."""
    chosen = set()
    for number in range(40):
        question = f"q{number}"
        log(lake, OLD, *answers("old", {question: "bad"}))
        some = [{"event_id": f"{place} {question}", "answer": "good" * (1 + place)} for place in range(2)]
        log(lake, NEW, *(answers("", {question: ""})[0] | one for one in some))
    done = compare()
    assert "40 questions have answers on both sides; 40 pairs drawn" in done.stdout
    chosen = {str(row["event_id"]).partition(" ")[0] for row in kept(lake)}
    assert chosen == {"0", "1"}


def test_what_is_no_pair_is_left_out(lake: Lake, compare: Compare) -> None:
    """No text, another document, a follow-up, no person's call, a failed one, another day; not another spelling."""
    common = dict.fromkeys(("empty", "document", "follow", "inner", "failed", "day", "test", "spelled"), "bad")
    log(lake, OLD, *answers("old", common))
    changed: dict[str, Row] = {
        "empty": {"answer": " \n"},
        "document": {"documents": ["files/other.pdf"]},
        "follow": {"message_count": 3, "prefix_hash": "p", "parent_history_hash": "h"},
        "inner": {"is_entry": False},
        "failed": {"status": 500},
        "day": {"date": date(2026, 11, 21)},
        "test": {"origin": "test"},
        "spelled": {"question": " what of SPELLED"},
    }
    log(lake, NEW, *(row | changed[str(row["event_id"])[4:]] for row in answers("new", dict.fromkeys(common, "good"))))
    done = compare()
    assert "1 questions have answers on both sides; 1 pairs drawn" in done.stdout
    assert [row["event_id"] for row in kept(lake)] == ["new spelled"]


def test_a_follow_up_counts_by_its_standalone_question(lake: Lake, server: ScriptedServer, compare: Compare) -> None:
    """And an answer without the thoughts before it."""
    follows = {"question": "And there?", "message_count": 3, "standalone_question": "What of a?"}
    log(lake, OLD, answers("old", {"a": "<think>good</think>bad"})[0] | follows)
    log(lake, NEW, *answers("new", {"a": "good"}))
    assert "after 1, before 0" in compare().stdout
    assert {shown(request)[0] for request in server.requests} == {"What of a?"}


def test_a_follow_up_that_only_its_conversation_explains_is_no_pair(lake: Lake, compare: Compare) -> None:
    """Not even where both conversations began alike: the judge does not see them."""
    follows = {"message_count": 3, "prefix_hash": "same", "parent_history_hash": "h"}
    log(lake, OLD, *answers("old", {"a": "bad"}, **follows))
    log(lake, NEW, *answers("new", {"a": "good"}, **follows))
    assert "no question has an answer on both sides" in compare().stdout


def test_a_question_about_several_documents_counts_once(lake: Lake, compare: Compare) -> None:
    """And each time with the answer about the same one, whatever their order."""
    for document in "xyz":
        log(lake, OLD, *answers(f"old {document}", {"a": f"bad {document}"}, documents=[document, "w"]))
        log(lake, NEW, *answers(f"new {document}", {"a": f"good {document}"}, documents=["w", document]))
    assert "1 questions have answers on both sides; 1 pairs drawn" in compare().stdout
    (row,) = kept(lake)
    assert str(row["event_id"]).replace("new", "old") == row["earlier_event_id"]


def test_an_answer_that_has_only_thoughts_is_no_pair(lake: Lake, server: ScriptedServer, compare: Compare) -> None:
    """On either side."""
    thoughts = "<think>Is it good?</think>"
    log(lake, OLD, *answers("old", {"a": thoughts, "b": "bad", "c": "bad"}))
    log(lake, NEW, *answers("new", {"a": "good", "b": thoughts, "c": "good"}))
    assert "after 1, before 0, ties 0, undecided 0" in compare().stdout
    assert [row["event_id"] for row in kept(lake)] == ["new c"]


def test_nothing_to_compare_is_said(lake: Lake, server: ScriptedServer, compare: Compare) -> None:
    """An answer on one side alone."""
    log(lake, OLD, *answers("old", {"a": "bad"}))
    log(lake, NEW, *answers("new", {"b": "good"}))
    done = compare()
    assert done.exit_code == 0
    assert "no question has an answer on both sides: choose longer periods" in done.stdout
    assert "preferred" not in done.stdout
    assert not server.requests


def test_a_judge_does_not_judge_its_own_answers(lake: Lake, server: ScriptedServer, compare: Compare) -> None:
    """On either side, by the model or the deployment; other answers to the same question are drawn instead."""
    log(lake, OLD, *answers("old", {"a": "bad", "b": "bad"}))
    log(lake, NEW, *answers("new", {"a": "good", "b": "good"}, model="vendor/m-2026-01-01"))
    log(lake, NEW, *answers("other", {"b": "good"}))
    done = compare()
    assert "1 pairs drawn, 0 of them compared before; 2 answers of the judge's own model are left out" in done.stdout
    assert [row["event_id"] for row in kept(lake)] == ["other b"]
    done = compare(judge=f", deployment: {OLD}")
    assert "no question has an answer on both sides: choose longer periods; 4 answers of the judge's own" in done.stdout
    assert "2 pairs drawn" in compare(judge=", allow_own_model: true").stdout


def test_where_the_budget_ends_the_others_are_kept_and_the_rest_is_asked_the_next_time(
    lake: Lake, server: ScriptedServer, compare: Compare
) -> None:
    """The exit code says that not all were compared; nothing is paid or asked twice."""
    fill(lake, 12)
    # Each call costs 0.0001, and may cost 0.0013 before its reply is there.
    done = compare(judge=", budget_per_day: 0.0025, concurrency: 1, max_tokens: 100")
    assert done.exit_code == 1, done.output
    first = len(kept(lake))
    assert 0 < first < 12
    assert (
        f"12 pairs drawn, 0 of them compared before\npreferred by the judge: after {first}, before 0, ties 0"
        in done.stdout
    )
    assert f"without a reply: {12 - first} judge_budget; the others are kept" in done.stdout
    done = compare()
    assert done.exit_code == 0, done.output
    assert f"12 pairs drawn, {first} of them compared before" in done.stdout
    assert "after 12, before 0, ties 0, undecided 0; sign test 0.00049" in done.stdout
    assert (len(kept(lake)), len(server.requests)) == (12, 24)


def test_what_a_judge_refuses_for_good_is_undecided(lake: Lake, server: ScriptedServer, compare: Compare) -> None:
    fill(lake, 2)
    server.always = fails(400, "content_filter")
    done = compare()
    assert (done.exit_code, "undecided 2" in done.stdout) == (0, True)
    asked = len(server.requests)
    assert "2 of them compared before" in compare().stdout
    assert len(server.requests) == asked


def test_another_model_of_the_judge_is_asked_anew(lake: Lake, server: ScriptedServer, compare: Compare) -> None:
    fill(lake, 2)
    compare()
    done = compare(evaluator="judge: strict", judge=", temperature: 0.5")
    assert "2 pairs drawn, 0 of them compared before" in done.stdout
    assert (len(kept(lake)), len({row["judge_version"] for row in kept(lake)})) == (4, 2)


def test_which_judge_is_asked_must_be_known(lake: Lake, compare: Compare) -> None:
    """Of several none is taken by chance; the only one is that of every deployment."""
    fill(lake, 1)
    mild = ", mild: {base_url: 'http://127.0.0.1:9', model: x, allow_unpriced: true}"
    nobody = compare(evaluator="every: 60", judges=mild)
    assert isinstance(nobody.exception, ConfigError)
    assert "which judge compares the answers? Give --judge" in str(nobody.exception)
    other = compare(*SIDES, "--judge", "mild")
    assert isinstance(other.exception, ConfigError)
    assert "there is no judge 'mild'" in str(other.exception)
    unpriced = compare(*SIDES, "--judge", "mild", judges=mild.replace("allow_unpriced: true", "concurrency: 1"))
    assert isinstance(unpriced.exception, ConfigError)
    assert "it is not known what a call of judge 'mild' costs" in str(unpriced.exception)
    assert compare(*SIDES, "--judge", "strict", evaluator="every: 60", judges=mild).exit_code == 0
    assert "1 of them compared before" in compare(evaluator="every: 60").stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--deployment", "nobody"), "there is no deployment 'nobody'"),
        (("--deployment", NEW, "--before-deployment", "nobody"), "there is no deployment 'nobody'"),
        (("--deployment", NEW, "--since", "yesterday"), "is written as 2026-11-20"),
        (("--deployment", NEW, "--since", "2026-11-20", "--until", "2026-11-19"), "must not be after its last day"),
        (("--deployment", NEW, "--most", "0"), "--most"),
        (("--deployment", " "), "give a name"),
    ],
)
def test_wrong_options_are_explained(lake: Lake, compare: Compare, options: tuple[str, ...], words: str) -> None:
    fill(lake, 1)
    done = compare(*options)
    said = " ".join((done.output + str(done.exception)).replace("│", " ").split())
    assert (done.exit_code != 0, words in said) == (True, True), said


@pytest.mark.parametrize("subject", [Subject(user="ann"), Subject(user="bob"), Subject(chat="old chat")])
def test_pairs_of_a_person_are_erased(lake: Lake, compare: Compare, subject: Subject) -> None:
    """Whichever of both answers is the person's."""
    fill(lake, 2)
    log(lake, OLD, *answers("old", {"else": "bad"}, user_id="eve", chat_id="c1"))
    log(lake, NEW, *answers("new", {"else": "good"}, user_id="eve", chat_id="c2"))
    compare()
    assert len(kept(lake)) == 3
    erase(lake, subject, datetime.now(UTC))
    assert [row["event_id"] for row in kept(lake)] == ["new else"]


@pytest.mark.parametrize("chat", ["old chat", "new chat"])
def test_pairs_of_a_conversation_are_erased_when_its_answers_are_no_longer_in_the_log(
    lake: Lake, compare: Compare, chat: str
) -> None:
    fill(lake, 2)
    log(lake, OLD, *answers("old", {"else": "bad"}, chat_id="c1"))
    log(lake, NEW, *answers("new", {"else": "good"}, chat_id="c2"))
    compare()
    for name in (OLD, NEW):
        assert drop_before(lake.table(PARSED_LOGS, name), DAY + timedelta(days=1)).files
    erase(lake, Subject(chat=chat), datetime.now(UTC))
    assert [row["event_id"] for row in kept(lake)] == ["new else"]
    assert drop_before(lake.table(PREFERENCES, NEW), DAY + timedelta(days=1)).files
    assert kept(lake) == []


@pytest.mark.parametrize("user", ["ann", "bob"])
def test_an_erasure_meanwhile_refuses_the_pairs(
    lake: Lake, server: ScriptedServer, compare: Compare, user: str
) -> None:
    """Also in the first run, and where the answers are another deployment's; nothing of them is kept."""
    fill(lake, 2)
    gone: list[bool] = []

    def erases(question: str, one: str, other: str) -> str:
        if not gone:
            gone.append(True)
            erase(lake, Subject(user=user), datetime.now(UTC))
        return good(question, one, other)

    server.always = choosing(erases)
    done = compare()
    assert isinstance(done.exception, ConfigError)
    assert "nothing of this one was kept" in str(done.exception)
    assert kept(lake) == []
