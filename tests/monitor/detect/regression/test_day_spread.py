"""The spread of daily means beyond chance, compared with its formula over whole days."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from monitor.detect.regression.day_spread import DaySpread

DAY = 86_400_000_000
MONDAY = 4  # days after 1970-01-01, a Thursday


def made(days: list[tuple[int, np.ndarray, np.ndarray]], a_day: int = 4) -> DaySpread:
    """Batches of five conversations, so many a day, each day added at once."""
    spread = DaySpread()
    for day, values, weights in days:
        numbers = np.repeat(np.arange(a_day), len(values) // a_day)
        spread.add(values, weights, numbers, day * DAY + np.arange(a_day) * DAY // 24)
    return spread


def expected(days: list[tuple[int, np.ndarray, np.ndarray]]) -> float:
    means = [np.average(values, weights=weights) for _, values, weights in days]
    chances = [
        ((weights * (values - mean)) ** 2).sum() / weights.sum() ** 2 * len(values) / (len(values) - 1)
        for mean, (_, values, weights) in zip(means, days, strict=True)
    ]
    chance = np.mean([(one + next_one) / 2 for one, next_one in pairwise(chances)])
    seen = (np.diff(means) ** 2).mean() / 2
    return math.sqrt(max(0.0, seen - chance - 2 * chance * math.sqrt(3 / (len(days) - 1))))


def drawn(first: int, levels: list[float]) -> list[tuple[int, np.ndarray, np.ndarray]]:
    random = np.random.default_rng(1)
    return [
        (first + number, random.normal(level, 0.05, 20), random.uniform(1, 4, 20))
        for number, level in enumerate(levels)
    ]


def test_the_spread_is_that_of_differences_of_weighted_means_less_chance_and_its_error() -> None:
    days = drawn(MONDAY, [0.5, 0.9, 0.4, 0.8, 0.6])
    assert made(days).spread() == pytest.approx(expected(days))
    assert expected(days) > 0.1
    steady = drawn(MONDAY, [0.5] * 5)
    assert made(steady).spread() == expected(steady) == 0.0


def test_few_days_and_days_of_few_conversations_tell_nothing() -> None:
    """A day that counts has twenty conversations, and there are four."""
    days = drawn(MONDAY, [0.5, 0.9, 0.4])
    assert made(days).spread() is None
    small = (MONDAY + 3, np.full(19, 0.5), np.ones(19))
    assert made([*days, small], a_day=1).spread() is None
    assert made([*days, (MONDAY + 4, np.full(20, 0.5), np.ones(20))]).spread() is not None


def test_within_a_week_working_days_are_compared_with_working_days() -> None:
    """Weekends that differ from the days before them are no spread then."""
    days = drawn(MONDAY, [0.5, 0.5, 0.5, 0.5, 0.5, 0.9, 0.9] * 2)
    spread = made(days)
    assert spread.spread(within_week=True) == 0.0
    assert (spread.spread() or 0.0) > 0.05
