"""Three ways to page for a fleet of 200 streams, 20 deployments of 10 metrics: how soon, and how often for nothing.

    python -m benchmarks.regression.fleet [--fleets 20]

`A` is the number of batches in which one false page is allowed, `K` that of what is tested. With log evidence E:

- union: a stream pages at E >= log(A K), K = 200. This is what the monitor does.
- BH of streams: the k strongest streams page where the weakest of them has E >= log(A K / k), K = 200.
- BH of deployments: the same for the mean of a deployment's evidence, K = 20.

BH over e-detectors bounds the error over patience, E[share of false ones among those paged] / E[hours until then] by
1 / A, however the streams depend on each other (Dandapanthula and Ramdas, arXiv 2501.04130); with one to page it is the
union bound. Streams are those of `detection`, of answers on their own, 60 days, the drop after 30.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.regression.rules import DAY, ours
from benchmarks.regression.streams import LAWS, Floats, Kind, simulate, worse
from benchmarks.regression.tables import in_words, print_table

DEPLOYMENTS, METRICS, DAYS = 20, 10, 60
HOURS, CHANGE = DAYS * DAY, DAYS // 2 * DAY
YEAR, MONTH = 365 * DAY, 30 * DAY
Paged = NDArray[np.bool_]
REGRESSED: Mapping[str, tuple[int, int]] = {
    "1 stream": (1, 1),
    "5 streams of 1 deployment": (1, 5),
    "5 streams of 5 deployments": (5, 1),
    "50 streams of 5 deployments": (5, 10),
    "50 streams of 10 deployments": (10, 5),
}
"""Deployments that regress, and streams of each."""


def union(evidence: Floats, every: float) -> Paged:
    """Which deployments page in which hour; `evidence` of shape (deployments, metrics, hours)."""
    return (evidence >= math.log(every * evidence[..., 0].size)).any(axis=1)


def bh_of_streams(evidence: Floats, every: float) -> Paged:
    """The same with e-BH over all streams."""
    return strongest(evidence.reshape(-1, evidence.shape[2]), every).reshape(evidence.shape).any(axis=1)


def bh_of_deployments(evidence: Floats, every: float) -> Paged:
    """The same with e-BH over the means of deployments."""
    return strongest(np.logaddexp.reduce(evidence, axis=1) - math.log(evidence.shape[1]), every)


def strongest(evidence: Floats, every: float) -> Paged:
    """e-BH in each hour, shape (tested, hours): the largest k whose k strongest all reach log(every * tested / k)."""
    tested = len(evidence)
    falling = -np.sort(-evidence, axis=0)
    reaches = falling >= np.log(every * tested / np.arange(1, tested + 1))[:, None]
    number = np.where(reaches.any(axis=0), tested - reaches[::-1].argmax(axis=0), 0)
    weakest = np.where(number > 0, falling[np.maximum(number - 1, 0), np.arange(evidence.shape[1])], np.inf)
    return evidence >= weakest


RULES: Mapping[str, Callable[[Floats, float], Paged]] = {
    "union": union,
    "BH of streams": bh_of_streams,
    "BH of deployments": bh_of_deployments,
}


def fleet(generator: np.random.Generator, drop: float) -> Floats:
    """Log evidence of a fleet in which all fall by `drop`; shape (deployments, metrics, hours)."""
    evidence = np.empty((DEPLOYMENTS, METRICS, HOURS), dtype=np.float32)
    for law, metrics in zip(LAWS.values(), np.array_split(np.arange(METRICS), len(LAWS)), strict=True):
        after = worse(law, drop) if drop else law

        def law_at(hour: int, law: Floats = law, after: Floats = after) -> Floats:
            return after if hour >= CHANGE else law

        streams = DEPLOYMENTS * len(metrics)
        found = ours(simulate(generator, streams, HOURS, Kind(1), law_at), Kind(1))
        evidence[:, metrics] = found.reshape(DEPLOYMENTS, len(metrics), HOURS)
    return evidence


def mixed(generator: np.random.Generator, steady: Floats, fallen: Floats, deployments: int, metrics: int) -> Floats:
    """The steady fleet with some streams of its first deployments from the one that fell."""
    evidence = steady.copy()
    for deployment in range(deployments):
        chosen = generator.choice(METRICS, metrics, replace=False)
        evidence[deployment, chosen] = fallen[deployment, chosen]
    return evidence


def first_page(paged: Paged) -> Floats:
    """Hours from the change to each deployment's first page; infinite without one."""
    later = paged[:, CHANGE:]
    return np.where(later.any(axis=1), later.argmax(axis=1) + 1.0, math.inf)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fleets", type=int, default=20)
    fleets = parser.parse_args().fleets
    generator = np.random.default_rng(11)
    steady = [fleet(generator, 0.0) for _ in range(fleets)]
    months = fleets * DAYS / 30
    rows = [
        [rule, *(f"{sum(_pages(pages(one, every)) for one in steady) / months:.3g}" for every in (MONTH, YEAR))]
        for rule, pages in RULES.items()
    ]
    head = ["rule", "one a month allowed", "one a year allowed"]
    print_table(f"False pages a month of a fleet in which nothing changes ({months:.0f} months)", head, rows)
    rows = []
    for drop in (0.05, 0.10):
        fallen = [fleet(generator, drop) for _ in range(fleets)]
        for name, (deployments, metrics) in REGRESSED.items():
            both = [mixed(generator, *pair, deployments, metrics) for pair in zip(steady, fallen, strict=True)]
            rows.append([f"{name}, {drop:.2f}", *(_cell(both, pages, deployments) for pages in RULES.values())])
    title = f"Hours to the page of a deployment that regressed, median / 90 %, and false pages ({fleets} fleets)"
    print_table(title, ["regressed, drop", *RULES], rows)


def _cell(fleets: Sequence[Floats], pages: Callable[[Floats, float], Paged], deployments: int) -> str:
    paged = [pages(evidence, YEAR) for evidence in fleets]
    hours = np.concatenate([first_page(one)[:deployments] for one in paged])
    return f"{in_words(hours)}; {sum(_pages(one[deployments:, CHANGE:]) for one in paged)}"


def _pages(paged: Paged) -> int:
    """How often a deployment begins to page."""
    return int((paged[:, 1:] & ~paged[:, :-1]).sum() + paged[:, 0].sum())


if __name__ == "__main__":
    main()
