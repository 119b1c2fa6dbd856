"""False alarms of steady streams, and delay after a drop: our detector beside the rules that others use.

    python -m benchmarks.regression.detection [--streams 1000] [--days 90] [--pictures docs/pictures]

Streams have 48 answers an hour on average, more by day than by night. Scores are of five-level, binary and bimodal laws
(mean about 0.77), as answers on their own or as conversations of four whose scores correlate by 0.5, and those of
`faithfulness_kprecision` on real text, where right answers become hallucinated ones. Prints markdown.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.regression.pictures import draw
from benchmarks.regression.rules import (
    SETTINGS,
    WEEK,
    Answers,
    Counts,
    cusum,
    hourly_mean,
    kolmogorov_smirnov,
    ours,
    page_hinkley,
    population_stability,
    rolling_z,
)
from benchmarks.regression.streams import LAWS, TURNS, Floats, Kind, by_night, simulate, traffic, worse
from benchmarks.regression.tables import in_words, print_table
from benchmarks.regression.text import real_scores

DROPS = (0.03, 0.05, 0.10)
MONTH, CHUNK, DROP_DAYS = 30 * 24, 100, 60
KNOWS, SHARP = "CUSUM that knows", "ours, tolerance 0"
OURS = ("ours", SHARP)
THRESHOLDS: Mapping[str, float] = {
    "hourly mean": 0.05,
    "rolling z": 3.0,
    "KS": 1.95,
    "PSI": 0.2,
    "Page-Hinkley": 50.0,
    KNOWS: SETTINGS.log_threshold,
    "ours": SETTINGS.log_threshold,
    SHARP: SETTINGS.log_threshold,
}
Statistics = Mapping[str, Floats]


@dataclass(frozen=True)
class Setting:
    """One row of the tables: `law_at` gives the law of a steady stream's hour, `worse` the law after a drop."""

    name: str
    kind: Kind
    law: Floats
    worse: Callable[[float], Floats]
    law_at: Callable[[int], Floats]


def settings() -> Iterator[Setting]:
    """Give all that are looked at."""
    for name, law in LAWS.items():
        for turns in (1, TURNS):

            def fallen(drop: float, law: Floats = law) -> Floats:
                return worse(law, drop)

            how = "clustered" if turns > 1 else "independent"
            yield Setting(f"{name}, {how}", Kind(turns), law, fallen, lambda _, law=law: law)
    real = real_scores()
    yield Setting("real text", real.kind, real.usual, real.worse, lambda _: real.usual)


def statistics(counts: Counts, kind: Kind, before: Floats, after: Floats) -> Statistics:
    """Run every rule; `before` and `after` are the laws that the CUSUM knows."""
    answers = Answers.of(counts, kind)
    return {
        "hourly mean": hourly_mean(answers),
        "rolling z": rolling_z(answers),
        "KS": kolmogorov_smirnov(answers),
        "PSI": population_stability(answers),
        "Page-Hinkley": page_hinkley(answers),
        KNOWS: cusum(counts, kind, before, after),
        "ours": ours(counts, kind),
        SHARP: ours(counts, kind, tolerance=0.0),
    }


def run(
    seed: int, streams: int, hours: int, kind: Kind, law_at: Callable[[int], Floats], before: Floats, after: Floats
) -> Statistics:
    """Simulate and run every rule, a chunk of streams at a time; statistics of shape (streams, hours)."""
    generator, parts = np.random.default_rng(seed), []
    for begin in range(0, streams, CHUNK):
        counts = simulate(generator, min(CHUNK, streams - begin), hours, kind, law_at)
        found = statistics(counts, kind, before, after)
        parts.append({rule: statistic.astype(np.float32) for rule, statistic in found.items()})
    return {rule: np.concatenate([part[rule] for part in parts]) for rule in THRESHOLDS}


def false_alarms(statistic: Floats, threshold: float) -> float:
    """Alarms a stream and month: hours over the threshold whose hour before was not."""
    over = statistic[:, WEEK:] >= threshold
    began = over[:, 1:] & ~over[:, :-1]
    return float(began.sum() + over[:, 0].sum()) / over.size * MONTH


def tuned(statistic: Floats, rate: float) -> float:
    """Lowest threshold, of those tried, with no more false alarms than `rate`."""
    low, high = 0.0, float(statistic.max()) + 1e-6
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if false_alarms(statistic, middle) > rate else (low, middle)
    return high


def delays(statistic: Floats, threshold: float, change: int) -> NDArray[np.float64]:
    """Hours from a change to the alarm, infinite without one; of streams that were not in alarm just before it."""
    quiet = statistic[statistic[:, change - 1] < threshold]
    over = quiet[:, change:] >= threshold
    return np.where(over.any(axis=1), over.argmax(axis=1) + 1.0, math.inf)


def least_delay(kind: Kind, before: Floats, after: Floats) -> float:
    """Hours that no rule with so rare false alarms can beat on average, for large A: log(A) / KL (Lorden)."""
    p, q = kind.probabilities(after), kind.probabilities(before)
    divergence = float(np.sum(p[p > 0] * np.log(p[p > 0] / q[p > 0])))
    return hours_to_threshold(divergence, kind)


def hours_to_threshold(growth: float, kind: Kind) -> float:
    """Hours until evidence that grows so much with each conversation reaches log(A)."""
    return SETTINGS.log_threshold / growth / float(traffic(24, kind.turns).mean())


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--pictures", type=Path, help="draw two there")
    given = parser.parse_args()
    rules, streams, hours = list(THRESHOLDS), given.streams, given.days * 24
    change, page, pages = DROP_DAYS // 2 * 24, SETTINGS.log_page_threshold + math.log(streams), 0
    found: dict[str, dict[str, float]] = {}
    usual, equal = {}, {}
    for number, setting in enumerate(settings()):
        name, kind, law = setting.name, setting.kind, setting.law
        steady = run(number, streams, hours, kind, setting.law_at, law, setting.worse(0.05))
        found[name] = {rule: false_alarms(steady[rule], THRESHOLDS[rule]) for rule in rules}
        pages += int((steady["ours"] >= page).any(axis=1).sum())
        same = {rule: tuned(steady[rule], found[name][SHARP]) for rule in rules if rule not in OURS}
        same |= {rule: THRESHOLDS[rule] for rule in OURS}
        for drop in DROPS:
            after = setting.worse(drop)

            def law_at(hour: int, law: Floats = law, after: Floats = after) -> Floats:
                return after if hour >= change else law

            fallen = run(100 + number, max(1, streams // 5), DROP_DAYS * 24, kind, law_at, law, after)
            least = least_delay(kind, law, after)
            for table, thresholds in ((usual, THRESHOLDS), (equal, same)):
                table[name, drop] = {r: delays(fallen[r], thresholds[r], change) for r in rules}, least
    night = LAWS["five levels"]
    moving = run(99, streams, hours, Kind(1), by_night(night), night, worse(night, 0.05))
    found["five levels, harder by night"] = {rule: false_alarms(moving[rule], THRESHOLDS[rule]) for rule in rules}
    print_table(
        f"False alarms a stream and month ({streams} streams of {given.days} days; promised: 1)",
        ["scores", *rules],
        [[name, *(f"{rates[rule]:.3g}" for rule in rules)] for name, rates in found.items()],
    )
    print(f"False pages of a fleet of {streams} streams in {number + 1} runs of {given.days} days: {pages}.")
    for title, table in (
        ("Hours to a drop, median / 90 %, as the rules are usually set", usual),
        (
            "The same with the others' thresholds tuned in hindsight to as few false alarms as ours, tolerance 0, has",
            equal,
        ),
    ):
        rows = [
            [f"{name}, {drop:.2f}", *(in_words(hours) for hours in by_rule.values()), f"{least:.1f}"]
            for (name, drop), (by_rule, least) in table.items()
        ]
        print_table(title, ["scores, drop", *rules, "log(A) / KL"], rows)
    if given.pictures:
        draw(given.pictures, found, equal)


if __name__ == "__main__":
    main()
