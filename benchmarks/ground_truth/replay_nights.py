"""Replays where whole nights differ: false alarms of an application that does not change, and when a drop is found.

Each case passes with a probability of its own. A night moves the logits of all of them by one normal draw, the swing.
`python -m benchmarks.ground_truth.replay_nights [SEED]`; the design was chosen with other seeds than the one that is
reported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from evaluator.replays.comparison import Scores, compare, share_of_alpha
from evaluator.replays.significance import probabilities_by_cases, probability_by_runs, splits

ALPHA = 0.05
PASS_RATE = 0.85
SERIES = 60
NIGHTS = 30
SWINGS = (0.0, 0.5, 1.0)
CASES = (12, 25, 60, 200)
CONCENTRATIONS = {"answers vary": 2.0, "answers hardly vary": 0.2}
"""Sum of both parameters of the beta distribution: the smaller, the more cases always pass or always fail."""

DROPS = ((0.1, 1), (0.1, 8), (0.3, 1), (0.3, 8), (PASS_RATE, 1), (PASS_RATE, 8))
"""Drops of the pass rate, and the night after the baseline on which they begin; the last ones are total failures."""

_WITHIN = (1, 5, 15)
Values = NDArray[np.float64]
"""Cases by metrics of a run: `case_passed`, `facts_recall`, and one that never changes."""

Night = tuple[Values, Values]
"""The run of a night, and a second one at once, which the swing of the night moves as it moves the first."""


Rule = Callable[[Sequence[Night], int], bool]
_SHARES = {0: 1 / 2, 1: 1 / 4}
"""Of the level, by the place of the metric."""

_METRICS = ("case_passed", "facts_recall", "context_present")


def main() -> None:
    """Print the table of false alarms, then the one of drops."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"series of {SERIES} with a false alarm in {NIGHTS} nights: single answers, confirmed at once, as built")
    for cases, concentration, application in _applications():
        found = [[_false_alarms(rule, cases, concentration, swing, seed) for swing in SWINGS] for rule in RULES]
        print(f"{cases} | {application} | " + " | ".join(" / ".join(map(str, one)) for one in found), flush=True)
    print(f"drops found of {SERIES}, on the first night, within 5, within 15; without and with a swing of 0.5")
    for cases, concentration, application in _applications():
        found = [
            [_found(cases, concentration, swing, drop, start, seed) for drop, start in DROPS] for swing in (0, 0.5)
        ]
        for swing, cells in zip((0, 0.5), found, strict=True):
            print(f"{cases} | {application} | {swing} | " + " | ".join(cells), flush=True)


def single_answers(nights: Sequence[Night], number: int) -> bool:
    """Say whether the last run is worse than its baseline, were single answers all that varies."""
    return _is_suspect(nights[0][0], nights[-1][0], number)


def confirmed_at_once(nights: Sequence[Night], number: int) -> bool:
    """Say whether the last run is worse than its baseline, and a second one in the same night too."""
    return all(_is_suspect(nights[0][0], run, number) for run in nights[-1])


def _is_suspect(before: Values, after: Values, number: int) -> bool:
    # As `compare` without runs between, which takes too long here.
    level = ALPHA * share_of_alpha(number)
    pairs = np.stack([before, after], axis=-1)
    return any(
        pairs[:, metric, 1].mean() < pairs[:, metric, 0].mean()
        and probabilities_by_cases(pairs[:, metric], [1])[0] <= level * share
        for metric, share in _SHARES.items()
    )


def as_built(nights: Sequence[Night], number: int) -> bool:
    """Say whether the last run is a regression."""
    runs = [run for run, _ in nights]
    # The test by runs is quick; without it there is no regression.
    by_runs = [probability_by_runs(np.stack(runs, axis=-1)[:, metric], last) for metric in _SHARES
               for last in splits(len(runs))]  # fmt: skip
    if 2 * min(by_runs) > ALPHA * share_of_alpha(number):
        return False
    before, *between, after = map(_scores, runs)
    return compare(before, after, ALPHA, number, between=between).is_regression


RULES: Sequence[Rule] = (single_answers, confirmed_at_once, as_built)


def _applications() -> list[tuple[int, float, str]]:
    return [(cases, concentration, name) for name, concentration in CONCENTRATIONS.items() for cases in CASES]


def _false_alarms(rule: Rule, cases: int, concentration: float, swing: float, seed: int) -> int:
    random = np.random.default_rng([seed, cases, round(10 * concentration), round(10 * swing)])
    return sum(_first(rule, random, cases, concentration, swing, 0.0, 1, NIGHTS) is not None for _ in range(SERIES))


def _found(cases: int, concentration: float, swing: float, drop: float, start: int, seed: int) -> str:
    random = np.random.default_rng(
        [seed, cases, round(10 * concentration), round(10 * swing), round(100 * drop), start]
    )
    last = start + max(_WITHIN) - 1
    nights = [_first(as_built, random, cases, concentration, swing, drop, start, last) for _ in range(SERIES)]
    after = [night - start + 1 for night in nights if night is not None and night >= start]
    return " / ".join(str(sum(night <= within for night in after)) for within in _WITHIN)


def _first(
    rule: Rule,
    random: np.random.Generator,
    cases: int,
    concentration: float,
    swing: float,
    drop: float,
    start: int,
    last: int,
) -> int | None:
    """Give the first night on which there is an alarm, None where there is none up to the night `last`."""
    passes = draw_passes(random, cases, concentration)
    nights = [draw_night(random, passes, swing)]
    for night in range(1, last + 1):
        nights.append(draw_night(random, passes * (1 - drop / PASS_RATE) if night >= start else passes, swing))
        if rule(nights, night):
            return night
    return None


def draw_passes(random: np.random.Generator, cases: int, concentration: float) -> NDArray[np.float64]:
    """Draw the probability to pass of each case."""
    return random.beta(PASS_RATE * concentration, (1 - PASS_RATE) * concentration, cases)


def draw_night(random: np.random.Generator, passes: NDArray[np.float64], swing: float) -> Night:
    """Draw the swing of a night, and its two runs."""
    odds = np.clip(passes, 1e-9, 1 - 1e-9)
    moved = odds / (odds + (1 - odds) * np.exp(-swing * random.normal()))
    return _run(random, moved), _run(random, moved)


def _run(random: np.random.Generator, passes: NDArray[np.float64]) -> Values:
    passed = random.random(len(passes)) < passes
    recall = np.where(passed, 1.0, random.integers(0, 2, len(passes)) / 2)
    return np.column_stack([passed, recall, np.ones(len(passes))])


def _scores(night: Values) -> Scores:
    return {f"case-{n:04d}": dict(zip(_METRICS, map(float, values), strict=True)) for n, values in enumerate(night)}


if __name__ == "__main__":
    main()
