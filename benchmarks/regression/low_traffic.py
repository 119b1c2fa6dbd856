"""Benchmark of little traffic: how long a fall takes to be found, by how much is known of the time before.

    python -m benchmarks.regression.low_traffic [--streams 40]

Scores on five levels, 20 conversations a day; the mean falls on day 15 or on day 90. A stream that is 90 days old
stands for one that knows its mean from elsewhere, such as from other deployments of the same application: what is
borrowed cannot be better than 1,800 conversations of one's own. False warnings are those of a year without a fall.
Prints markdown.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np

from benchmarks.regression.one_fall import hour_of, one_fall
from benchmarks.regression.rules import DAY
from benchmarks.regression.tables import print_table
from monitor.detect.regression import Detector, RegressionSettings, Status

_AN_HOUR = 1.0
"""By day, and half by night: 20 a day."""
_AFTER, _YEAR = 90 * DAY, 365 * DAY
_DROPS = (0.1, 0.2, 0.3)
_KNOWN = ((50, 15), (100, 15), (200, 15), (200, 90))
"""Size of the reference, and the day of the fall."""


def warnings(generator: np.random.Generator, hours: int, fall: int, drop: float, reference: int) -> list[int]:
    """Give the hours in which a stream begins to warn."""
    found = one_fall(generator, hours, range(fall, hours), drop, _AN_HOUR)
    detector = Detector(RegressionSettings(reference_observations=reference))
    changes = detector.changes(found, np.ones(found.batches, dtype=np.intp))
    was, begun = Status.WATCHING, []
    for place, reading in changes:
        if reading.status is Status.REGRESSED and was is not Status.REGRESSED:
            begun.append(hour_of(found, place))
        was = reading.status
    return begun


def delay(begun: list[int], fall: int) -> float:
    """Days from the fall to the first warning after it; infinite where none came."""
    return next(((hour + 1 - fall) / DAY for hour in begun if hour >= fall), math.inf)


def rows(streams: int) -> Iterator[list[str]]:
    """Give a row for each reference and age of the stream."""
    for reference, day in _KNOWN:
        generator, fall = np.random.default_rng(17), day * DAY
        hours = fall + _AFTER
        of_drops = (
            [delay(warnings(generator, hours, fall, drop, reference), fall) for _ in range(streams)] for drop in _DROPS
        )
        delays = [f"{np.median(one):.1f} / {np.quantile(one, 0.9, method='higher'):.1f}" for one in of_drops]
        false = sum(len(warnings(generator, _YEAR, _YEAR, 0.0, reference)) for _ in range(streams))
        yield [f"day {day}", str(reference), *delays, f"{false / streams:.2f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=40)
    print_table(
        "Days to the first warning at 20 conversations a day, median and 90 %",
        ["fall", "smallest reference", *(f"fall of {drop:.1f}" for drop in _DROPS), "false warnings a stream-year"],
        list(rows(parser.parse_args().streams)),
    )


if __name__ == "__main__":
    main()
