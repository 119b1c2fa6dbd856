"""Benchmark of the state `recovering`: how soon after a repair it is told, and how often while the fall goes on.

    python -m benchmarks.regression.recovering [--streams 40] [--conversations 20]

Scores on five levels, so many conversations an hour by day and half as many by night; the mean falls on day 30 and is
back on day 37. Prints markdown.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.regression.one_fall import hour_of, one_fall
from benchmarks.regression.rules import DAY
from benchmarks.regression.tables import in_words, print_table
from monitor.detect.regression import Detector, RegressionSettings, Status

_FALL, _BACK, _HOURS = 30 * DAY, 37 * DAY, 60 * DAY
_DROPS = (0.1, 0.2, 0.3)


@dataclass(frozen=True)
class Course:
    """What became of an alert; hours from the repair on, infinite where it did not come."""

    recovering: float
    ended: float
    was_early: bool
    """Whether it was told to recover while the fall went on."""


def course(generator: np.random.Generator, drop: float, conversations: float) -> Course | None:
    """Give the course of one stream; None where the fall was not found, or the alert ended before the repair."""
    found = one_fall(generator, _HOURS, range(_FALL, _BACK), drop, conversations)
    detector, was_early, recovering = Detector(RegressionSettings()), False, math.inf
    for batch in range(found.batches):
        changes = list(detector.changes(found.between(batch, batch + 1), np.ones(1, dtype=np.intp)))
        hour = hour_of(found, batch)
        after = float(hour + 1 - _BACK)
        if hour < _FALL:
            continue
        is_recovering = detector.reading.recovering_since is not None
        if hour < _BACK:
            was_early = was_early or is_recovering
        elif any(reading.status is Status.WATCHING for _, reading in changes):
            return Course(min(recovering, after), after, was_early)
        elif detector.reading.status is not Status.REGRESSED:
            return None
        elif is_recovering:
            recovering = min(recovering, after)
    return Course(recovering, math.inf, was_early)


def rows(streams: int, conversations: float) -> Iterator[list[str]]:
    """Give a row for each drop."""
    for drop in _DROPS:
        generator = np.random.default_rng(31)
        every = [course(generator, drop, conversations) for _ in range(streams)]
        found = [one for one in every if one is not None]
        yield [
            f"{drop:.2f}",
            f"{len(found)} of {streams}",
            in_words(np.array([one.recovering for one in found])),
            in_words(np.array([one.ended for one in found])),
            f"{sum(one.was_early for one in found)} of {len(found)}",
        ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=40)
    parser.add_argument("--conversations", type=float, default=20.0)
    given = parser.parse_args()
    print_table(
        f"Hours from the repair, median and 90 %, {given.conversations:g} conversations an hour",
        ["fall", "alerts", "recovering", "over", "told to recover during the fall"],
        list(rows(given.streams, given.conversations)),
    )


if __name__ == "__main__":
    main()
