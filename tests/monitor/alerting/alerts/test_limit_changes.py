"""Changes of alerts that limits make: each in its turn, from what is recorded."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, LimitKind, Tier
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.limit_alerts import changes_of_limits, last_changes
from monitor.detect.limits import LimitChange, LimitSettings
from monitor.detect.limits.minute_counts import MinuteCounts
from monitor.detect.limits.shares import ShareLimit
from tests.monitor.alerting.alerts.test_pending import NOW

MINUTE = timedelta(minutes=1)
LIMITS = (LimitKind.ERRORS, LimitKind.EMPTY_ANSWERS)


def found(change: AlertEvent, minute: int, kind: LimitKind = LimitKind.ERRORS) -> LimitChange:
    at = NOW + minute * MINUTE
    return LimitChange("rag", kind, change, at, "why", at - 5 * MINUTE)


STEPS = st.lists(
    st.builds(
        found, st.sampled_from([AlertEvent.FIRING, AlertEvent.RESOLVED]), st.integers(0, 9), st.sampled_from(LIMITS)
    ),
    max_size=15,
)


@example([found(AlertEvent.FIRING, 1), found(AlertEvent.RESOLVED, 1), found(AlertEvent.RESOLVED, 2)], 1)
@given(STEPS, st.integers(0, 15))
def test_a_limit_fires_and_ends_in_turn_whatever_is_found_again(steps: list[LimitChange], cut: int) -> None:
    """Later each time, and the same in one go or two; an end has the beginning of what it ends."""
    known: list[AlertChange] = []
    for some in (steps[:cut], steps[cut:]):
        known += changes_of_limits(known, some, NOW)
    assert known == changes_of_limits([], steps, NOW)
    for kind in LIMITS:
        mine = [one for one in known if one.key.metric == kind]
        assert [one.change for one in mine] == ([AlertEvent.FIRING, AlertEvent.RESOLVED] * len(mine))[: len(mine)]
        assert all(first.changed_at < second.changed_at for first, second in pairwise(mine))
        for begun, end in zip(mine[::2], mine[1::2], strict=False):
            assert (end.alert_id, end.since, end.fired_at) == (begun.alert_id, begun.since, begun.changed_at)
        assert len({one.alert_id for one in mine[::2]}) == len(mine[::2])
        expected: Any = (mine[-1].change == AlertEvent.FIRING, mine[-1].changed_at) if mine else ()
        assert last_changes(known).get(("rag", kind), ())[:2] == expected
    assert len({one.change_id for one in known}) == len(known)


@pytest.mark.parametrize("kind", list(LimitKind))
def test_only_a_judge_that_changed_is_no_page(kind: LimitKind) -> None:
    """It is no outage of what people use."""
    (fired,) = changes_of_limits([], [found(AlertEvent.FIRING, 0, kind)], NOW)
    is_judge = kind == LimitKind.JUDGE_DRIFT
    assert (fired.tier, fired.verdict) == ((Tier.WARN, AlertVerdict.JUDGE) if is_judge else (Tier.PAGE, None))
    assert (fired.key.metric_version, fired.reason, fired.details.recorded_at) == (LIMIT_VERSION, "why", NOW)
    assert fired.since == fired.changed_at - 5 * MINUTE


class Requests:
    """Requests of one deployment, looked at while they come; `known` are the changes that were recorded."""

    def __init__(self, **settings: Any) -> None:
        self._settings, self._minutes = LimitSettings(**settings), MinuteCounts()
        self.known: list[AlertChange] = []

    def come(self, times: Iterable[datetime], is_bad: bool, now: datetime, each: int = 1) -> None:
        at = pa.array([at for at in times for _ in range(each)], pa.timestamp("us", "UTC"))
        why = pa.chunked_array([pa.array(["500"] * len(at))])
        self._minutes.add(pa.chunked_array([at]), np.full(len(at), is_bad), why, now)

    def look(self, now: datetime, **settings: Any) -> None:
        check = ShareLimit("rag", LimitKind.ERRORS, 0.3, LimitSettings(**settings) if settings else self._settings)
        found, _ = check.look(self._minutes, last_changes(self.known).get(("rag", LimitKind.ERRORS)), now)
        self.known += changes_of_limits(self.known, found, now)

    @property
    def words(self) -> list[tuple[str, Tier]]:
        return [(one.change, one.tier) for one in self.known]


WARNED, PAGED = (AlertEvent.FIRING, Tier.WARN), (AlertEvent.FIRING, Tier.PAGE)


@pytest.mark.parametrize("late", [False, True])
def test_a_warning_is_raised_though_late_rows_say_that_it_began_long_before(late: bool) -> None:
    """Else nobody is woken by an outage, however long."""
    requests = Requests()
    for number in range(40):
        now = NOW + number * 3 * MINUTE
        requests.come([now], True, now)
        requests.look(now)
        if number == 8:
            assert requests.words == [WARNED]
            if late:
                requests.come([NOW - ago * MINUTE for ago in range(120, 0, -4)], True, now)
    assert requests.words == [WARNED, PAGED]


def test_a_warning_is_raised_where_another_time_until_a_page_is_set_while_it_is_open() -> None:
    requests = Requests()
    for number in range(20):
        now = NOW + number * 3 * MINUTE
        requests.come([now], True, now)
        requests.look(now)
    assert requests.words == [WARNED]
    requests.look(now, page_after="10m")
    assert requests.words == [WARNED, PAGED]


def test_a_page_ends_after_it_was_raised_though_late_rows_would_have_ended_it_before() -> None:
    """An end that is dated before the page is out of turn: the page would stay open, and hide the next outage."""
    requests = Requests()
    for number in range(180):
        now = NOW + number * MINUTE
        is_bad = number <= 61 or number >= 130
        requests.come([now], is_bad, now, each=10)
        if number == 63:
            requests.come([NOW + late * MINUTE for late in range(20, 64)], False, now, each=400)
        requests.look(now)
    assert requests.words == [WARNED, PAGED, (AlertEvent.RESOLVED, Tier.PAGE), WARNED]
    raised, end = requests.known[1:3]
    assert raised.changed_at < end.changed_at <= NOW + 130 * MINUTE
    assert end.details.exceeded is not None
    assert end.details.exceeded.lasted_seconds == 62 * 60


def test_an_outage_that_is_longer_than_what_is_kept_ends_with_its_last_bad_request() -> None:
    """From when it was recorded to begin, though that is not counted any more."""
    requests = Requests()
    for number in range(3 * 24 * 5):
        now = NOW + number * 20 * MINUTE
        requests.come([now], number < 3 * 24 * 4, now)
        requests.look(now)
    begin, end = requests.known
    last_bad = NOW + (3 * 24 * 4 - 1) * 20 * MINUTE
    assert begin.since == NOW < begin.changed_at
    assert (end.since, end.back_at) == (NOW, last_bad + MINUTE)
    assert end.details.exceeded is not None
    assert end.details.exceeded.lasted_seconds == (last_bad + MINUTE - NOW).total_seconds()
