"""Budgets of judges that hold for evaluators of several machines: each has a file of calls, all have one lake."""

from __future__ import annotations

import asyncio
import pickle
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from evaluator.judges.budget_ledger import BudgetLedger
from evaluator.judges.budget_slices import BudgetSlices, UnreservableError
from evaluator.judges.calls import BudgetSpentError, Calls
from evaluator.judges.exchange import ChatMessage
from evaluator.judges.judge import Judge
from evaluator.judges.settings import JudgeSettings
from lake.delta_log.change import Change
from lake.spec.root_tables import JUDGE_BUDGETS
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.evaluator.judges.conftest import NOON, SCHEMA
from tests.evaluator.judges.scripted_server import calls_of
from tests.killing import kill, start

COST, BOUND = 0.0002, 0.04
AT_NOON = datetime.fromtimestamp(NOON, UTC)


class Machine:
    """One machine: its file of calls, and its slices of the budget."""

    def __init__(self, lake: Lake, folder: Path, clock: list[float], **budgets: float) -> None:
        self.judge = JudgeSettings.model_validate(
            {"base_url": "http://127.0.0.1/v1", "model": "m", "prompt_price": 1, "completion_price": 1} | budgets
        )
        self.ticks = count()
        self.calls = Calls(Path(tempfile.mkdtemp(dir=folder)) / "calls.sqlite", lambda: clock[0])
        self.ledger = BudgetLedger(lake, monotonic=lambda: next(self.ticks) * 60.0)
        self.slices = BudgetSlices("strict", self.judge, self.calls, self.ledger)
        _MACHINES.append(self)

    def begin(self, bound: float) -> int:
        return asyncio.run(self.slices.begin("key", bound))

    def spent(self) -> tuple[float, float]:
        return self.calls.spent("strict")


_MACHINES: list[Machine] = []


@pytest.fixture(autouse=True)
def closed_files() -> Iterator[None]:
    """Close the files of calls of all machines that a test has made."""
    yield
    while _MACHINES:
        _MACHINES.pop().calls.close()


def test_what_is_given_back_with_a_reservation_is_left_to_the_day(tmp_path: Path) -> None:
    """Of its own hour: the present one has what was reserved for it."""
    lake = Lake(str(tmp_path / "lake"))
    earlier, budgets = AT_NOON - timedelta(hours=1), {"hour": 1.0, "day": 1.0}
    assert BudgetLedger(lake).reserve("strict", earlier, 0.5, budgets) == 0.5
    assert BudgetLedger(lake).reserve("strict", AT_NOON, 0.2, budgets, {earlier: 0.3}) == 0.2
    assert BudgetLedger(lake).reserved("strict", AT_NOON) == pytest.approx((0.2, 0.4))
    assert BudgetLedger(lake).reserved("strict", earlier) == pytest.approx((0.2, 0.4))
    BudgetLedger(lake).give_back("strict", {AT_NOON: 0.1})
    assert BudgetLedger(lake).reserved("strict", AT_NOON) == pytest.approx((0.1, 0.3))


def test_a_slice_is_a_hundredth_of_the_budget_or_what_the_call_may_cost(tmp_path: Path) -> None:
    machine = Machine(Lake(str(tmp_path / "lake")), tmp_path, [NOON], budget_per_day=10.0)
    for _ in range(3):
        machine.begin(0.04)
    assert machine.ledger.reserved("strict", AT_NOON) == pytest.approx((0.2, 0.2))
    machine.begin(3.0)
    assert machine.ledger.reserved("strict", AT_NOON)[1] == pytest.approx(3.12)


def test_what_one_machine_has_reserved_another_cannot_spend(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    first, second = (Machine(lake, tmp_path, [NOON], budget_per_hour=1.0) for _ in range(2))
    first.begin(0.7)
    with pytest.raises(BudgetSpentError, match=r"0\.3 left, the call may cost 0\.4"):
        second.begin(0.4)
    second.begin(0.3)


def test_what_was_not_spent_is_given_back_at_the_end(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    first, second = (Machine(lake, tmp_path, [NOON], budget_per_hour=1.0, budget_per_day=2.0) for _ in range(2))
    first.calls.finish(first.begin(0.9), "{}", 0.1)
    asyncio.run(first.slices.give_back())
    second.begin(0.9)
    with pytest.raises(BudgetSpentError):
        second.begin(0.1)


def test_what_an_hour_did_not_spend_is_left_to_the_day(tmp_path: Path) -> None:
    clock = [NOON]
    machine = Machine(Lake(str(tmp_path / "lake")), tmp_path, clock, budget_per_hour=1.0, budget_per_day=1.5)
    machine.calls.finish(machine.begin(1.0), "{}", 0.5)
    clock[0] += 3600
    machine.begin(1.0)
    with pytest.raises(BudgetSpentError):
        machine.begin(0.1)


def test_a_machine_that_begins_again_goes_on_with_its_slices(tmp_path: Path) -> None:
    machine = Machine(Lake(str(tmp_path / "lake")), tmp_path, [NOON], budget_per_day=1.0)
    machine.calls.finish(machine.begin(0.9), "{}", 0.1)
    again = BudgetSlices("strict", machine.judge, machine.calls, pickle.loads(pickle.dumps(machine.ledger)))
    asyncio.run(again.begin("other", 0.8))
    assert machine.ledger.reserved("strict", AT_NOON)[1] == pytest.approx(0.9)


def test_a_lake_that_cannot_be_written_lets_nobody_spend(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the folder should be")
    machine = Machine(Lake(str(tmp_path / "lake")), tmp_path, [NOON], budget_per_day=1.0)
    with pytest.raises(UnreservableError, match="the budget of judge 'strict' cannot be reserved"):
        machine.begin(0.1)
    assert machine.spent() == (0, 0)


def test_a_judge_without_a_budget_asks_no_lake(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the folder should be")
    Machine(Lake(str(tmp_path / "lake")), tmp_path, [NOON]).begin(5.0)


def test_budgets_hold_after_the_table_was_removed(tmp_path: Path) -> None:
    """What is in the files of calls counts again, as soon as a machine needs more."""
    machine = Machine(Lake(str(tmp_path / "lake")), tmp_path, [NOON], budget_per_day=1.0)
    machine.begin(0.6)
    shutil.rmtree(tmp_path / "lake" / JUDGE_BUDGETS.name)
    with pytest.raises(BudgetSpentError):
        machine.begin(0.6)


def test_a_refused_reservation_loses_nothing_that_earlier_hours_did_not_spend(tmp_path: Path) -> None:
    """It was to be given back with it: a smaller call has it all the same."""
    lake, clock = Lake(str(tmp_path / "lake")), [NOON]
    first, second = (Machine(lake, tmp_path, clock, budget_per_hour=1.0, budget_per_day=1.4) for _ in range(2))
    first.calls.finish(first.begin(1.0), "{}", 0.5)
    clock[0] += 3600
    second.begin(0.3)
    for _ in range(3):
        with pytest.raises(BudgetSpentError, match=r"the day's budget of 1\.4 has 0\.6 left, the call may cost 0\.9"):
            first.begin(0.9)
    first.begin(0.59)
    assert sum(one.spent()[1] for one in (first, second)) == pytest.approx(1.39)
    with pytest.raises(BudgetSpentError):
        second.begin(0.02)


TODAY = range(-12, 12)
"""Hours from noon."""


class Reserving:
    """A process that reserves of 1.0 an hour and 2.0 a day; `seconds` are its own."""

    def __init__(self, lake: Lake) -> None:
        self.seconds = 0.0
        self.ledger = BudgetLedger(lake, monotonic=lambda: self.seconds)

    def reserve(self, amount: float, judge: str = "strict", hours: int = 0) -> float:
        at = AT_NOON + timedelta(hours=hours)
        return self.ledger.reserve(judge, at, amount, {"hour": 1.0, "day": 2.0})


def test_a_refusal_holds_for_calls_that_cost_as_much_for_ten_seconds(tmp_path: Path) -> None:
    """So long the store is not asked; a smaller call, another judge and another hour are asked about at once."""
    one, other = (Reserving(Lake(str(tmp_path / "lake"))) for _ in range(2))
    assert one.reserve(0.5) == 0.5
    with pytest.raises(BudgetSpentError):
        one.reserve(0.6)
    other.ledger.give_back("strict", {AT_NOON: 0.5})
    for seconds, amount in ((0, 0.6), (9.9, 0.6), (9.9, 0.7)):
        one.seconds = seconds
        with pytest.raises(BudgetSpentError):
            one.reserve(amount)
    assert one.reserve(0.6, "lenient") == 0.6
    assert one.reserve(0.59) == 0.59
    other.ledger.give_back("strict", {AT_NOON: 0.59})
    assert one.reserve(0.6) == 0.6
    with pytest.raises(BudgetSpentError):
        one.reserve(0.7)
    other.ledger.give_back("strict", {AT_NOON: 0.6})
    with pytest.raises(BudgetSpentError):
        one.reserve(0.7)
    assert one.reserve(0.7, hours=1) == 0.7


def test_a_refusal_ends_after_ten_seconds(tmp_path: Path) -> None:
    """What others gave back meanwhile can be reserved then."""
    one, other = (Reserving(Lake(str(tmp_path / "lake"))) for _ in range(2))
    one.reserve(0.5)
    with pytest.raises(BudgetSpentError):
        one.reserve(0.6)
    other.ledger.give_back("strict", {AT_NOON: 0.5})
    one.seconds = 10
    assert one.reserve(0.6) == 0.6


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["strict", "lenient"]), st.integers(-26, 11), st.floats(0.01, 0.1))))
def test_what_is_reserved_is_the_sum_of_its_hour_and_its_day_however_often_it_is_read(
    made: list[tuple[str, int, float]],
) -> None:
    """Also where the store gives all rows again, as after a compaction and a vacuum."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        ledger, writer = (BudgetLedger(Lake(folder)) for _ in range(2))
        read = Table.read_since
        for judge, hour, amount in made:
            writer.reserve(judge, AT_NOON + timedelta(hours=hour), amount, {"day": 100.0, "hour": 10.0})
            ledger.reserved(judge, AT_NOON)
        reserved = {(judge, hour): 0.0 for judge in ("strict", "lenient") for hour in range(-26, 12)}
        for judge, hour, amount in made:
            reserved[judge, hour] += max(amount, 0.1)

        def again(table: Table, version: int | None, *given: Any, **named: Any) -> Change:
            return replace(read(table, None, *given, **named), repeats=version is not None)

        def check() -> None:
            for judge in ("strict", "lenient"):
                for hour, of_day in ((-13, range(-26, -12)), (-12, TODAY), (0, TODAY), (11, TODAY)):
                    found = ledger.reserved(judge, AT_NOON + timedelta(hours=hour))
                    assert found == pytest.approx((reserved[judge, hour], sum(reserved[judge, one] for one in of_day)))

        check()
        patch.setattr(Table, "read_since", again)
        check()
        check()


@settings(max_examples=30, stateful_step_count=30, deadline=None)
class BudgetMachine(RuleBasedStateMachine):
    """Machines begin and end calls, go and come again, in any order over some hours."""

    PER_HOUR, PER_DAY = 1.0, 2.5

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.lake = Lake(str(self.folder / "lake"))
        self.clock = [NOON]
        budgets = {"budget_per_hour": self.PER_HOUR, "budget_per_day": self.PER_DAY}
        self.machines = [Machine(self.lake, self.folder, self.clock, **budgets) for _ in range(3)]
        self.begun: list[tuple[Machine, int, float]] = []

    @rule(which=st.integers(0, 2), bound=st.floats(0.001, 0.6))
    def begin(self, which: int, bound: float) -> None:
        machine = self.machines[which]
        try:
            self.begun.append((machine, machine.begin(bound), bound))
        except BudgetSpentError:
            hour, day = machine.ledger.reserved("strict", datetime.fromtimestamp(self.clock[0], UTC))
            assert min(self.PER_HOUR - hour, self.PER_DAY - day) < bound

    @precondition(lambda self: self.begun)
    @rule(data=st.data(), share=st.floats(0, 1))
    def finish(self, data: st.DataObject, share: float) -> None:
        machine, call, bound = self.begun.pop(data.draw(st.integers(0, len(self.begun) - 1)))
        machine.calls.finish(call, "{}", bound * share)

    @rule(which=st.integers(0, 2))
    def end(self, which: int) -> None:
        asyncio.run(self.machines[which].slices.give_back())

    @rule(minutes=st.integers(1, 90))
    def wait(self, minutes: int) -> None:
        if self.clock[0] + 60 * minutes < NOON + 11.9 * 3600:
            self.clock[0] += 60 * minutes

    @invariant()
    def no_budget_is_passed(self) -> None:
        spent = [machine.spent() for machine in self.machines]
        assert sum(hour for hour, _ in spent) <= self.PER_HOUR + 1e-6
        assert sum(day for _, day in spent) <= self.PER_DAY + 1e-6

    def teardown(self) -> None:
        for machine in self.machines:
            machine.calls.close()
            _MACHINES.remove(machine)
        shutil.rmtree(self.folder)


test_any_order_of_calls_keeps_the_budgets = BudgetMachine.TestCase


def _ask(url: str, lake: str, calls: str, questions: int, first: int) -> None:
    prices = {"prompt_price": 1, "completion_price": 10, "budget_per_day": 0.4}
    chosen = JudgeSettings.model_validate({"base_url": url, "model": "m", "concurrency": 4} | prices)

    async def run() -> None:
        ledger = BudgetLedger(Lake(lake))
        async with Judge("strict", chosen, Calls(Path(calls)), budgets=ledger) as judge:
            asking = (
                judge.ask([ChatMessage("user", f"{first + i}")], SCHEMA, prompt_version="1") for i in range(questions)
            )
            await asyncio.gather(*asking, return_exceptions=True)

    asyncio.run(run())


@pytest.mark.integration
def test_eight_workers_of_which_some_are_killed_do_not_pass_a_budget(judge_url: str, tmp_path: Path) -> None:
    """Each has a file of its own, as on a machine of its own; what files say was spent is at most the budget."""
    lake, files = str(tmp_path / "lake"), [tmp_path / f"{number}" / "calls.sqlite" for number in range(8)]
    before = calls_of(judge_url)
    workers = [start(_ask, judge_url, lake, str(path), 400, 1000 * n) for n, path in enumerate(files)]
    while calls_of(judge_url) < before + 100 and any(worker.is_alive() for worker in workers):
        time.sleep(0.01)
    for worker in workers[:3]:
        kill(worker)
    for worker in workers[3:]:
        worker.join()
        assert worker.exitcode == 0
    calls = calls_of(judge_url) - before
    spent = []
    for path in filter(Path.exists, files):
        with closing(Calls(path)) as kept:
            spent.append(kept.spent("strict")[1])
    assert calls > 100
    assert calls * COST <= sum(spent) <= 0.4
