from __future__ import annotations

from runtime.backoff import Backoff


def test_waits_grow_up_to_the_cap_and_begin_anew_after_a_success() -> None:
    """Each wait is twice the one before, none is longer than the cap, and `reset` begins with the first."""
    backoff = Backoff(first=1.0, cap=5.0)
    assert [backoff.next_delay() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    backoff.reset()
    assert [backoff.next_delay() for _ in range(2)] == [1.0, 2.0]


def test_another_factor_and_a_cap_below_the_first_wait_hold() -> None:
    """The factor may be another one, and the cap holds for the first wait too."""
    assert [Backoff(1.0, 100.0, factor=3.0).next_delay(), Backoff(60.0, 5.0).next_delay()] == [1.0, 5.0]
    tripled = Backoff(1.0, 100.0, factor=3.0)
    assert [tripled.next_delay() for _ in range(3)] == [1.0, 3.0, 9.0]


def test_what_fails_for_ever_waits_as_long_as_the_cap() -> None:
    """Thousands of failures overflow no number."""
    backoff = Backoff(first=1.0, cap=60.0)
    assert {backoff.next_delay() for _ in range(3000)} == {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0}
