"""Evaluators that share the deployments of a lake."""

from __future__ import annotations

import gc
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.answers import DeploymentTables
from evaluator.service.group import EvaluatorGroup
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.delta_log.change import Change, LostRaceError
from lake.spec.heartbeat import Heartbeat
from lake.spec.root_tables import SERVICES
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from lake.tables.table import Table
from runtime.clocks import SKEW

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAMES = [f"deployment-{number}" for number in range(240)]


class Host:
    """One evaluator, which sees the others; its clock and its seconds are its own."""

    def __init__(self, lake: Lake, name: str, clock_ahead: timedelta = timedelta(0)) -> None:
        self.lake = lake
        self.run = (ServicePart.EVALUATOR, name, NOW + clock_ahead)
        self.ahead = clock_ahead
        self.seconds = 0.0
        self.group = EvaluatorGroup(lake, self.run, lambda: NOW + self._passed, lambda: self.seconds)

    @property
    def _passed(self) -> timedelta:
        return self.ahead + timedelta(seconds=self.seconds)

    def beat(self, state: ServiceState = ServiceState.RUNNING) -> None:
        part, host, since = self.run
        row = Heartbeat(ServicePart(part), host, since, NOW + self._passed, state).row()
        self.lake.table(SERVICES).append(SERVICES.rows([row]))

    def wait(self, seconds: float) -> None:
        """Let time pass, with looks."""
        for _ in range(int(seconds // 5)):
            self.seconds += 5
            self.group.look()

    def names(self) -> set[str]:
        return {host for _, host, _ in self.group.members}


@given(st.lists(st.text(max_size=10), min_size=1, max_size=8, unique=True), st.lists(st.text(), max_size=30))
def test_each_deployment_is_assigned_to_one(hosts: list[str], deployments: list[str]) -> None:
    for deployment in deployments:
        owners = [host for host in hosts if of(host, hosts).is_assigned(deployment)]
        assert len(owners) == 1


def of(host: str, hosts: list[str]) -> EvaluatorGroup:
    """The group as one of these hosts sees it."""
    group = EvaluatorGroup(Lake("/nowhere"), ("evaluator", host, NOW))
    group._members = frozenset(("evaluator", other, NOW) for other in hosts)
    return group


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A local time zone of this process."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


OWNERS = {"deployment-2": "a", "deployment-3": "b", "deployment-4": "b", "deployment-5": "c", "deployment-6": "a"}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/Los_Angeles"], indirect=True)
@pytest.mark.usefixtures("zone")
def test_evaluators_in_any_time_zone_assign_alike() -> None:
    """Whatever zone a host is in, and whatever zone the start of a run is written in."""
    hosts = ["a", "b", "c"]
    found = {name: next(host for host in hosts if of(host, hosts).is_assigned(name)) for name in OWNERS}
    assert found == OWNERS
    for hours in (-8, 5.5):
        written = NOW.astimezone(timezone(timedelta(hours=hours)))
        for host in hosts:
            group = of(host, hosts)
            group._own, group._members = (
                ("evaluator", host, written),
                frozenset(("evaluator", other, written if other == host else NOW) for other in hosts),
            )
            assert {name for name in OWNERS if group.is_assigned(name)} == {
                name for name, owner in OWNERS.items() if owner == host
            }


def test_deployments_are_shared_about_evenly_and_only_those_of_one_that_left_move() -> None:
    hosts = ["a", "b", "c", "d"]
    before = {name: next(host for host in hosts if of(host, hosts).is_assigned(name)) for name in NAMES}
    assert set(Counter(before.values())) == set(hosts)
    assert min(Counter(before.values()).values()) > len(NAMES) / 4 / 2
    left = ["a", "b", "d"]
    after = {name: next(host for host in left if of(host, left).is_assigned(name)) for name in NAMES}
    assert {name for name in NAMES if before[name] != after[name]} == {n for n in NAMES if before[n] == "c"}


@pytest.mark.parametrize("ahead", [timedelta(minutes=-50), timedelta(0), timedelta(minutes=50)])
def test_another_evaluator_is_seen_as_long_as_it_writes(lake: Lake, ahead: timedelta) -> None:
    """Whatever its clock says."""
    host, other = Host(lake, "a"), Host(lake, "b", ahead)
    host.group.look()
    assert host.names() == {"a"}
    for _ in range(6):
        other.beat()
        host.wait(15)
        assert host.names() == {"a", "b"}
    host.wait(45)
    assert host.names() == {"a"}


def test_one_that_stopped_is_out_at_once(lake: Lake) -> None:
    host, other = Host(lake, "a"), Host(lake, "b")
    other.beat()
    host.group.look()
    assert host.names() == {"a", "b"}
    other.beat(ServiceState.STOPPED)
    assert host.group.look()
    assert host.names() == {"a"}
    assert not host.group.look()


def test_one_that_was_killed_before_the_first_look_is_believed_to_live_for_some_time(lake: Lake) -> None:
    killed, host = Host(lake, "a"), Host(lake, "a")
    host.run = ("evaluator", "a", NOW + timedelta(seconds=5))
    host.group = EvaluatorGroup(lake, host.run, lambda: NOW, lambda: host.seconds)
    killed.beat()
    host.wait(5)
    for seconds in (40, 5):
        host.wait(seconds)
        assert len(host.group.members) == 2
    host.wait(5)
    assert len(host.group.members) == 1


def test_heartbeats_of_hours_ago_are_no_members(lake: Lake) -> None:
    Host(lake, "a", timedelta(hours=-2)).beat()
    host = Host(lake, "b")
    host.group.look()
    assert host.names() == {"b"}


def test_looks_that_fail_make_nobody_disappear(lake: Lake) -> None:
    host, other = Host(lake, "a"), Host(lake, "b")
    other.beat()
    host.group.look()
    host.seconds += 600
    host.group.look()
    assert host.names() == {"a", "b"}


def all_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tables give all rows again, as to a reader that comes after a compaction and a vacuum."""
    read = Table.read_since

    def again(table: Table, version: int | None, *given: Any, **named: Any) -> Change:
        return replace(read(table, None, *given, **named), repeats=version is not None)

    monkeypatch.setattr(Table, "read_since", again)


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(minutes=50), timedelta(minutes=-50)])
def test_heartbeats_that_come_again_bring_nobody_back(
    lake: Lake, ahead: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was killed, or stopped, stays out of the group; one that lives stays in it."""
    host, killed, stopped, lives = Host(lake, "a"), Host(lake, "b", ahead), Host(lake, "c"), Host(lake, "d")
    host.group.look()
    for other in (killed, stopped, lives):
        other.beat()
    host.group.look()
    assert host.names() == {"a", "b", "c", "d"}
    stopped.beat(ServiceState.STOPPED)
    for _ in range(4):
        host.wait(15)
        lives.seconds = host.seconds
        lives.beat()
    host.group.look()
    assert host.names() == {"a", "d"}
    all_again(monkeypatch)
    for _ in range(6):
        host.wait(15)
        assert host.names() == {"a", "d"}
        lives.seconds = host.seconds
        lives.beat()
    host.wait(55)
    assert host.names() == {"a"}


def test_other_parts_are_no_evaluators(lake: Lake) -> None:
    row = Heartbeat(ServicePart.MONITOR, "b", NOW, NOW, ServiceState.RUNNING).row()
    lake.table(SERVICES).append(SERVICES.rows([row]))
    host = Host(lake, "a")
    host.group.look()
    assert host.names() == {"a"}


class Assigned:
    """A group in which a test says what is assigned to one evaluator."""

    size = 2

    def __init__(self) -> None:
        self.names: set[str] = set()

    def is_assigned(self, deployment: str) -> bool:
        return deployment in self.names


def test_an_evaluator_scores_what_is_assigned_to_it(traffic: Any) -> None:
    """And what is assigned to it later, from where the other one was."""
    traffic.log(traffic.answer("first"))
    group = Assigned()
    evaluator = Evaluator(traffic.lake, EvaluatorSettings(), lambda: NOW, group=group)
    assert evaluator.run_once().deployments == 0
    Evaluator(traffic.lake, EvaluatorSettings(), lambda: NOW).run_once()
    traffic.log(traffic.answer("second", 1))
    group.names.add(traffic.deployment)
    assert evaluator.run_once().deployments == 1
    assert set(traffic.values("context_present")) == {"first", "second"}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[DeploymentTables]]:
    """Every set of tables that an evaluator opens, for as long as it has it."""
    made: list[weakref.ref[DeploymentTables]] = []
    of = DeploymentTables.of

    def noted(*given: Any, **named: Any) -> DeploymentTables:
        tables = of(*given, **named)
        made.append(weakref.ref(tables))
        return tables

    monkeypatch.setattr(DeploymentTables, "of", noted)
    return made


def is_open(tables: weakref.ref[DeploymentTables]) -> bool:
    gc.collect()
    return tables() is not None


def test_tables_of_a_deployment_that_moved_to_another_evaluator_are_closed(
    traffic: Any, opened: list[weakref.ref[DeploymentTables]]
) -> None:
    """No look at a store is paid for them; they are opened anew where it comes back."""
    traffic.log(traffic.answer("first"))
    group = Assigned()
    group.names.add(traffic.deployment)
    evaluator = Evaluator(traffic.lake, EvaluatorSettings(), lambda: NOW, group=group)
    for _ in range(2):
        assert evaluator.run_once().deployments == 1
    assert [is_open(one) for one in opened] == [True]
    group.names.clear()
    assert evaluator.run_once().deployments == 0
    assert [is_open(one) for one in opened] == [False]
    group.names.add(traffic.deployment)
    assert evaluator.run_once().deployments == 1
    assert [is_open(one) for one in opened] == [False, True]


def test_tables_with_which_a_pass_failed_are_opened_anew(
    traffic: Any, opened: list[weakref.ref[DeploymentTables]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is open may be what is broken."""
    traffic.log(traffic.answer("first"))
    evaluator = Evaluator(traffic.lake, EvaluatorSettings(), lambda: NOW)
    for error in (LostRaceError("another was faster"), OSError("no answer")):
        with monkeypatch.context() as patch:
            patch.setattr("evaluator.service.passes.propose_cases", Mock(side_effect=error))
            assert evaluator.run_once().deployments == 0
    result = evaluator.run_once()
    assert (result.deployments, result.scored, len(opened)) == (1, 2, 3)


@pytest.mark.parametrize(("seconds", "is_in"), [(45, True), (46, False)])
def test_an_evaluator_is_out_after_more_than_45_seconds_of_silence(lake: Lake, seconds: int, is_in: bool) -> None:
    """Whether the group has changed is told once."""
    host, other = Host(lake, "a"), Host(lake, "b")
    other.beat()
    assert host.group.look()
    assert host.group.size == 2
    host.seconds += seconds % 10
    host.group.look()
    host.wait(seconds // 10 * 10)
    assert host.names() == ({"a", "b"} if is_in else {"a"})
    assert not host.group.look()


def test_the_newest_of_several_heartbeats_counts(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever order a table gives them; rows that come again are no sign of life."""
    host, other = Host(lake, "a"), Host(lake, "b")
    for seconds in (600, 0, 300):
        other.seconds = seconds
        other.beat()
    host.group.look()
    all_again(monkeypatch)
    host.wait(50)
    assert host.names() == {"a"}
    other.seconds = 601
    other.beat()
    host.wait(5)
    assert host.names() == {"a", "b"}


def test_one_that_fails_is_in_the_group(lake: Lake) -> None:
    """It still writes: only one that was asked to stop is out at once."""
    host, other = Host(lake, "a"), Host(lake, "b")
    other.beat(ServiceState.FAILING)
    host.group.look()
    assert host.names() == {"a", "b"}


@pytest.mark.parametrize(("minutes", "is_in"), [(60, True), (61, False)])
def test_heartbeats_that_were_there_before_count_for_an_hour(lake: Lake, minutes: int, is_in: bool) -> None:
    """By as much clocks may differ."""
    assert timedelta(hours=1) == SKEW
    Host(lake, "b", -timedelta(minutes=minutes)).beat()
    host = Host(lake, "a")
    host.group.look()
    assert host.names() == ({"a", "b"} if is_in else {"a"})
