"""Smallest drop that replays find within five nights in four of five series, by the number of cases: by simulation.

Applications and nights are those of `benchmarks.ground_truth.replay_nights`, without a swing: a drop takes the same
share of each case's probability to pass. `python -m benchmarks.ground_truth.replays`.
"""

from __future__ import annotations

import numpy as np

from benchmarks.ground_truth.replay_nights import CONCENTRATIONS, PASS_RATE, as_built, draw_night, draw_passes

POWER = 0.8
CASES = (50, 200)
STARTS = (1, 8, 30)
WITHIN = 5

_DRAWS = 50
_STEPS = 7


def main() -> None:
    """Print a row a kind of deployment and number of cases."""
    random = np.random.default_rng(1)
    print("deployment | cases | " + " | ".join(f"from night {start} after the baseline" for start in STARTS))
    for name, concentration in CONCENTRATIONS.items():
        for cases in CASES:
            found = [smallest_drop(random, cases, concentration, start) for start in STARTS]
            print(f"{name} | {cases} | " + " | ".join(f"{drop:.2f}" for drop in found), flush=True)


def smallest_drop(random: np.random.Generator, cases: int, concentration: float, start: int) -> float:
    """Give the drop of the share of cases that pass which is found with the probability `POWER`, by bisection."""
    low, high = 0.0, PASS_RATE
    for _ in range(_STEPS):
        drop = (low + high) / 2
        found = sum(_is_found(random, cases, concentration, start, drop) for _ in range(_DRAWS))
        if found < POWER * _DRAWS:
            low = drop
        else:
            high = drop
    return high


def _is_found(random: np.random.Generator, cases: int, concentration: float, start: int, drop: float) -> bool:
    passes = draw_passes(random, cases, concentration)
    nights = [draw_night(random, passes, 0.0) for _ in range(start)]
    for night in range(start, start + WITHIN):
        nights.append(draw_night(random, passes * (1 - drop / PASS_RATE), 0.0))
        if as_built(nights, night):
            return True
    return False


if __name__ == "__main__":
    main()
