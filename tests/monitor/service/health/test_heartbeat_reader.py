"""States of the parts of dialwatch, in the monitor's own process and in others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.heartbeat import Heartbeat
from lake.spec.root_tables import SERVICES
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.exposition import without_installation
from tests.monitor.conftest import NOW, Clock

COLLECTOR, EVALUATOR = ServicePart.COLLECTOR, ServicePart.EVALUATOR
RUNNING, FAILING, STOPPED = ServiceState.RUNNING, ServiceState.FAILING, ServiceState.STOPPED
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class Time:
    """A clock that can be set, beside time that passes."""

    def __init__(self) -> None:
        self.clock = Clock(NOW)
        self.passed = 1000.0

    def __call__(self) -> float:
        return self.passed

    def go_on(self, by: timedelta) -> None:
        self.clock.now += by
        self.passed += by.total_seconds()


class Story:
    """A monitor, and parts elsewhere that write their rows."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.time = Time()
        self.own: list[Heartbeat] = []
        self.monitor = self.new_monitor()

    def new_monitor(self) -> Monitor:
        return Monitor(self.lake, MonitorSettings(), self.time.clock, None, self.time, lambda: self.own)

    def heartbeat(self, part: ServicePart, host: str = "host-a", **columns: Any) -> Heartbeat:
        now = self.time.clock.now
        heartbeat = Heartbeat(
            **{"part": part, "host": host, "since": NOW, "heartbeat_at": now, "state": RUNNING} | columns
        )
        self.lake.table(SERVICES).append(SERVICES.rows([heartbeat.row()]))
        return heartbeat

    def go_on(self, minutes: float, *beating: tuple[ServicePart, str]) -> None:
        """Let time pass, a minute and a look at a time; these parts write their rows."""
        for _ in range(int(minutes)):
            self.time.go_on(MINUTE)
            for part, host in beating:
                self.heartbeat(part, host)
            self.monitor.refresh()

    def states(self) -> dict[tuple[str, str], str]:
        return {(part.part, part.host): part.state for part in self.monitor.health().parts}


@pytest.fixture
def story(lake: Lake) -> Story:
    return Story(lake)


A, B = (COLLECTOR, "host-a"), (COLLECTOR, "host-b")


def test_a_part_that_gives_no_sign_of_life_is_silent(story: Story) -> None:
    """After five minutes; it is unhealthy, the words say which part and since when, and a new sign ends it."""
    story.heartbeat(EVALUATOR)
    story.monitor.refresh()
    assert story.monitor.health().healthy
    story.go_on(5)
    assert story.monitor.health().healthy
    story.go_on(1)
    health = story.monitor.health()
    assert not health.healthy
    assert health.is_fresh
    (problem,) = health.problems
    assert "evaluator on host-a: no heartbeat for 6 minutes; the last was at 2026-11-20 12:00 UTC" in problem
    story.heartbeat(EVALUATOR)
    story.monitor.refresh()
    assert story.monitor.health().healthy


def test_a_part_that_fails_is_unhealthy_with_its_error(story: Story) -> None:
    """Also when it is in another process: its row says so."""
    story.heartbeat(COLLECTOR, state=FAILING, last_error=NOW, error="OSError: disk full")
    story.monitor.refresh()
    health = story.monitor.health()
    assert not health.healthy
    assert health.problems == ("collector on host-a: OSError: disk full",)


def test_a_part_that_was_stopped_is_no_failure(story: Story) -> None:
    """However long ago that was; it is shown as stopped until the part begins somewhere, also after a restart."""
    story.heartbeat(EVALUATOR)
    story.heartbeat(EVALUATOR, state=STOPPED)
    story.go_on(10)
    story.time.go_on(timedelta(days=2))
    for monitor in (story.monitor, story.new_monitor()):
        story.monitor = monitor
        monitor.refresh()
        assert monitor.health().healthy
        assert story.states() == {("evaluator", "host-a"): "stopped"}
    story.heartbeat(EVALUATOR, "host-b", since=story.time.clock.now)
    story.monitor.refresh()
    assert story.states() == {("evaluator", "host-b"): "running"}


def test_a_part_that_begins_anew_takes_the_place_of_one_that_died(story: Story) -> None:
    """A killed process says nothing; that one of the same part began after its last sign says that it was replaced."""
    story.heartbeat(COLLECTOR, "pod-1")
    story.go_on(3)
    story.heartbeat(COLLECTOR, "pod-2", since=story.time.clock.now)
    story.go_on(10, (EVALUATOR, "pod-3"))
    # The second one, which began after the first had died, is silent by now, and alone.
    assert story.states() == {("collector", "pod-2"): "silent", ("evaluator", "pod-3"): "running"}


@pytest.mark.parametrize("ahead", [-59, -30, 30, 59])
def test_a_part_that_begins_anew_on_another_host_replaces_the_one_that_died_whatever_their_clocks(
    story: Story, ahead: int
) -> None:
    """Clocks of hosts may be an hour apart: that we heard of the new one after the last word of the old one counts."""
    story.go_on(1)
    for _ in range(3):
        story.go_on(1)
        story.heartbeat(COLLECTOR, "host-a", heartbeat_at=story.time.clock.now + ahead * MINUTE)
    story.go_on(2)
    since = story.time.clock.now
    for _ in range(20):
        story.heartbeat(COLLECTOR, "host-b", since=since)
        story.go_on(1)
    assert story.states() == {("collector", "host-b"): "running"}
    assert story.monitor.health().healthy


def test_a_part_that_goes_on_replaces_none_that_dies_later_whatever_their_clocks(story: Story) -> None:
    """A collector began after another one by its clock, which is ahead; when the other one dies it is missed."""
    story.go_on(1)
    for minute in range(20):
        if minute < 3:
            story.heartbeat(COLLECTOR, "host-a")
        story.heartbeat(COLLECTOR, "host-b", since=NOW + timedelta(minutes=50))
        story.go_on(1)
    assert story.states() == {("collector", "host-a"): "silent", ("collector", "host-b"): "running"}


def test_one_of_several_that_dies_is_missed_for_a_day(story: Story) -> None:
    """Two collectors share the partitions of Kafka: that one is at work says nothing of the other. Then it is gone."""
    story.heartbeat(*A)
    story.heartbeat(*B)
    story.go_on(7, B)
    assert story.states() == {A: "silent", B: "running"}
    story.time.go_on(timedelta(hours=25))
    story.go_on(1, B)
    assert story.states() == {B: "running"}


def test_the_last_of_a_part_is_missed_for_four_weeks(story: Story) -> None:
    """While nothing scores, health does not become good by waiting, nor by a restart of the monitor."""
    story.heartbeat(EVALUATOR)
    story.go_on(1)
    story.time.go_on(timedelta(days=20))
    for monitor in (story.monitor, story.new_monitor()):
        monitor.refresh()
        assert not monitor.health().healthy
    story.time.go_on(timedelta(days=9))
    for monitor in (story.monitor, story.new_monitor()):
        monitor.refresh()
        assert monitor.health().healthy


@pytest.mark.parametrize("minutes", [-59, 59])
def test_the_clock_of_another_host_may_be_an_hour_off(story: Story, minutes: int) -> None:
    """A part is judged by when its rows come, also right after the monitor's start."""
    off = timedelta(minutes=minutes)
    for monitor in (story.monitor, story.new_monitor()):
        story.monitor = monitor
        for _ in range(3):
            story.heartbeat(EVALUATOR, heartbeat_at=story.time.clock.now + off)
            monitor.refresh()
            assert story.states() == {("evaluator", "host-a"): "running"}
            story.time.go_on(MINUTE)
    story.go_on(7)
    assert story.states() == {("evaluator", "host-a"): "silent"}


@pytest.mark.parametrize(("minutes", "words"), [(-70, "70 minutes behind"), (75, "75 minutes ahead of")])
def test_a_clock_that_is_more_than_an_hour_off_is_a_problem(story: Story, minutes: int, words: str) -> None:
    """Then what readers of the tables are promised does not hold, in either direction."""
    story.heartbeat(COLLECTOR)
    story.monitor.refresh()
    story.time.go_on(MINUTE)
    story.heartbeat(COLLECTOR, heartbeat_at=story.time.clock.now + timedelta(minutes=minutes))
    story.monitor.refresh()
    (problem,) = story.monitor.health().problems
    assert f"the clock of this host is {words}" in problem


@pytest.mark.parametrize("step", [-HOUR, HOUR, -3 * HOUR])
def test_a_clock_that_is_set_makes_nothing_fresh_or_old(story: Story, step: timedelta) -> None:
    """Neither the figures nor a part of this host: an age is never negative, and what hangs is seen in time."""
    story.heartbeat(EVALUATOR)
    story.monitor.refresh()
    story.time.clock.now += step
    health = story.monitor.health()
    assert (health.healthy, health.last_refresh_age_seconds) == (True, 0)
    story.time.go_on(5 * MINUTE)
    health = story.monitor.health()
    assert not health.is_fresh
    assert health.last_refresh_age_seconds == 300
    story.go_on(2)
    assert story.states() == {("evaluator", "host-a"): "silent"}


def test_rows_after_a_clock_was_set_back_are_signs_of_life(story: Story) -> None:
    """What came last counts, not what has the latest time."""
    for minutes in (0, -58, -57, -56, -55, -54, -53, -52):
        story.heartbeat(EVALUATOR, heartbeat_at=NOW + minutes * MINUTE)
        story.time.passed += 60
        story.monitor.refresh()
    assert story.states() == {("evaluator", "host-a"): "running"}
    story.heartbeat(EVALUATOR, heartbeat_at=NOW - 51 * MINUTE, state=STOPPED)
    for monitor in (story.monitor, story.new_monitor()):
        story.monitor = monitor
        monitor.refresh()
        assert story.states() == {("evaluator", "host-a"): "stopped"}


def test_parts_of_the_own_process_are_known_without_the_lake(
    story: Story, monkeypatch: pytest.MonkeyPatch, get: Callable[..., Any]
) -> None:
    """A store that is away from the start on: health, page and metrics name each part and the error, in one line."""

    def refuse() -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(story.lake, "deployments", refuse)
    said = {"state": FAILING, "last_error": NOW, "error": "the lake cannot be written"}
    own = [Heartbeat(part, "here", NOW, NOW, **said) for part in (COLLECTOR, EVALUATOR)]
    story.own = [*own, Heartbeat(ServicePart.WEBHOOKS, "here", NOW, NOW, RUNNING, last_success=NOW)]
    story.monitor.refresh()
    app = create_app(story.monitor)
    health = get(app, "/healthz")
    assert health.status_code == 503
    assert "collector, evaluator on here: the lake cannot be written" in health.json()["problems"]
    assert [part["state"] for part in health.json()["parts"]] == ["failing", "failing", "running"]
    metrics = without_installation(get(app, "/metrics").text)
    assert 'dialwatch_part_healthy{host="here",part="collector"} 0.0' in metrics
    assert 'dialwatch_part_healthy{host="here",part="webhooks"} 1.0' in metrics
    assert 'dialwatch_part_last_success_timestamp_seconds{host="here",part="webhooks"} 1.795176e+09' in metrics
    page = get(app, "/").text
    assert "These figures may be old" in page
    assert "collector, evaluator on here: the lake cannot be written" in page
    assert "The parts of dialwatch" in page


def test_an_empty_page_does_not_say_that_nothing_came_where_nothing_can_be_stored(
    story: Story, get: Callable[..., Any]
) -> None:
    """The lake can be read, and is empty, as no part can write it."""
    story.own = [Heartbeat(COLLECTOR, "here", NOW, NOW, FAILING, error="the lake cannot be written")]
    story.monitor.refresh()
    page = get(create_app(story.monitor), "/").text
    assert "Nothing has arrived yet" not in page
    assert "Not all of dialwatch is at work" in page


def test_what_a_process_knows_of_itself_counts_more_than_its_rows(story: Story) -> None:
    """The rows of a process whose lake is full are from before that."""
    heartbeat = story.heartbeat(COLLECTOR)
    story.own = [Heartbeat(COLLECTOR, heartbeat.host, heartbeat.since, NOW, FAILING, error="disk full")]
    story.monitor.refresh()
    assert story.states() == {A: "failing"}
    story.own = [Heartbeat(COLLECTOR, heartbeat.host, heartbeat.since, NOW, RUNNING)]
    story.go_on(10)
    assert story.states() == {A: "running"}


def test_a_monitor_that_cannot_look_calls_no_part_silent(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the one that is deaf; when it can look again it has what came meanwhile."""
    story.heartbeat(*A)
    story.monitor.refresh()

    def refuse() -> None:
        raise OSError("no route to host")

    with monkeypatch.context() as patched:
        patched.setattr(story.lake, "deployments", refuse)
        story.go_on(20)
        assert story.states() == {A: "running"}
        assert not story.monitor.health().healthy
    story.go_on(1, A)
    assert story.states() == {A: "running"}
    assert story.monitor.health().healthy


def test_rows_of_a_later_version_are_passed_over(story: Story) -> None:
    """A part that this version does not know is neither an error nor shown."""
    row = story.heartbeat(COLLECTOR).row()
    story.lake.table(SERVICES).append(SERVICES.rows([row | {"part": "replayer"}, row | {"state": "resting"}]))
    story.monitor.refresh()
    assert story.states() == {A: "running"}
    assert story.monitor.health().problems == ()


def test_hosts_that_are_gone_leave_no_series(story: Story, get: Callable[..., Any]) -> None:
    """A thousand pods that came and went are not a thousand series."""
    for number in range(30):
        story.heartbeat(COLLECTOR, f"pod-{number}", since=story.time.clock.now, state=(RUNNING, STOPPED)[number % 2])
        story.time.go_on(MINUTE)
    since = story.time.clock.now
    for _ in range(8):
        story.heartbeat(COLLECTOR, "pod-last", since=since)
        story.go_on(1)
    text = without_installation(get(create_app(story.monitor), "/metrics").text)
    assert [line for line in text.splitlines() if line.startswith("dialwatch_part_healthy")] == [
        'dialwatch_part_healthy{host="pod-last",part="collector"} 1.0'
    ]
