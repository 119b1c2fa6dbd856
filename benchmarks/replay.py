"""Smallest drop that a replay finds in four of five runs, by the number of cases: by simulation.

Each case passes with a probability of its own, drawn from a beta distribution with the mean of the deployment; a drop
takes the same share of each. `python -m benchmarks.replay`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evaluator.replays.comparison import compare

ALPHA = 0.05
POWER = 0.8
PASS_RATE = 0.9
CASES = (50, 200, 1000)
RUNS = (1, 7, 30)
CONCENTRATIONS = {"answers vary": 2.0, "answers hardly vary": 0.2}
"""Sum of both parameters of the beta distribution: the smaller, the more cases always pass or always fail."""

_DRAWS = 200
_STEPS = 9


def main() -> None:
    """Print a row a kind of deployment and number of cases."""
    random = np.random.default_rng(1)
    print("deployment | cases | " + " | ".join(f"run {run} after the baseline" for run in RUNS))
    for name, concentration in CONCENTRATIONS.items():
        for cases in CASES:
            found = [smallest_drop(random, cases, concentration, run) for run in RUNS]
            print(f"{name} | {cases} | " + " | ".join(f"{drop:.3f}" for drop in found))


def smallest_drop(random: np.random.Generator, cases: int, concentration: float, run: int) -> float:
    """Give the drop of the share of cases that pass which is found with the probability `POWER`, by bisection."""
    low, high = 0.0, PASS_RATE
    for _ in range(_STEPS):
        drop = (low + high) / 2
        if _power(random, cases, concentration, run, drop) < POWER:
            low = drop
        else:
            high = drop
    return high


def _power(random: np.random.Generator, cases: int, concentration: float, run: int, drop: float) -> float:
    found = 0
    for _ in range(_DRAWS):
        passes = random.beta(PASS_RATE * concentration, (1 - PASS_RATE) * concentration, cases)
        before, after = random.random(cases) < passes, random.random(cases) < passes * (1 - drop / PASS_RATE)
        found += compare(_scores(before), _scores(after), ALPHA, run).is_regression
    return found / _DRAWS


def _scores(values: NDArray[np.bool_]) -> dict[str, dict[str, float]]:
    return {f"case-{n:04d}": {"case_passed": float(value)} for n, value in enumerate(values)}


if __name__ == "__main__":
    main()
