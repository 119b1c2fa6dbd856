"""Benchmark of the drop that the first warning tells: how it compares with the true one.

    python -m benchmarks.regression.told_drop [--streams 100] [--conversations 20]

Scores on five levels, so many conversations an hour by day and half as many by night; the mean falls for good on
day 30. Of the first warning: the told drop as a multiple of the true one, median and 90 %, and the share of the told
90 % intervals that hold the true drop. Prints markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from benchmarks.regression.one_fall import hour_of, one_fall
from benchmarks.regression.rules import DAY
from benchmarks.regression.tables import print_table
from monitor.detect.regression import Detector, Reading, RegressionSettings, Status

_FALL, _HOURS = 30 * DAY, 90 * DAY
_DROPS = (0.05, 0.1, 0.2, 0.3)


def first_warning(generator: np.random.Generator, drop: float, conversations: float) -> Reading | None:
    """Give the reading of the first warning after the fall; None where there is none."""
    found = one_fall(generator, _HOURS, range(_FALL, _HOURS), drop, conversations)
    detector = Detector(RegressionSettings())
    for place, reading in detector.changes(found, np.ones(found.batches, dtype=np.intp)):
        if hour_of(found, place) >= _FALL and reading.status is Status.REGRESSED:
            return reading
    return None


def told(streams: int, conversations: float) -> Iterator[list[str]]:
    """Give a row for each drop."""
    for drop in _DROPS:
        generator = np.random.default_rng(11)
        found = [first_warning(generator, drop, conversations) for _ in range(streams)]
        known = [one for one in found if one is not None and one.drop is not None]
        ratios = np.array([one.drop / drop for one in known if one.drop is not None])
        held = [
            one.drop_lower <= drop <= one.drop_upper
            for one in known
            if one.drop_lower is not None and one.drop_upper is not None
        ]
        low, high = (np.median([getattr(one, name) for one in known]) for name in ("drop_lower", "drop_upper"))
        yield [
            f"{drop:.2f}",
            f"{len(known)} of {streams}",
            f"{np.median(ratios):.2f} / {np.quantile(ratios, 0.9):.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{100 * np.mean(held):.0f} %",
        ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--conversations", type=float, default=20.0)
    given = parser.parse_args()
    print_table(
        f"The drop that the first warning tells, {given.conversations:g} conversations an hour",
        ["true drop", "found", "told / true, median and 90 %", "told interval, median ends", "holds the true drop"],
        list(told(given.streams, given.conversations)),
    )


if __name__ == "__main__":
    main()
