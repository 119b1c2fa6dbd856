"""Limits of deployments with few requests: many bad ones in a row fire at any volume, and chance does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from lake.spec.alert_vocabulary import LimitKind
from monitor.alerting.alerts.limit_alerts import changes_of_limits
from monitor.detect.limits import LimitChange, Limits, LimitSettings
from monitor.detect.limits.evidence import usual_share
from monitor.detect.limits.minute_counts import Usual
from monitor.detect.stats.requests import LOG_COLUMNS
from monitor.notify.texts.alert import summary
from tests.monitor.detect.limits.test_shares import NOW, limits_of, logs

FEW = LimitSettings()
"""With the defaults, of which 50 requests a day are one."""
HOUR = timedelta(hours=1)


def bot(*statuses: int, every: timedelta = HOUR) -> list[dict[str, Any]]:
    """Requests at even distances, the last a minute ago."""
    begin = NOW - timedelta(minutes=1)
    return [{"requested_at": begin - every * n, "status": status} for n, status in enumerate(reversed(statuses))]


def alarms(rows: list[dict[str, Any]], settings: LimitSettings = FEW) -> list[LimitChange]:
    return [one for one in limits_of(rows, settings).look({}, NOW)[0] if one.kind == LimitKind.ERRORS]


def test_eight_failures_of_the_last_eight_fire_at_twenty_a_day() -> None:
    """Sooner than a day of them, with how many there were in a row and what is usual."""
    (fired,) = alarms(bot(*[200] * 12, *[503] * 8))
    assert fired.reason == "far more than usual, at few requests"
    assert fired.details is not None
    assert (fired.details.in_a_row, fired.details.usual, fired.details.mostly) == (6, 0.1, "503")
    assert fired.since == NOW - timedelta(minutes=1) - 7 * HOUR


def test_a_few_failures_do_not_fire() -> None:
    """Four in a row, and a half of six, may be chance where one in ten is usual."""
    assert alarms(bot(*[200] * 16, *[503] * 4)) == []
    assert alarms(bot(*[200] * 14, *[200, 503] * 3)) == []


def test_one_who_tries_again_and_again_is_one_failure() -> None:
    """Twenty failed requests within a minute say no more than one."""
    again = [{"requested_at": NOW - timedelta(minutes=1, seconds=n), "status": 503} for n in range(20)]
    assert alarms([*bot(*[200] * 20), *again]) == []


def test_it_is_over_when_eight_were_good() -> None:
    """Not a day later, when half of the limit is reached."""
    fired, over = alarms(bot(*[200] * 5, *[503] * 8, *[200] * 9))
    assert (fired.change, over.change) == ("firing", "resolved")
    assert over.at - fired.at == 11 * HOUR
    assert over.reason == "the latest, which are few, were good"


@pytest.mark.parametrize(
    ("usual", "fires"), [(Usual(1000, 0), True), (Usual(1000, 200), True), (Usual(1000, 290), False)]
)
def test_what_is_usual_counts(usual: Usual, fires: bool) -> None:
    """Nine failures in a row are told to a bot with few or a fifth of them, and not to one that has three in ten."""
    limits = limits_of(bot(*[200] * 10, *[503] * (9 if fires else 5)), FEW)
    limits._counts["rag"].minutes[LimitKind.ERRORS].usual = usual
    found = [one for one in limits.look({}, NOW)[0] if one.kind == LimitKind.ERRORS]
    assert bool(found) is fires


def test_older_requests_say_what_is_usual() -> None:
    """However they come; a bot of which nothing is known has one in ten."""
    assert usual_share(Usual()) == 0.1
    limits = Limits(FEW)
    old = [{"requested_at": NOW - timedelta(days=3 + n / 10), "status": 503 if n % 4 == 0 else 200} for n in range(400)]
    for part in (old[:100], old[100:]):
        limits.add_logs("rag", logs(part).select(LOG_COLUMNS), NOW)
    usual = limits._counts["rag"].minutes[LimitKind.ERRORS].usual
    assert (usual.total, usual.bad) == (400, 100)
    assert 0.2 < usual_share(usual) < 0.25


@pytest.mark.slow
def test_chance_fires_less_than_promised() -> None:
    """Of 400 bots with 20 requests a day, one in ten bad, in two days: at most two, where one a year is promised."""
    generator = np.random.default_rng(3)
    fired = 0
    for _ in range(400):
        statuses = np.where(generator.random(40) < 0.1, 503, 200)
        fired += bool(alarms(bot(*statuses.tolist(), every=timedelta(minutes=70))))
    assert fired <= 2


def text_of(change: LimitChange) -> str:
    (row,) = changes_of_limits([], [change], NOW)
    return summary(row)


def test_the_text_says_how_many_in_a_row_and_what_is_usual() -> None:
    """Of few requests, and of a total outage of many."""
    (few,) = alarms(bot(*[200] * 12, *[503] * 8))
    assert (
        text_of(few)
        == "the last 6 requests of rag in a row failed, mostly HTTP 503 (server not available); usual are 10 % or less"
    )
    many = bot(*[200] * 30, *[503] * 60, every=timedelta(seconds=15))
    first, *_ = alarms(many, LimitSettings(minimum_requests=20, errors=1.0))
    assert (
        text_of(first)
        == "the last 57 requests of rag in a row failed, mostly HTTP 503 (server not available); limit 100 %"
    )
