"""What the benchmark of a day calculates from what it measures."""

from __future__ import annotations

import pytest

from benchmarks.lake.day import LARGE, Day, Part, calculated

REQUESTS = {"PUT": 2.0, "GET": 10.0, "DELETE": 5.0}


def day(rate: int, cores: float) -> Day:
    return Day(rate, {name: Part(cores, 300, REQUESTS) for name in ("collector", "evaluator", "monitor")}, 10_000)


def test_processor_time_grows_in_proportion() -> None:
    """What a process takes without any answer is taken once, and only a collector's requests grow with processes."""
    large = calculated(day(10, 0.01001), day(1000, 0.011))
    assert [one.cores for one in large.parts.values()] == pytest.approx([0.01 + LARGE * 1e-6] * 3)
    larger = calculated(day(10, 0.02), day(1000, 0.02 + 990 * 3e-5)).parts
    assert [larger[name].processes for name in ("collector", "evaluator", "monitor")] == [5, 5, 1]
    assert [larger[name].requests["GET"] for name in ("collector", "evaluator", "monitor")] == [50, 10, 10]


def test_dollars_are_those_of_the_least_size_that_is_enough() -> None:
    """A process is busy for 70 % at most, and has a quarter of its memory free; removals cost nothing."""
    assert [Part(cores, mib, {}).reserved() for cores, mib in ((0.17, 380), (0.17, 390), (0.18, 380), (0.8, 380))] == [
        (0.25, 0.5), (0.25, 1), (0.5, 1), (2, 4),
    ]  # fmt: skip
    assert Part(0.1, 300, {}, 2).compute_dollars() == pytest.approx(2 * 24 * (0.25 * 0.04048 + 0.5 * 0.004445))
    assert Part(0.1, 300, REQUESTS).request_dollars() == pytest.approx(86400 * (2 * 5e-6 + 10 * 4e-7))
    assert day(1000, 0.1).gb() == pytest.approx(14.4)
