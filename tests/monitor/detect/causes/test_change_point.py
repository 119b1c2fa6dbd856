"""The time at which the mean of a series most likely changed."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.detect.causes.attribution import ChangePlace, change_point


def test_a_clear_step_is_found_at_its_place() -> None:
    """The first number after it, with the places around it that are about as likely."""
    found = change_point(np.array([0.0] * 20 + [10.0] * 12), 1.0)
    assert found == ChangePlace(place=20, first=19, last=20)


def test_a_change_has_at_least_five_numbers_on_either_side() -> None:
    """So nine numbers have none, and ten have one in their middle."""
    assert change_point(np.arange(9.0), 1.0) is None
    found = change_point(np.array([9.0] + [0.0] * 9), 1.0)
    assert found is not None
    assert found.place == 5


@pytest.mark.parametrize("repeats", [1.0, 4.0])
def test_answers_of_few_conversations_widen_the_interval(repeats: float) -> None:
    """Four answers a conversation say as much as a quarter of them."""
    numbers = np.random.default_rng(1).normal(0, 1, 80) + np.repeat([0.0, 1.0], 40)
    one, given = change_point(numbers, 1.0), change_point(numbers, repeats)
    assert one is not None
    assert given is not None
    assert given.place == one.place
    assert (given.last - given.first > one.last - one.first) == (repeats > 1)
    assert given.first <= given.place <= given.last
