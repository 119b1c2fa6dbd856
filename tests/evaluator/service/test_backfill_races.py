"""A backfill that is killed, and one beside the service, an erasure and another backfill."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evaluator.answers import Period, old
from evaluator.service.backfill import Backfill
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.delta_log.change import LostRaceError
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.killing import KILLED, Moment, die, run

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WEEK = Period(NOW - timedelta(days=7), NOW)
SETTINGS = EvaluatorSettings(metrics=["faithfulness_kprecision"])
REFUSAL = "refusal"


def refusal_backfill(lake: Lake) -> Backfill:
    return Backfill(lake, SETTINGS, WEEK, [REFUSAL], clock=lambda: NOW)


def killed_backfill(root: str, moment: Moment, at: int) -> None:
    """A backfill that dies around the commit of a batch."""
    die(moment, Table, "append", at=at)
    old.ANSWERS_AT_ONCE = 4
    Backfill(Lake(root), EvaluatorSettings(), WEEK, [REFUSAL], clock=lambda: NOW).run()


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.answers.old.ANSWERS_AT_ONCE", 4)


def fill(traffic: Any, *users: str) -> None:
    traffic.log(*(traffic.answer(str(n), n, ingested_at=NOW, user_id=users[n % len(users)]) for n in range(20)))


def before_commit(monkeypatch: pytest.MonkeyPatch, number: int, step: Callable[[], object]) -> None:
    """Take a step when the backfill is about to commit so many batches."""
    append, commits = Table.append, [0]

    def late(table: Table, rows: Any, *given: Any, **named: Any) -> None:
        if table.spec is SCORES and rows.num_rows and rows["is_backfill"][0].as_py():
            commits[0] += 1
            if commits[0] == number:
                step()
        append(table, rows, *given, **named)

    monkeypatch.setattr(Table, "append", late)


@pytest.mark.integration
def test_a_killed_backfill_is_finished_by_the_next_as_if_undisturbed(tmp_path: Path, traffic: Any) -> None:
    """SIGKILL before and after commits: what was committed stays, and the run that ends well adds the rest, once."""
    quiet = type(traffic)(Lake(str(tmp_path / "quiet")), "rag")
    for one in (quiet, traffic):
        fill(one, "ann")
        Evaluator(one.lake, SETTINGS, clock=lambda: NOW).run_once()
    refusal_backfill(quiet.lake).run()
    for moment, number, there in [("before", 2, 4), ("after", 1, 8), ("before", 1, 8), ("after", 2, 16)]:
        assert run(killed_backfill, traffic.lake.root, moment, number) == KILLED
        assert len(traffic.values(REFUSAL)) == there
    (done,) = refusal_backfill(traffic.lake).run().deployments
    assert (done.counts.scored, done.held) == (4, 16)
    assert traffic.scores() == quiet.scores()


def test_the_service_goes_on_beside_a_backfill(lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes between its commits score what is new, and neither refuses the other; nothing is scored twice."""
    fill(traffic, "ann")
    service = Evaluator(lake, EvaluatorSettings(metrics=[REFUSAL, "context_present"]), clock=lambda: NOW)
    Evaluator(lake, SETTINGS, clock=lambda: NOW).run_once()
    small_batches(monkeypatch)
    passes = []

    def new_traffic() -> None:
        traffic.log(traffic.answer("new", 100))
        passes.append(service.run_once())

    before_commit(monkeypatch, 3, new_traffic)
    (done,) = refusal_backfill(lake).run().deployments
    assert [one.scored for one in passes] == [2]
    assert done.counts.scored == 20
    ids = [row["score_id"] for row in traffic.scores()]
    assert len(set(ids)) == len(ids) == 20 + 20 + 2
    assert not next(row for row in traffic.scores() if row["event_id"] == "event-new")["is_backfill"]


def test_a_pass_under_way_is_not_refused_by_a_backfill(
    lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass takes longer than many commits of a backfill: were it refused, new answers would wait for its end."""
    fill(traffic, "ann")
    service = Evaluator(lake, SETTINGS, clock=lambda: NOW)
    service.run_once()
    traffic.log(traffic.answer("new", 100))
    append, done = Table.append, []

    def late(table: Table, *given: Any, **named: Any) -> None:
        if table.spec is SCORES and not done:
            done.append("now")
            done[:] = refusal_backfill(lake).run().deployments
        append(table, *given, **named)

    monkeypatch.setattr(Table, "append", late)
    assert service.run_once().scored == 1
    assert (done[0].counts.scored, done[0].left) == (20, 1)


def test_before_the_first_pass_service_and_backfill_refuse_each_other(
    lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both would score all that is there: the later one looks again, and leaves out what the other did."""
    fill(traffic, "ann")
    service = Evaluator(lake, EvaluatorSettings(metrics=[REFUSAL]), clock=lambda: NOW)
    small_batches(monkeypatch)
    before_commit(monkeypatch, 3, service.run_once)
    (done,) = refusal_backfill(lake).run().deployments
    ids = [row["score_id"] for row in traffic.scores()]
    assert len(set(ids)) == len(ids) == 20
    assert (done.counts.scored, done.held) == (8, 12)


def test_two_backfills_at_once_score_each_answer_once(
    lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever commits second looks again and does the rest."""
    fill(traffic, "ann")
    Evaluator(lake, SETTINGS, clock=lambda: NOW).run_once()
    small_batches(monkeypatch)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(refusal_backfill(lake).run())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [result.failures for result in results] == [(), ()]
    assert sum(result.deployments[0].counts.scored for result in results) == 20
    assert len(traffic.scores()) == 40


@pytest.mark.parametrize(("lost_each", "fails"), [(1, False), (2, False), (3, True)])
def test_a_backfill_gives_up_where_others_are_faster_all_the_time(
    lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch, lost_each: int, fails: bool
) -> None:
    """So many times in a row without a commit of its own, and not so many in all."""
    fill(traffic, "ann")
    Evaluator(lake, SETTINGS, clock=lambda: NOW).run_once()
    small_batches(monkeypatch)
    monkeypatch.setattr("evaluator.service.backfill._ATTEMPTS", 3)
    append, tries = Table.append, [0]

    def late(table: Table, rows: Any, *given: Any, **named: Any) -> None:
        if table.spec is SCORES:
            tries[0] += 1
            if tries[0] % (lost_each + 1):
                raise LostRaceError("another was faster")
        append(table, rows, *given, **named)

    monkeypatch.setattr(Table, "append", late)
    result = refusal_backfill(lake).run()
    if fails:
        (failure,) = result.failures
        assert "was changed by others 3 times before a batch" in failure.error
    else:
        assert result.failures == ()
        assert (result.deployments[0].counts.scored, result.deployments[0].held) == (20, 0)
        assert len(traffic.values(REFUSAL)) == 20


@pytest.mark.parametrize("has_service_pass", [True, False], ids=["after a pass of the service", "before the first"])
@pytest.mark.parametrize("number", [1, 3])
def test_what_was_erased_is_not_written_back(
    lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch, number: int, has_service_pass: bool
) -> None:
    """A backfill that has read a person's answers before they were erased looks again, and scores the others'."""
    fill(traffic, "gone", "stays")
    if has_service_pass:
        Evaluator(lake, SETTINGS, clock=lambda: NOW).run_once()
    small_batches(monkeypatch)
    before_commit(monkeypatch, number, lambda: erase(lake, Subject(user="gone"), datetime.now(UTC)))
    result = refusal_backfill(lake).run()
    assert result.failures == ()
    left = set(lake.table(PARSED_LOGS, "rag").read(["event_id"])["event_id"].to_pylist())
    assert len(left) == 10
    assert {f"event-{name}" for name in traffic.values(REFUSAL)} == left
    assert {row["event_id"] for row in traffic.scores()} == left
