import random
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.notify.retries import DELAYS, next_delay


@given(st.integers(1, len(DELAYS)), st.integers(0))
def test_a_wait_is_the_planned_one_and_up_to_a_fifth_more(attempts: int, seed: int) -> None:
    """Jitter only adds."""
    delay = next_delay(attempts, None, random.Random(seed))
    assert delay is not None
    assert DELAYS[attempts - 1] <= delay <= 1.2 * DELAYS[attempts - 1]


def test_the_first_tries_are_seconds_apart_and_the_last_is_days_later() -> None:
    """A receiver that restarts loses seconds; one that is down for a weekend still gets the alert."""
    assert DELAYS[0] == timedelta(seconds=2)
    assert sum(DELAYS, timedelta()) > timedelta(days=3)
    assert next_delay(len(DELAYS) + 1, None, random.Random(0)) is None


def test_what_the_receiver_asks_for_is_respected_up_to_a_day() -> None:
    """A wait is never shorter than Retry-After, and no header puts a message off for ever."""
    assert next_delay(1, timedelta(minutes=10), random.Random(0)) == timedelta(minutes=10)
    assert next_delay(1, timedelta.max, random.Random(0)) == timedelta(days=1)
    assert next_delay(5, timedelta(seconds=1), random.Random(0)) == next_delay(5, None, random.Random(0))
