"""Retries of pending scores by a judge that never answers about some: what is asked when, and what comes first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evaluator.judges.calls import Calls
from evaluator.service.passes import Evaluator
from tests.evaluator.conftest import Traffic
from tests.evaluator.judged import JUDGED, settings
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, as_it_can, fails

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


async def fails_on_poison(request: Request, send: Send) -> None:
    await (fails(401) if "poison" in prompt(request) else as_it_can)(request, send)


def prompt(request: Request) -> str:
    return str(request.body["messages"][-1]["content"])


class Service:
    """An evaluator that lives on while its clock is moved."""

    def __init__(self, traffic: Traffic, judge: ScriptedServer, folder: Path) -> None:
        self.now = NOON
        self.set_by = timedelta(0)
        """By how much the machine's clock was set."""
        self.judge = judge
        self.traffic = traffic
        self.folder = folder
        self.evaluator = self._begun()

    def _begun(self, **changes: Any) -> Evaluator:
        chosen = settings(self.judge.url, self.folder, changes)
        return Evaluator(
            self.traffic.lake, chosen, lambda: self.now + self.set_by, monotonic=lambda: self.now.timestamp()
        )

    def restart(self, **changes: Any) -> None:
        self.evaluator.close()
        self.evaluator = self._begun(**changes)

    def log(self, *texts: str) -> None:
        minute = (self.now - NOON) // MINUTE
        self.traffic.log(*(self.traffic.answer(text, minute, answer=text) for text in texts))

    def pass_at(self, minutes: int) -> list[str]:
        """What the judge was asked in a pass so long after noon."""
        self.now = NOON + minutes * MINUTE
        before = len(self.judge.requests)
        assert self.evaluator.run_once().failures == ()
        return [prompt(request) for request in self.judge.requests[before:]]


@pytest.fixture
def service(traffic: Traffic, judge: ScriptedServer, tmp_path: Path) -> Iterator[Service]:
    judge.always = fails_on_poison
    service = Service(traffic, judge, tmp_path)
    yield service
    service.evaluator.close()


@pytest.mark.slow
def test_an_answer_that_gets_none_is_asked_about_less_and_less_and_not_after_a_day(service: Service) -> None:
    """After 10, 20, 40 minutes and so on; then the row with its reason is what stays."""
    service.log("poison")
    asked = []
    for minutes in (0, 9, 10, 29, 30, 69, 70, 149, 150, 24 * 60 - 1, 24 * 60 + 1, 36 * 60):
        service.log(f"good {minutes}")  # so that the judge as a whole is seen to work
        asked += [minutes for text in service.pass_at(minutes) if text == "poison"]
    assert asked == [0, 10, 30, 70, 150, 24 * 60 - 1]
    assert service.traffic.values(JUDGED)["poison"] == "judge_unavailable"


def test_what_becomes_pending_later_puts_off_nothing_that_was_pending_before(service: Service) -> None:
    """Ten minutes after the first try is ten minutes after it, whatever failed meanwhile."""
    service.log("poison 1")
    service.pass_at(0)
    service.log("poison 2")
    assert service.pass_at(5) == ["poison 2"]
    assert service.pass_at(10) == ["poison 1"]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_set_makes_nobody_wait_longer_or_shorter(service: Service, hours: int) -> None:
    """A pending score is asked again when it was planned by time that has passed."""
    service.log("poison")
    asked = []
    for minutes in (0, 10, 29, 30, 69, 70):
        service.set_by = timedelta(hours=hours if minutes > 10 else 0)
        service.log(f"good {minutes}")
        asked += [minutes for text in service.pass_at(minutes) if text == "poison"]
    assert asked == [0, 10, 30, 70]


def test_new_answers_come_before_pending_scores_whosever_they_are(service: Service, other_traffic: Traffic) -> None:
    """An answer of the last deployment is not asked about after an old one of the first."""
    service.log("poison")
    service.pass_at(0)
    other_traffic.log(other_traffic.answer("new", 1, answer="new"))
    service.log("new too")
    assert service.pass_at(10)[-1] == "poison"


def test_what_failed_once_more_lets_the_others_go_first(
    service: Service, judge: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More poisoned answers than are asked about at once, all later than the others, hold up nobody for long."""
    monkeypatch.setattr("evaluator.service.pending_scores.answers_at_once", lambda _: 2)
    judge.always = fails(401)
    service.log("old 1", "old 2", "old 3")
    service.now += MINUTE
    service.log("poison 1", "poison 2")
    service.pass_at(1)
    service.restart()
    judge.always = fails_on_poison
    assert set(service.pass_at(11)) == {"poison 1", "poison 2"}
    assert service.pass_at(12) == []
    assert set(service.pass_at(31)[:3]) == {"old 1", "old 2", "old 3"}


def test_a_batch_with_an_answer_that_fails_leaves_the_rest_to_the_next_pass(
    service: Service, judge: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not to the next ten minutes, where the judge answers about others."""
    monkeypatch.setattr("evaluator.service.pending_scores.answers_at_once", lambda _: 2)
    judge.always = fails(401)
    service.log("good 1", "good 2", "good 3")
    service.now += MINUTE
    service.log("poison")
    service.pass_at(1)
    service.restart()
    judge.always = fails_on_poison
    asked = [service.pass_at(minutes) for minutes in (11, 12, 13)]
    assert [len(some) for some in asked] == [2, 2, 0]
    assert "poison" in asked[0]


def test_a_budget_that_is_spent_lets_no_gap_grow(service: Service, judge: ScriptedServer, tmp_path: Path) -> None:
    """Ten minutes after there is money again the answer is asked about, whatever was tried before."""
    judge.always = fails(401)
    service.log("good")
    service.pass_at(0)
    judge.always = as_it_can
    service.restart(budget_per_day=0.01)
    with closing(Calls(tmp_path / "calls.sqlite")) as calls:
        all_of_it = calls.begin("strict", "another's", 0.01)
        assert [service.pass_at(minutes) for minutes in range(10, 80, 10)] == [[]] * 7
        calls.release(all_of_it)
    assert service.pass_at(80) == ["good"]
