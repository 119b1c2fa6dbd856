"""What the search for improvements costs and brings: hours until a rise is told, and the detector's time without it.

    python -m benchmarks.regression.improvement [--streams 20]

20 answers an hour of five levels; on day 30 the mean rises for good. Prints markdown.
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime, timedelta
from unittest import mock

import numpy as np

from benchmarks.regression.streams import LEVELS, Floats
from benchmarks.regression.tables import print_table
from monitor.detect.regression import Observation, RegressionSettings
from monitor.detect.regression.baselines import Baselines
from monitor.detect.regression.detector import Detector

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), 24
LAW = np.array([0.1, 0.1, 0.2, 0.3, 0.3])
RISES_ON, WATCHED = 30 * DAY, 60 * DAY


def better(rise: float) -> Floats:
    """Give the law with a mean that is higher by `rise`: of the worst answers some become perfect."""
    law, left = LAW.copy(), rise
    for level, quality in enumerate(LEVELS[:-1]):
        moved = min(law[level], left / (1 - quality))
        law[level] -= moved
        law[-1] += moved
        left -= moved * (1 - quality)
    return law


def batch(generator: np.random.Generator, hour: int, law: Floats) -> list[Observation]:
    """Give the conversations of an hour."""
    values = generator.choice(LEVELS, generator.poisson(20), p=law)
    return [Observation(START + hour * HOUR, float(value)) for value in values]


def told_after(generator: np.random.Generator, rise: float) -> float:
    """Hours after the rise until the stream is told to have improved; below 0 where that was before it."""
    detector = Detector(RegressionSettings())
    for hour in range(WATCHED):
        detector.update(batch(generator, hour, better(rise) if hour >= RISES_ON else LAW))
        is_looked_at = hour >= RISES_ON or hour % DAY == 0
        if is_looked_at and detector.reading.improved:
            return hour - RISES_ON
    return np.inf


def seconds(batches: list[list[Observation]]) -> float:
    """Time of a detector with these batches."""
    detector, began = Detector(RegressionSettings()), time.process_time()
    for one in batches:
        detector.update(one)
    return time.process_time() - began


def main() -> None:
    """Print the table and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=20)
    streams = parser.parse_args().streams
    rows = []
    for rise in (0.05, 0.10, 0.20):
        hours = np.array([told_after(np.random.default_rng([7, number]), rise) for number in range(streams)])
        after = hours[hours >= 0]
        quantiles = f"{np.median(after):.0f} / {np.quantile(after, 0.9, method='higher'):.0f}"
        rows.append([f"{rise:.2f}", quantiles, str(int((hours < 0).sum()))])
    print_table(f"Improvements of {streams} streams", ["rise", "hours, median / 90 %", "told before it"], rows)
    generator = np.random.default_rng(1)
    batches = [batch(generator, hour, LAW) for hour in range(200 * DAY)]
    whole = min(seconds(batches) for _ in range(3))
    with mock.patch.object(Baselines, "ceiling", None):
        without = min(seconds(batches) for _ in range(3))
    print(f"\nTime of 200 days batch by batch: {whole:.2f} s; without improvements {without:.2f} s")


if __name__ == "__main__":
    main()
