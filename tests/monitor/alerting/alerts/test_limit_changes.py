"""Changes of alerts that limits make: each in its turn, from what is recorded."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, LimitKind, Tier
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.limit_alerts import changes_of_limits, last_changes
from monitor.detect.limits import LimitChange
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
        expected: Any = (mine[-1].change == AlertEvent.FIRING, mine[-1].changed_at) if mine else None
        assert last_changes(known).get(("rag", kind)) == expected
    assert len({one.change_id for one in known}) == len(known)


@pytest.mark.parametrize("kind", list(LimitKind))
def test_only_a_judge_that_changed_is_no_page(kind: LimitKind) -> None:
    """It is no outage of what people use."""
    (fired,) = changes_of_limits([], [found(AlertEvent.FIRING, 0, kind)], NOW)
    is_judge = kind == LimitKind.JUDGE_DRIFT
    assert (fired.tier, fired.verdict) == ((Tier.WARN, AlertVerdict.JUDGE) if is_judge else (Tier.PAGE, None))
    assert (fired.key.metric_version, fired.reason, fired.details.recorded_at) == (LIMIT_VERSION, "why", NOW)
    assert fired.since == fired.changed_at - 5 * MINUTE
