"""False alarms and delay of ADWIN and KSWIN (river, as it is set by default), fed answer by answer.

    pip install river
    python -m benchmarks.regression.river [--adwin 20] [--kswin 2] [--days 90]

Streams are those of `detection`, five levels; drops come after half of the days. They are few, as these
rules look at each answer alone: ADWIN takes 3 CPU seconds for 90 days of a stream, KSWIN a minute. river is no
dependency of the project.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.regression.rules import WEEK, Answers, Counts
from benchmarks.regression.streams import LAWS, TURNS, Floats, Kind, simulate, worse
from benchmarks.regression.tables import in_words, print_table

_DELTAS = (0.5, 1.0, 2.0, 2.7, 4.0, 6.0, 9.0, 14.0, 20.0)
"""Of ADWIN, as -log10."""


def is_installed() -> bool:
    """Whether river is."""
    return find_spec("river") is not None


def alarms(rule: str, generator: np.random.Generator, counts: Counts, kind: Kind) -> list[NDArray[np.int64]]:
    """Hours in which a rule with river's settings says that one of the streams has changed.

    ADWIN says where the mean is afterwards; a rise is not counted. KSWIN does not say what has changed.
    """
    drift: Any = import_module("river.drift")
    return [_alarms(drift, rule, seed, _answers(generator, of, kind)) for seed, of in enumerate(counts)]


def _alarms(drift: Any, rule: str, seed: int, hours: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    detector = drift.ADWIN() if rule == "ADWIN" else drift.KSWIN(seed=seed)
    found, mean = [], math.nan
    for hour, values in enumerate(hours):
        for value in values.tolist():
            detector.update(value)
            if detector.drift_detected and (rule == "KSWIN" or detector.estimation < mean):
                found.append(hour)
            if rule == "ADWIN":
                mean = detector.estimation
    return np.unique(np.array(found, dtype=np.int64))


def adwin_of_means(answers: Answers) -> Floats:
    """Largest of `_DELTAS` with which ADWIN of the hourly means says in an hour that the mean has become lower."""
    drift: Any = import_module("river.drift")
    means = answers.hourly @ answers.levels / np.maximum(answers.hourly.sum(axis=2), 1.0)
    found = np.full(means.shape, -np.inf)
    for delta in _DELTAS:
        for stream, of_stream in enumerate(means):
            detector, mean = drift.ADWIN(delta=10.0**-delta), math.nan
            for hour in np.flatnonzero(answers.hourly[stream].any(axis=1)):
                detector.update(of_stream[hour])
                if detector.drift_detected and detector.estimation < mean:
                    found[stream, hour] = delta
                mean = detector.estimation
    return found


def _answers(generator: np.random.Generator, counts: Counts, kind: Kind) -> list[NDArray[np.float64]]:
    """Scores of each hour; conversations in random order, the answers of one next to each other."""
    levels = np.array(kind.levels)
    scores = np.array([np.repeat(levels, of) for of in kind.answers])
    types = np.arange(len(scores))
    return [scores[generator.permutation(np.repeat(types, of))].ravel() for of in counts]


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adwin", type=int, default=20, help="how many streams ADWIN sees")
    parser.add_argument("--kswin", type=int, default=2)
    parser.add_argument("--days", type=int, default=90, help="at least 28")
    given = parser.parse_args()
    if not is_installed():
        sys.exit("river is not installed, so there is no ADWIN and no KSWIN to measure: pip install river")
    law, hours, change, rows = LAWS["five levels"], given.days * 24, given.days // 2 * 24, []
    for rule, streams in (("ADWIN", given.adwin), ("KSWIN", given.kswin)):
        for turns in (1, TURNS):
            generator, kind = np.random.default_rng(turns), Kind(turns)
            steady = alarms(rule, generator, simulate(generator, streams, hours, kind, lambda _: law), kind)
            rate = sum(int((of >= WEEK).sum()) for of in steady) / (streams * (hours - WEEK)) * 30 * 24
            row = [f"{rule}, {'clustered' if turns > 1 else 'independent'}", str(streams), f"{rate:.3g}"]
            for drop in (0.05, 0.10):
                fallen = worse(law, drop)
                counts = simulate(
                    generator, streams, hours, kind, lambda h, fallen=fallen: fallen if h >= change else law
                )
                found = alarms(rule, generator, counts[:, change - 2 * WEEK :], kind)
                row.append(in_words(np.array([_first(of, 2 * WEEK) for of in found])))
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    head = ["rule, scores", "streams", "false alarms a month", "hours to a drop of 0.05", "of 0.10"]
    print_table(f"river's rules on streams of {given.days} days", head, rows)


def _first(found: NDArray[np.int64], change: int) -> float:
    later = found[found >= change]
    return float(later[0] - change + 1) if len(later) else math.inf


if __name__ == "__main__":
    main()
