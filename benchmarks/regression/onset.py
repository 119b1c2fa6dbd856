"""Benchmark of the told onset: how often its interval holds the true one, and how wide it is.

    python -m benchmarks.regression.onset [--streams 60] [--conversations 20] [--seed 51]

Scores on five levels, so many conversations an hour by day and half as many by night. From 14:00 on day 30 on the mean
is lower for good, or falls evenly for two weeks, or is lower each day from 14:00 to 15:00. Of the first warning after
that: its kind, how often its interval holds the true begin, and how wide it is. That a fall recurs shows only after
some days: of these the last warning of 30 days counts, and whether it names the hours rightly. Prints markdown.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from benchmarks.regression.one_fall import START, falling, hour_of
from benchmarks.regression.rules import DAY
from benchmarks.regression.streams import Floats
from benchmarks.regression.tables import print_table
from lake.spec.alert_vocabulary import OnsetKind
from monitor.detect.regression import Detector, Reading, RegressionSettings, Status

_BEGIN, _HOURS = 30 * DAY + 14, 60 * DAY
_ON = START + timedelta(hours=_BEGIN)
_NOON = 14
_HOUR = timedelta(hours=1)
_AFTER = np.maximum(0, np.arange(_HOURS) - _BEGIN + 0.5) * (np.arange(_HOURS) >= _BEGIN)


def _ramp(drop: float, days: int) -> Floats:
    return np.minimum(drop, drop * _AFTER / (days * DAY))


def _daily(drop: float) -> Floats:
    return drop * ((_AFTER > 0) & (np.arange(_HOURS) % DAY == _NOON))


_SHAPES = {
    "sudden, 0.30": (OnsetKind.SUDDEN, 0.3 * (_AFTER > 0)),
    "sudden, 0.10": (OnsetKind.SUDDEN, 0.1 * (_AFTER > 0)),
    "sudden, 0.05": (OnsetKind.SUDDEN, 0.05 * (_AFTER > 0)),
    "over two weeks, to 0.30": (OnsetKind.GRADUAL, _ramp(0.3, 14)),
    "over two weeks, to 0.20": (OnsetKind.GRADUAL, _ramp(0.2, 14)),
    "over two weeks, to 0.10": (OnsetKind.GRADUAL, _ramp(0.1, 14)),
    "one hour a day, 0.60": (OnsetKind.RECURRING, _daily(0.6)),
    "one hour a day, 0.30": (OnsetKind.RECURRING, _daily(0.3)),
    "one hour a day, 0.20": (OnsetKind.RECURRING, _daily(0.2)),
}


def _warnings(generator: np.random.Generator, drops: Floats, conversations: float) -> list[Reading]:
    """Give the readings of a stream's warnings and pages after the fall."""
    found = falling(generator, drops, conversations)
    detector = Detector(RegressionSettings())
    return [
        reading
        for place, reading in detector.changes(found, np.ones(found.batches, dtype=np.intp))
        if hour_of(found, place) >= _BEGIN and reading.status is Status.REGRESSED
    ]


@dataclass(frozen=True)
class Told:
    """What the onset of one stream was told to be."""

    kind: OnsetKind
    holds: bool
    hours: float
    """From the earliest to the latest."""


def told(generator: np.random.Generator, kind: OnsetKind, drops: Floats, conversations: float) -> Told | None:
    """Give what is told of one stream; None without a warning."""
    found = _warnings(generator, drops, conversations)
    if not found:
        return None
    reading = found[-1 if kind is OnsetKind.RECURRING else 0]
    if reading.onset is None or reading.since_earliest is None or reading.since_latest is None:
        return None
    holds = reading.since_earliest <= _ON <= reading.since_latest
    if kind is OnsetKind.RECURRING:
        holds = reading.onset_hours == (_NOON, _NOON + 1)
    return Told(reading.onset, holds, (reading.since_latest - reading.since_earliest) / _HOUR)


def rows(streams: int, conversations: float, seed: int) -> Iterator[list[str]]:
    """Give a row for each shape."""
    for name, (kind, drops) in _SHAPES.items():
        generator = np.random.default_rng(seed)
        every = [told(generator, kind, drops, conversations) for _ in range(streams)]
        found = [one for one in every if one is not None]
        kinds = Counter(one.kind for one in found)
        yield [
            name,
            f"{len(found)} of {streams}",
            f"{100 * np.mean([one.holds for one in found]):.0f} %",
            f"{np.median([one.hours for one in found]):.0f} h",
            ", ".join(f"{number} {one}" for one, number in kinds.most_common()),
        ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=60)
    parser.add_argument("--conversations", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=51)
    given = parser.parse_args()
    print_table(
        f"Told onset, {given.conversations:g} conversations an hour",
        ["fall", "warnings", "right", "interval, median width", "kinds"],
        list(rows(given.streams, given.conversations, given.seed)),
    )


if __name__ == "__main__":
    main()
