"""Rows of a digest, by a monitor and from the lake alone, from rows of the tables to words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from lake.spec.deployment_families import Families
from lake.spec.schemas import ANCHORS, USER_SIGNALS
from lake.tables.lake import Lake
from monitor.alerting.incidents.incident import incidents_of
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.notify.digest.table import DigestEvery, DigestPeriod, DigestRow
from monitor.service.digest import complete_until, digest_rows, read_states
from monitor.service.health.heartbeat_reader import PartState
from monitor.service.monitor import Monitor
from monitor.service.snapshot import DeploymentState
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW
from tests.monitor.notify.test_senders import change

DAY = timedelta(days=1)
PERIOD = DigestPeriod(DigestEvery.WEEKLY, date(2026, 11, 20))
"""13 to 19 November; compared with 6 to 12 November."""


BY_ID = Families()


@pytest.fixture
def found(lake: Lake, monitor: Monitor) -> Callable[..., dict[str, DigestRow]]:
    """Gives the rows by deployment, after both ways to them gave the same."""

    def look(period: DigestPeriod = PERIOD, families: Families = BY_ID) -> dict[str, DigestRow]:
        monitor.refresh()
        assert monitor.snapshot is not None
        mine = digest_rows(monitor.snapshot.deployments, families, period)
        assert {one.deployment: one for one in digest_rows(read_states(lake, period), families, period)} == {
            one.deployment: one for one in mine
        }
        return {one.deployment: one for one in mine}

    return look


def at(days: float, **columns: Any) -> dict[str, Any]:
    """Give columns of a row so many days before the end of the period."""
    when = NOW.replace(hour=0) - days * DAY
    return {"requested_at": when, "date": when.date(), **columns}


def scores(rows: Any, deployment: str, metric: str, before: float, after: float, number: int = 40) -> None:
    spread = [-0.1, 0.1]
    made = [
        at(days + n / 1000, metric=metric, value=mean + spread[n % 2])
        for days, mean in ((10, before), (3, after)) for n in range(number)
    ]  # fmt: skip
    rows.scores(deployment, *made)


def test_counts_are_of_the_period(rows: Any, lake: Lake, found: Callable[..., dict[str, DigestRow]]) -> None:
    """Its first and last moment are in it, and those beside them are not."""
    second = 1 / 86400
    inside = [at(7, status=503), at(second, price=0.5), at(3)]
    rows.logs("bot", *inside, at(0), at(7 + second), at(20, status=500))
    rows.logs(None, at(3))
    rows.logs("model", at(3, is_entry=False))
    signals = [(7, "like"), (second, "dislike"), (3, "dislike"), (0, "like"), (8, "like")]
    lake.table(USER_SIGNALS, "bot").append(
        USER_SIGNALS.rows(
            [
                {
                    "signal_id": str(n),
                    "deployment": "bot",
                    "signal": signal,
                    "origin": "explicit",
                    "response_id": f"r{n}",
                }
                | {"signaled_at": one["requested_at"], "date": one["date"]}
                for n, (days, signal) in enumerate(signals)
                for one in (at(days),)
            ]
        )
    )
    mine = found()
    assert set(mine) == {"bot", "model"}
    bot = mine["bot"]
    assert (bot.requests, bot.failed, bot.likes, bot.dislikes) == (3, 1, 1, 2)
    assert bot.cost == pytest.approx(0.502)
    assert bot.quality is None
    assert (mine["model"].requests, mine["model"].cost) == (1, 0.0)
    assert found(DigestPeriod(DigestEvery.DAILY, PERIOD.end))["bot"].requests == 1


def test_what_judges_cost_is_of_scores_and_anchors(
    rows: Any, lake: Lake, found: Callable[..., dict[str, DigestRow]]
) -> None:
    rows.logs("bot", at(3))
    rows.scores("bot", at(3, value=0.5, judge="strict", cost=0.25), at(9, value=0.5, judge="strict", cost=4.0))
    one = at(2)
    lake.table(ANCHORS, "bot").append(
        ANCHORS.rows(
            [
                {
                    "deployment": "bot",
                    "judge": "strict",
                    "cost": 0.5,
                    "scored_at": one["requested_at"],
                    "date": one["date"],
                }
            ]
        )
    )
    assert found()["bot"].judge_cost == pytest.approx(0.75)


def test_quality_is_the_metric_that_got_worse_most(rows: Any, found: Callable[..., dict[str, DigestRow]]) -> None:
    """By its noise; where lower is better a rise is worse."""
    rows.logs("bot", at(3))
    scores(rows, "bot", "faithfulness_kprecision", 0.8, 0.85)
    scores(rows, "bot", "facts_recall", 0.8, 0.6)
    scores(rows, "bot", "context_present", 0.5, 0.49)
    quality = found()["bot"].quality
    assert quality is not None
    assert (quality.metric, quality.change, quality.number) == ("facts_recall", "worse", 40)
    assert (quality.mean, quality.before) == (pytest.approx(0.6), pytest.approx(0.8))


def test_the_week_before_ends_where_the_period_begins(rows: Any, found: Callable[..., dict[str, DigestRow]]) -> None:
    rows.logs("bot", at(3))
    days = {14 + 0.01: 0.1, 13.9: 0.8, 7.1: 0.8, 6.9: 0.2}
    rows.scores("bot", *(at(day + n / 10000, metric="m", value=mean) for day, mean in days.items() for n in range(9)))
    quality = found()["bot"].quality
    assert quality is not None
    assert (quality.before, quality.mean) == (pytest.approx(0.8), pytest.approx(0.2))


@pytest.mark.parametrize(
    ("before", "after", "columns", "change"),
    [
        (0.5, 0.51, {}, "same"),
        (0.5, 0.7, {}, "better"),
        (0.5, 0.7, {"direction": "down"}, "worse"),
        (0.7, 0.5, {"direction": "down"}, "better"),
    ],
)
def test_a_change_is_one_beyond_chance(
    rows: Any, found: Callable[..., dict[str, DigestRow]], before: float, after: float, columns: Any, change: str
) -> None:
    rows.logs("bot", at(3))
    made = [
        at(days + n / 1000, metric="m", value=mean + (-0.1, 0.1)[n % 2], **columns)
        for days, mean in ((10, before), (3, after)) for n in range(40)
    ]  # fmt: skip
    rows.scores("bot", *made)
    quality = found()["bot"].quality
    assert quality is not None
    assert quality.change == change


def test_few_scores_are_compared_with_nothing(rows: Any, found: Callable[..., dict[str, DigestRow]]) -> None:
    rows.logs("bot", at(3))
    scores(rows, "bot", "m", 0.8, 0.2, number=4)
    quality = found()["bot"].quality
    assert quality is not None
    assert (quality.before, quality.change, quality.number) == (None, "same", 4)


def test_an_incident_counts_while_it_is_open(
    rows: Any, found: Callable[..., dict[str, DigestRow]], three_deployments: None
) -> None:
    """It began on the 20th: in the week until then there was none, and a day later there is one."""
    assert "rag-search" in found()
    assert found()["rag-search"].incidents == 0
    later = found(DigestPeriod(DigestEvery.DAILY, date(2026, 11, 21)))["rag-search"]
    assert (later.incidents, later.open_incidents) == (1, 1)
    after = found(DigestPeriod(DigestEvery.DAILY, date(2026, 11, 25)))["rag-search"]
    assert (after.requests, after.incidents) == (0, 1)


def test_an_incident_that_was_over_before_does_not_count() -> None:
    """One that ended with the first moment of the period does; one that began with its end does not."""

    def incidents(began: float, ended: float | None) -> int:
        first, last = (None if days is None else at(days)["requested_at"] for days in (began, ended))
        fired = change(at=first, fired_at=first)
        over = [] if last is None else [change(event="resolved", at=last, fired_at=first)]
        state = DeploymentState(incidents=incidents_of([fired, *over]))
        return sum(one.incidents for one in digest_rows({"rag": state}, BY_ID, PERIOD))

    assert [incidents(20, 8), incidents(20, 7), incidents(20, 3), incidents(20, None), incidents(3, 1)] == [
        0,
        1,
        1,
        1,
        1,
    ]
    assert [incidents(0, None), incidents(0.1, None)] == [0, 1]


def test_a_deployment_whose_row_fails_costs_no_other_row(caplog: pytest.LogCaptureFixture) -> None:
    """Its own row says so; the log has the reason."""
    fired = change(at=at(3)["requested_at"], fired_at=at(3)["requested_at"])
    state = DeploymentState(incidents=incidents_of([fired]))
    broken: Any = SimpleNamespace(incidents=None)
    rows = digest_rows({"a": broken, "rag": state}, BY_ID, PERIOD)
    assert [(one.deployment, one.is_missing, one.incidents) for one in rows] == [("a", True, 0), ("rag", False, 1)]
    assert "The row of 'a' in the digest" in caplog.text


def test_a_new_version_is_one_whose_first_request_came_now(
    rows: Any, found: Callable[..., dict[str, DigestRow]]
) -> None:
    """After that of an older version; a first version is no new one, nor is one of last week."""
    for name, first in (
        ("help__1.0.0", 20),
        ("help__1.1.0", 8),
        ("help__1.2.0", 7),
        ("alone__1.0.0", 2),
        ("late__1.0.0", 3),
        ("late__1.1.0", 5),
    ):
        rows.logs(name, at(first), at(1))
    new = {name for name, one in found().items() if one.is_new_version}
    assert new == {"help__1.2.0"}
    assert not any(one.is_new_version for one in found(families=Families(by_id=False)).values())


def part(name: str, state: str, hours: float | None) -> PartState:
    """A part whose steps last went well so many hours ago, or never."""
    well = None if hours is None else NOW - timedelta(hours=hours)
    return PartState(name, "host", state, NOW - DAY, NOW, well, None, None)


@pytest.mark.parametrize(
    ("parts", "lag", "hours"),
    [
        ([part("collector", "running", 9), part("evaluator", "running", 9)], 60, None),
        ([part("monitor", "silent", 9), part("upkeep", "failing", 9)], None, None),
        ([part("evaluator", "silent", 9), part("collector", "failing", 5)], 60, 9),
        ([part("evaluator", "stopped", 5), part("collector", "failing", None)], 60, 24),
        ([], 3600, None),
        ([], 5 * 3600, 7),
    ],
)
def test_the_tables_are_complete_until_a_part_went_well_last(
    parts: list[PartState], lag: float | None, hours: float | None
) -> None:
    """Or until the time of the newest lines, where a collector is more than an hour behind."""
    collector = CollectorStats(newest_batch=NOW - timedelta(hours=2), lag_seconds=lag)
    assert complete_until(collector, parts) == (None if hours is None else NOW - timedelta(hours=hours))


def test_receivers_are_told_until_when_the_tables_are_complete(lake: Lake, rows: Any, clock: Any) -> None:
    rows.logs("bot", {})
    rows.batch(lines=0, committed_at=NOW, newest_requested_at=NOW - timedelta(hours=5))
    monitor = Monitor(lake, MonitorSettings(), clock)
    monitor.refresh()
    assert monitor._notifier.view.complete_until == NOW - timedelta(hours=5)
