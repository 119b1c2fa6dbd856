from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runtime.clocks import ClockSteps, age_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize("step", [timedelta(hours=-1), timedelta(hours=3)])
def test_a_step_of_the_clock_is_reported_once(step: timedelta) -> None:
    """Time that passes is no step, a clock that is set is one, forward or back."""
    now, passed = [NOW], [5.0]
    steps = ClockSteps(lambda: now[0], lambda: passed[0])
    now[0] += timedelta(hours=2)
    passed[0] += 7200
    assert steps.since_last() == timedelta(0)
    now[0] += step
    assert steps.since_last() == step
    assert steps.since_last() == timedelta(0)


def test_a_clock_that_is_corrected_bit_by_bit_is_reported_too() -> None:
    """Steps under a second count once they have added up to one."""
    now = [NOW]
    steps = ClockSteps(lambda: now[0], lambda: 0.0)
    steps_seen = []
    for _ in range(5):
        now[0] -= timedelta(seconds=0.4)
        steps_seen.append(steps.since_last().total_seconds())
    assert steps_seen == [0, 0, -1.2, 0, 0]


@pytest.mark.parametrize(("seconds", "age"), [(90, 90), (0, 0), (-3537, 0), (-3600, 0), (-3601, -3601)])
def test_an_age_is_negative_only_beyond_the_skew_that_is_allowed(seconds: float, age: float) -> None:
    """A time that another clock gave may be an hour ahead; more is not hidden."""
    assert age_of(timedelta(seconds=seconds)) == age
