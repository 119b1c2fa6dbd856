"""False alarms of steady streams and delay after a drop, for the regression detector as it is set by default.

    python -m benchmarks.regression [--streams 50]

Each stream has hourly batches of six conversations for 60 days, of which the first days are the reference. Laws:
`graded` (beta), `binary`, `all equal`, and `long chats`, whose conversations go on through four batches with the same
luck and so break the assumption that observations are independent.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from monitor.regression import Detector, Observation, RegressionSettings, Status

SETTINGS = RegressionSettings()
START = datetime(2026, 1, 1, tzinfo=UTC)
MEAN, CONVERSATIONS, DAYS, BATCHES_OF_A_CHAT = 0.8, 6, 60, 4
BATCHES = DAYS * 24

Stream = Callable[[np.random.Generator, NDArray[np.float64]], NDArray[np.float64]]


def graded(generator: np.random.Generator, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Beta scores of standard deviation 0.18 at a mean of 0.8; shape (batches, conversations)."""
    return generator.beta(4 * means[:, None], 4 * (1 - means[:, None]), (len(means), CONVERSATIONS))


def binary(generator: np.random.Generator, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores of 0 and 1."""
    return generator.binomial(1, means[:, None], (len(means), CONVERSATIONS)).astype(np.float64)


def all_equal(_: np.random.Generator, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every score is the mean."""
    return np.repeat(means[:, None], CONVERSATIONS, axis=1)


def long_chats(generator: np.random.Generator, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Graded scores that stay the same for four batches."""
    return np.repeat(graded(generator, means[::BATCHES_OF_A_CHAT]), BATCHES_OF_A_CHAT, axis=0)[: len(means)]


def alarms(values: NDArray[np.float64]) -> list[int]:
    """Batches at which a stream's detector fires."""
    detector, fired = Detector(SETTINGS), []
    for number, batch in enumerate(values):
        at = START + number * SETTINGS.batch
        change = detector.update([Observation(at, float(value)) for value in batch])
        if change is not None and change.status is Status.REGRESSED:
            fired.append(number)
    return fired


def means(drop: float, at: int = BATCHES // 2) -> NDArray[np.float64]:
    """Mean of each batch: steady, then lower by `drop`."""
    return np.where(np.arange(BATCHES) < at, MEAN, MEAN - drop)


def main() -> None:
    """Print one line a law."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=50)
    streams = parser.parse_args().streams
    months = streams * DAYS * timedelta(days=1) / SETTINGS.false_alarm_every
    print(f"{streams} streams a cell, {months:.0f} stream-months; promised: at most 1 false alarm a stream-month")
    print(f"{'law':<12}{'false alarms a stream-month':>30}{'hours to a drop of 0.3':>26}{'of 0.15':>18}{'of 0.1':>18}")
    laws: dict[str, Stream] = {
        "graded": graded, "binary": binary, "all equal": all_equal, "long chats": long_chats,
    }  # fmt: skip
    for name, law in laws.items():
        generator = np.random.default_rng(1)
        false = sum(len(alarms(law(generator, means(0)))) for _ in range(streams))
        delays = [_delay(law, generator, drop, max(1, streams // 2)) for drop in (0.3, 0.15, 0.1)]
        print(f"{name:<12}{false / months:>30.3f}{delays[0]:>26}{delays[1]:>18}{delays[2]:>18}", flush=True)


def _delay(law: Stream, generator: np.random.Generator, drop: float, streams: int) -> str:
    """Median hours from a drop to the alarm, and in how many of the streams it is found at all."""
    middle = BATCHES // 2
    found = [[n - middle + 1 for n in alarms(law(generator, means(drop))) if n >= middle][:1] for _ in range(streams)]
    delays = [hours[0] for hours in found if hours]
    missed = streams - len(delays)
    return (f"{np.median(delays):.0f}" if delays else "-") + (f" ({missed} missed)" if missed else "")


if __name__ == "__main__":
    main()
