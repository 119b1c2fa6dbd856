"""Benchmark of recovery: the time until the detector resolves a regression, from when the quality is back.

    python -m benchmarks.regression.recovery [--streams 50]

Streams are those of `detection`; the mean is lower by 0.10 from day 30 to day 33, and from then on what it
was. Prints markdown.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

from benchmarks.regression.detection import Setting, settings
from benchmarks.regression.rules import DAY, Counts
from benchmarks.regression.streams import Floats, simulate
from benchmarks.regression.tables import in_words, print_table
from monitor.detect.regression import Detector, RegressionSettings
from monitor.detect.regression.arrays import begins_of, microseconds
from monitor.detect.regression.observations import Observations

_FALL, _BACK, _HOURS = 30 * DAY, 33 * DAY, 90 * DAY
_START = microseconds(datetime(2026, 1, 1, tzinfo=UTC))
_HOUR = timedelta(hours=1) // timedelta(microseconds=1)
_TOLERANCES = (RegressionSettings().tolerance, 0.0)


def recovery(stream: Counts, means: Floats, tolerance: float) -> float:
    """Hours from when quality is back until the alarm of the fall is off; infinite where it stays on, nan without one.

    `stream` has the number of conversations of each hour and type, and `means` the types' means.
    """
    hours, types = (places.repeat(stream[stream > 0]) for places in np.nonzero(stream))
    none = np.zeros(len(hours), dtype=np.intp)
    found = Observations(_START + hours * _HOUR, means[types], np.ones(len(hours)), none, begins_of(hours))
    detector = Detector(RegressionSettings(tolerance=tolerance))
    readings = list(detector.changes(found, np.ones(found.batches, dtype=np.intp)))
    at = [(int(hours[found.begins[place]]) + 1, reading.status) for place, reading in readings]
    if not any(_FALL < hour <= _BACK and status == "regressed" for hour, status in at):
        return math.nan
    return next((float(hour - _BACK) for hour, status in at if hour > _BACK and status == "watching"), math.inf)


def recoveries(setting: Setting, streams: int) -> Iterator[str]:
    """Give the hours of all streams in words, for each tolerance."""
    after = setting.worse(0.10)
    counts = simulate(
        np.random.default_rng(5),
        streams,
        _HOURS,
        setting.kind,
        lambda hour: after if _FALL <= hour < _BACK else setting.law,
    )
    for tolerance in _TOLERANCES:
        hours = np.array([recovery(stream, setting.kind.means, tolerance) for stream in counts])
        yield in_words(hours[~np.isnan(hours)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=50)
    streams = parser.parse_args().streams
    print_table(
        f"Hours from the end of a fall of 0.10 to that of its alarm, median and 90 %, of {streams} streams",
        ["scores", *(f"tolerance {tolerance:.2f}" for tolerance in _TOLERANCES)],
        [[setting.name, *recoveries(setting, streams)] for setting in settings()],
    )


if __name__ == "__main__":
    main()
