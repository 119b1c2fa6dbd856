"""Runs that ask accepted cases again: what is asked, written, compared, and called a regression."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evaluator.replays import Outcome, ReplayRun, ReplaySettings, Reply, replay
from lake.delta_log.change import LostRaceError
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.retention import drop_before
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.case_vocabulary import ReplayVerdict
from lake.spec.deployment_families import Families
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.killing import KILLED, Moment, die
from tests.killing import run as run_and_wait

NAME = "rag"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
CASES = 12


class Scripted:
    """A deployment that gives what a function says, and remembers what it was asked."""

    def __init__(self, answer: Callable[[str], Reply]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, tuple[str, ...], str]] = []
        self.is_closed = False

    async def ask(self, question: str, documents: Sequence[str], trace_id: str) -> Reply:
        self.asked.append((question, tuple(documents), trace_id))
        return self.answer(question)

    async def close(self) -> None:
        self.is_closed = True


def fact(number: str) -> str:
    return f"Store {number} sells {number} kinds of tea"


def context(text: str) -> dict[str, Any]:
    return {"text": text, "title": None, "url": None, "page": None, "id": text[:8]}


def right(question: str) -> Reply:
    number = question.split()[-1].strip("?")
    return Reply(f"{fact(number)}.", f"r-{number}", [context(fact(number))], None, False, 10, 5)


def misses(question: str) -> Reply:
    return Reply("Coffee is sold next door.", "r", [context("Coffee is sold next door")], None, False, 10, 5)


def makes_up(question: str) -> Reply:
    number = question.split()[-1].strip("?")
    return Reply("Coffee is sold next door.", "r", [context(fact(number))], None, False, 10, 5)


def fails(_: str) -> Reply:
    return Reply(None, None, None, "status 502: bad gateway")


def fill(lake: Lake, cases: int = CASES, **columns: Any) -> None:
    rows = [
        {"case_id": f"case-{n:02d}", "deployment": NAME, "version": 1, "question": f"How many kinds has store {n}?"}
        | {"documents": ["files/tea.pdf"], "facts": [fact(str(n))], "answer": fact(str(n)), "status": "accepted"}
        | {"context": [fact(str(n))], "context_ids": [f"Store {n}"], "created_at": NOW, "updated_at": NOW}
        | columns
        for n in range(cases)
    ]
    lake.table(GROUND_TRUTH, NAME).append(GROUND_TRUTH.rows(rows))


def run(lake: Lake, answer: Callable[[str], Reply], *, accept: bool = False, **settings: Any) -> ReplayRun:
    made = replay(lake, NAME, Scripted(answer), ReplaySettings(**settings), [], accept=accept)
    assert made is not None
    return made


def written(lake: Lake) -> list[dict[str, Any]]:
    return lake.table(REPLAYS, NAME).read().to_pylist()


def test_each_accepted_case_is_asked_once_in_a_trace_of_its_own(lake: Lake) -> None:
    """With its documents; answers, contexts and scores are written, and the connection is closed."""
    fill(lake)
    fill(lake, 1, case_id="proposed", status="proposed")
    fill(lake, 1, case_id="later", conversation_hash="h")
    deployment = Scripted(right)
    made = replay(lake, NAME, deployment, ReplaySettings(), [])
    assert made is not None
    assert (made.verdict, made.in_conversation, made.not_asked, made.errors) == (ReplayVerdict.BASELINE, 1, 0, 0)
    assert sorted(question for question, _, _ in deployment.asked) == sorted(
        f"How many kinds has store {n}?" for n in range(CASES)
    )
    assert {documents for _, documents, _ in deployment.asked} == {("files/tea.pdf",)}
    rows = written(lake)
    assert len({row["trace_id"] for row in rows} | {row["replay_id"] for row in rows}) == 2 * CASES
    assert {(row["is_baseline"], row["compared_with"], row["verdict"]) for row in rows} == {(True, None, "baseline")}
    assert {score["value"] for row in rows for score in row["scores"] if score["metric"] == "case_passed"} == {1.0}
    assert rows[0]["contexts"][0]["text"].startswith("Store")
    assert deployment.is_closed


def test_a_new_version_is_asked_the_cases_of_older_ones_and_its_own_of_the_same_question(lake: Lake) -> None:
    """Not one whose question a newer version has, accepted or rejected; the runs of the older version stay its own."""

    def case(deployment: str, number: int, status: str = "accepted") -> None:
        rows = {"case_id": f"{deployment} {number}", "deployment": deployment, "version": 1, "status": status}
        rows |= {"question": f"How many kinds has store {number}?", "answer": fact(str(number)), "created_at": NOW}
        lake.table(GROUND_TRUTH, deployment).append(GROUND_TRUTH.rows([rows | {"updated_at": NOW}]))

    old, new = "help__1.0.0", "help__1.1.0"
    for number in (1, 2, 3):
        case(old, number)
    case(new, 2)
    case(new, 3, status="rejected")
    case("other__1.0.0", 9)
    deployment = Scripted(right)
    made = replay(lake, new, deployment, ReplaySettings(), [])
    assert made is not None
    assert {row["case_id"] for row in made.rows} == {f"{new} 2", f"{old} 1"}
    assert replay(lake, new, deployment, ReplaySettings(), [], families=Families(by_id=False)) is not None
    again = replay(lake, new, deployment, ReplaySettings(), [])
    assert again is not None
    assert again.comparison is not None
    assert again.changed == 0
    assert lake.table(REPLAYS, old).version() is None
    only_old = Scripted(right)
    assert replay(lake, old, only_old, ReplaySettings(), []) is not None
    assert len(only_old.asked) == 3


@pytest.mark.parametrize(("answer", "part"), [(misses, "retrieval"), (makes_up, "generation")])
def test_a_run_that_got_worse_is_a_regression_that_names_the_part(
    lake: Lake, answer: Callable[[str], Reply], part: str
) -> None:
    fill(lake)
    first = run(lake, right)
    second = run(lake, answer)
    assert second.verdict == ReplayVerdict.REGRESSION
    assert second.comparison is not None
    assert second.comparison.count(Outcome.WORSE) == CASES
    parts = {score["failed_part"] for row in second.rows for score in row["scores"] if score["value"] == 0}
    assert part in parts
    assert {row["compared_with"] for row in second.rows} == {first.run_id}
    assert not any(row["is_baseline"] for row in second.rows)
    third = run(lake, right)
    assert (third.verdict, third.rows[0]["compared_with"]) == (ReplayVerdict.NO_REGRESSION, first.run_id)


def test_one_case_that_changed_is_no_regression_and_is_named(lake: Lake) -> None:
    fill(lake)
    run(lake, right)
    made = run(lake, lambda question: misses(question) if question.endswith("store 3?") else right(question))
    assert made.verdict == ReplayVerdict.NO_REGRESSION
    assert made.comparison is not None
    assert [one.case_id for one in made.comparison.cases if one.outcome == Outcome.WORSE] == ["case-03"]


def test_what_a_person_accepts_is_compared_with_from_then_on(lake: Lake) -> None:
    fill(lake)
    run(lake, right)
    accepted = run(lake, misses, accept=True)
    assert accepted.verdict == ReplayVerdict.REGRESSION
    again = run(lake, misses)
    assert (again.verdict, again.rows[0]["compared_with"]) == (ReplayVerdict.NO_REGRESSION, accepted.run_id)


def test_each_run_after_a_baseline_needs_more_evidence(lake: Lake) -> None:
    """So that the chance that any of them is called worse without a cause stays `alpha`."""
    fill(lake)
    run(lake, right)
    levels = []
    for _ in range(3):
        made = run(lake, right)
        assert made.comparison is not None
        levels += [one.level for one in made.comparison.metrics if one.metric == "case_passed"]
    assert levels == pytest.approx([0.05 * (one / 3 + 2 / 3 / 50) for one in (1 / 2, 1 / 6, 1 / 12)])


def test_a_run_without_answers_concludes_nothing_and_is_no_baseline(lake: Lake) -> None:
    fill(lake)
    made = run(lake, fails)
    assert (made.verdict, made.errors) == (ReplayVerdict.INCOMPLETE, CASES)
    assert {row["error"] for row in written(lake)} == {"status 502: bad gateway"}
    assert run(lake, right).verdict == ReplayVerdict.BASELINE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "is_shown"),
    [(misses, True), (lambda question: misses(question) if _number(question) < 9 else right(question), False)],
)
def test_a_regression_that_lasts_stays_one(lake: Lake, bad: Callable[[str], Reply], is_shown: bool) -> None:
    """Each later run needs more evidence than the one before: that it lacks it is no evidence that all is well."""
    fill(lake)
    run(lake, right)
    nights = [run(lake, misses), *(run(lake, bad) for _ in range(15))]
    assert {made.verdict for made in nights} == {ReplayVerdict.REGRESSION}
    assert {made.worse_since for made in nights[1:]} == {nights[0].rows[0]["run_started_at"]}
    assert nights[-1].comparison is not None
    assert nights[-1].comparison.is_regression is is_shown
    well = run(lake, right)
    assert (well.verdict, well.worse_since) == (ReplayVerdict.NO_REGRESSION, None)


def test_a_regression_is_not_over_with_half_of_what_was_lost(lake: Lake) -> None:
    """It ends where the answers are nearer to those of the baseline than to those of the fall, beyond chance."""
    fill(lake)
    run(lake, right)
    assert run(lake, misses).verdict == ReplayVerdict.REGRESSION
    half = run(lake, lambda question: misses(question) if _number(question) % 2 else right(question))
    assert half.verdict == ReplayVerdict.REGRESSION
    nearly = run(lake, lambda question: misses(question) if _number(question) == 3 else right(question))
    assert nearly.verdict == ReplayVerdict.NO_REGRESSION


def test_a_regression_is_over_once_a_person_accepts_it(lake: Lake) -> None:
    fill(lake)
    run(lake, right)
    run(lake, misses)
    run(lake, misses, accept=True)
    assert run(lake, misses).verdict == ReplayVerdict.NO_REGRESSION


def test_a_run_that_says_nothing_ends_no_regression(lake: Lake) -> None:
    fill(lake)
    run(lake, right)
    run(lake, misses)
    assert run(lake, fails).verdict == ReplayVerdict.INCOMPLETE
    assert run(lake, right, most_tokens=15, concurrency=1).verdict == ReplayVerdict.REGRESSION
    assert run(lake, misses).verdict == ReplayVerdict.REGRESSION


def _number(question: str) -> int:
    return int(question.split()[-1].strip("?"))


@pytest.mark.parametrize(
    ("unanswered", "verdict"),
    [(1, ReplayVerdict.NO_REGRESSION), (6, ReplayVerdict.REGRESSION), (7, ReplayVerdict.INCOMPLETE)],
)
def test_a_case_without_an_answer_is_worse_than_before(lake: Lake, unanswered: int, verdict: ReplayVerdict) -> None:
    """A few that fail are cases answered worse; with more than a tenth nothing is concluded."""
    fill(lake, 60)
    for _ in range(3):
        run(lake, right)
    made = run(lake, lambda question: fails(question) if _number(question) < unanswered else right(question))
    assert made.verdict == verdict
    assert made.comparison is not None
    worse = {one.case_id for one in made.comparison.cases if one.outcome == Outcome.WORSE}
    assert worse == {f"case-{n:02d}" for n in range(unanswered)}


def test_an_incomplete_run_is_no_baseline_even_if_it_is_accepted(lake: Lake) -> None:
    fill(lake)
    run(lake, right)
    made = run(lake, lambda question: fails(question) if _number(question) < 2 else right(question), accept=True)
    assert (made.verdict, made.rows[0]["is_baseline"]) == (ReplayVerdict.INCOMPLETE, False)


def test_a_run_that_could_find_nothing_says_so(lake: Lake) -> None:
    """With five cases not even five worse answers are beyond chance in the first run; with seven they are."""
    fill(lake, 5)
    run(lake, right)
    made = run(lake, misses)
    assert (made.verdict, made.rows[0]["is_baseline"]) == (ReplayVerdict.TOO_FEW, False)
    assert made.comparison is not None
    assert {one.needed_pairs for one in made.comparison.metrics} == {7}


def test_cases_that_came_after_the_baseline_are_no_evidence(lake: Lake) -> None:
    fill(lake, 20, status="rejected")
    fill(lake, 3, version=2, status="accepted")
    run(lake, right)
    fill(lake, 20, version=3)
    assert run(lake, lambda q: misses(q) if _number(q) > 2 else right(q)).verdict == ReplayVerdict.TOO_FEW


def test_new_cases_are_compared_with_their_first_answers(lake: Lake) -> None:
    """Of the first run after the baseline that asked them and found nothing."""
    fill(lake, 3)
    run(lake, right)
    fill(lake, 20, version=2)
    assert run(lake, right).verdict == ReplayVerdict.TOO_FEW
    made = run(lake, lambda q: misses(q) if _number(q) > 2 else right(q))
    assert made.comparison is not None
    assert (made.verdict, len(made.comparison.cases)) == (ReplayVerdict.REGRESSION, 20)


def test_the_cases_of_the_baseline_are_asked_before_new_ones(lake: Lake) -> None:
    """So that new cases, whatever their ids, do not take the place of those that can be compared."""
    fill(lake)
    run(lake, right, most_cases=10)
    rows = lake.table(GROUND_TRUTH, NAME).read().to_pylist()
    new = [row | {"case_id": f"aaa-{row['case_id']}"} for row in rows]
    lake.table(GROUND_TRUTH, NAME).append(GROUND_TRUTH.rows(new))
    made = run(lake, misses, most_cases=10)
    assert made.verdict == ReplayVerdict.REGRESSION
    assert {row["case_id"] for row in made.rows} == {f"case-{n:02d}" for n in range(10)}


def test_the_baseline_outlives_the_retention(lake: Lake) -> None:
    """A broken application does not become the baseline because the good answers are old."""
    fill(lake)
    run(lake, right)
    table = lake.table(REPLAYS, NAME)
    assert drop_before(table, datetime.now(UTC).date() + timedelta(days=1)).files == 0
    run(lake, misses)
    assert run(lake, misses).verdict == ReplayVerdict.REGRESSION


def test_a_needed_tool_is_the_part_that_failed(lake: Lake) -> None:
    """It failed, or was not called; where the answer tells nothing of its calls it is another part."""
    needed = {"name": "get_store", "arguments": "{}"}
    fill(lake, 3, tool_calls=[needed])
    told = {
        "store 0?": [{**needed, "id": "1", "result": "no", "is_error": True}],
        "store 1?": [],
        "store 2?": None,
    }

    def answers(question: str) -> Reply:
        calls = next(calls for end, calls in told.items() if question.endswith(end))
        return replace(misses(question), tool_calls=calls)

    made = run(lake, answers)
    parts = {row["case_id"]: score["failed_part"] for row in made.rows for score in row["scores"]}
    assert parts == {"case-00": "tool", "case-01": "wrong_tool", "case-02": "retrieval"}


def test_limits_hold(lake: Lake) -> None:
    """No case is begun once the tokens are taken; the same cases are asked each time."""
    fill(lake)
    few = run(lake, right, most_cases=5)
    assert (len(few.rows), few.not_asked) == (5, CASES - 5)
    assert {row["case_id"] for row in run(lake, right, most_cases=5).rows} == {row["case_id"] for row in few.rows}
    short = run(lake, right, most_tokens=45, concurrency=1)
    assert (len(short.rows), short.tokens) == (3, 45)


def test_nothing_to_ask_writes_nothing(lake: Lake) -> None:
    fill(lake, status="proposed")
    assert replay(lake, NAME, Scripted(right), ReplaySettings(), []) is None
    assert lake.table(REPLAYS, NAME).version() is None


def test_what_is_erased_during_a_run_is_not_written(lake: Lake) -> None:
    """The run is refused, as it may hold answers to a question of the person who was erased."""
    fill(lake, source_response_id="r-1")
    source = {"event_id": "e-1", "response_id": "r-1", "response_ids": ["r-1"], "date": NOW.date(), "requested_at": NOW}
    lake.table(PARSED_LOGS, NAME).append(PARSED_LOGS.rows([source]))

    def erases(question: str) -> Reply:
        erase(lake, Subject(response="r-1"), NOW)
        return right(question)

    with pytest.raises(LostRaceError):
        replay(lake, NAME, Scripted(erases), ReplaySettings(concurrency=1, most_cases=1), [])
    assert written(lake) == []


def test_a_run_that_is_told_to_stop_is_none(lake: Lake) -> None:
    fill(lake)
    deployment = Scripted(right)
    stopped = replay(
        lake, NAME, deployment, ReplaySettings(concurrency=1), [], is_stopping=lambda: len(deployment.asked) >= 3
    )
    assert (stopped, len(deployment.asked), lake.table(REPLAYS, NAME).version()) == (None, 3, None)


def dying(root: str, moment: Moment) -> None:
    """A run that dies around its commit."""
    die(moment, Table, "append", counts=lambda to, *_, **__: to.spec is REPLAYS)
    run(Lake(root), right)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("moment", "verdict", "rows"),
    [("before", ReplayVerdict.BASELINE, CASES), ("after", ReplayVerdict.NO_REGRESSION, 2 * CASES)],
)
def test_a_killed_run_is_whole_or_none(lake: Lake, moment: Moment, verdict: ReplayVerdict, rows: int) -> None:
    """The next one is compared with a whole run, or is the first."""
    fill(lake)
    assert run_and_wait(dying, lake.root, moment) == KILLED
    assert run(lake, right).verdict == verdict
    assert len(written(lake)) == rows
