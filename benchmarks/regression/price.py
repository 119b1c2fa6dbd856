"""Parts of the delay that the detector has beyond a CUSUM that knows the laws before and after a drop.

    python -m benchmarks.regression.price [--streams 200]

Streams are those of `detection`, of 90 days, the last 30 after the drop; all at the threshold log(A) of one
false alarm a month. Beside the CUSUM stands our detector if it knew the mean before, so that only the laws are
unknown to it, and as it is, tolerance 0. Beside both stands what no rule of their kind can beat where A is large:
log(A) / KL for those that know the laws (Lorden), log(A) / KL_inf for those that keep the promise whatever the law
before, knowing no more than its mean. Prints markdown.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.regression.detection import delays, hours_to_threshold, least_delay, settings
from benchmarks.regression.rules import DAY, SETTINGS, cusum, ours, ours_with
from benchmarks.regression.streams import Floats, Kind, simulate
from benchmarks.regression.tables import in_words, print_table

_CHANGE, _HOURS = 60 * DAY, 90 * DAY
_DROPS = (0.05, 0.10)
_STEPS = 100


def least_delay_of_means(kind: Kind, before: Floats, after: Floats) -> float:
    """Hours that no rule can beat, for large A, that has so rare false alarms whatever law before has this mean.

    On average they are log(A) / KL_inf, the divergence of the law after from the nearest law on [0, 1] with that mean:
    `max E log(1 + lambda * (mean - x))` over `lambda` from 0 to `1 / (1 - mean)` (Honda and Takemura, COLT 2010).
    """
    p, mean = kind.probabilities(after), float(kind.probabilities(before) @ kind.means)
    low, high = 0.0, 1.0 / (1.0 - mean)
    for _ in range(_STEPS):
        bet = (low + high) / 2
        slope = float(p @ ((mean - kind.means) / (1.0 + bet * (mean - kind.means))))
        low, high = (bet, high) if slope > 0.0 else (low, bet)
    return hours_to_threshold(float(p @ np.log1p(low * (mean - kind.means))), kind)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=200)
    streams, rows = parser.parse_args().streams, []
    for setting in settings():
        for drop in _DROPS:
            before, after, kind = setting.law, setting.worse(drop), setting.kind

            def law_at(hour: int, before: Floats = before, after: Floats = after) -> Floats:
                return after if hour >= _CHANGE else before

            counts = simulate(np.random.default_rng(3), streams, _HOURS, kind, law_at)
            mean = float(kind.probabilities(before) @ kind.means)
            rules = cusum(counts, kind, before, after), ours_with(counts, kind, mean), ours(counts, kind, tolerance=0.0)
            found = (in_words(delays(rule, SETTINGS.log_threshold, _CHANGE)) for rule in rules)
            least = (least_delay(kind, before, after), least_delay_of_means(kind, before, after))
            rows.append([f"{setting.name}, {drop:.2f}", *found, *(f"{hours:.1f}" for hours in least)])
    print_table(
        f"Hours to a lasting drop, median and 90 %, of {streams} streams",
        [
            "scores, drop",
            "CUSUM that knows the laws",
            "ours that knows the mean",
            "ours, tolerance 0",
            "log(A) / KL",
            "log(A) / KL_inf",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
