"""Dependence of the conversations of a batch: how it is found, and that bets on them count as fewer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.detect.regression.arrays import Floats, Integers
from monitor.detect.regression.e_detector.bets import Bets
from monitor.detect.regression.e_detector.betting import BETS
from monitor.detect.regression.e_detector.design_effect import BatchCorrelation, Dependence
from monitor.detect.regression.e_detector.evidence import Evidence

Batches = tuple[Floats, Floats, Integers]


def drawn(correlation: float, batches: int = 400, seed: int = 1, size: int = 12, weights: float = 1.0) -> Batches:
    """Batches of conversations that are alike: each takes the value of its batch with a probability of its root."""
    generator = np.random.default_rng([seed, batches])
    of_batch = (generator.uniform(size=batches) < 0.8).astype(np.float64)
    numbers = np.repeat(np.arange(batches), generator.poisson(size, batches) + 1)
    own = (generator.uniform(size=len(numbers)) < 0.8).astype(np.float64)
    values = np.where(generator.uniform(size=len(numbers)) < np.sqrt(correlation), of_batch[numbers], own)
    return values, generator.uniform(weights, 1.0, len(numbers)), numbers


def part(of: Batches, first: int, after: int) -> Batches:
    values, weights, numbers = of
    mine = (numbers >= first) & (numbers < after)
    return values[mine], weights[mine], numbers[mine] - first


def found(of: Batches) -> float:
    correlation = BatchCorrelation()
    correlation.add(*of)
    return correlation.latest


@pytest.mark.parametrize("weights", [1.0, 0.1])
@pytest.mark.parametrize("truth", [0.1, 0.3, 0.6, 1.0])
def test_the_correlation_is_found_a_little_too_small(truth: float, weights: float) -> None:
    """By two standard errors: with 2,000 batches that is not much."""
    known = [found(drawn(truth, 2000, seed, weights=weights)) for seed in range(5)]
    assert truth - 0.12 < np.mean(known) < truth + 0.02


def test_conversations_that_are_independent_have_none() -> None:
    assert sum(found(drawn(0.0, seed=seed)) > 0 for seed in range(40)) <= 3


def test_a_fall_makes_no_correlation() -> None:
    """Not at once, and not slowly: one difference of many, or many small ones."""
    values, weights, numbers = drawn(0.0, 200, 2)
    for fallen in (numbers >= 100, np.random.default_rng(3).uniform(size=len(values)) < numbers / 200):
        lost = fallen & (np.random.default_rng(4).uniform(size=len(values)) < 0.3)
        assert found((np.where(lost, 0.0, values), weights, numbers)) < 0.01


@pytest.mark.parametrize(
    "of",
    [
        part(drawn(0.5), 0, 12),  # 11 pairs
        (np.ones(60), np.ones(60), np.repeat(np.arange(30), 2)),  # no variance
        (np.arange(50.0) % 2, np.ones(50), np.arange(50)),  # one a batch
    ],
)
def test_where_nothing_can_be_said_there_is_none(of: Batches) -> None:
    assert found(of) == 0.0


@settings(max_examples=30)
@given(st.lists(st.integers(1, 99), max_size=8))
def test_what_is_known_before_a_batch_depends_neither_on_it_nor_on_portions(cuts: list[int]) -> None:
    """To the last bit."""
    every = drawn(0.4, 100)
    whole = BatchCorrelation().before_each(*every)
    edges = [0, *sorted(set(cuts)), 100]
    one, known = BatchCorrelation(), list[float]()
    for first, after in pairwise(edges):
        known += one.before_each(*part(every, first, after)).tolist()
        one.add(*part(every, first, after))
    assert known == whole.tolist()
    values = every[0].copy()
    values[every[2] == 60] = 0.0
    assert BatchCorrelation().before_each(values, *every[1:])[:61].tolist() == known[:61]


def test_the_logarithm_of_what_a_batch_pays_is_divided_by_its_design_effect() -> None:
    """That of days where it is greater; a batch of one conversation has one of its own, which is 1."""
    values, weights = np.array([0.9, 0.9, 0.9, 0.2, 0.7]), np.array([1.0, 1.0, 0.5, 1.0, 1.0])
    numbers, level = np.array([0, 0, 0, 1, 2]), 0.5
    dependence = Dependence(np.array([0.4, 0.4, 0.9]), 1.5)
    effects = [1 + 0.4 * (2.5**2 / 2.25 - 1), 1.5, 1.5]
    assert dependence.effects(weights, numbers) == pytest.approx(effects)
    log_r = np.full(len(BETS), -np.inf)
    for batch, effect in enumerate(effects):
        mine = numbers == batch
        gain = np.log1p(BETS[:, None] * weights[mine] * (values[mine] / level - 1)).sum(axis=1) / effect
        log_r = gain + np.logaddexp(0.0, log_r)
    evidence = Evidence()
    evidence.advance_to(evidence.trajectory(values, weights, level, numbers, 3, dependence=dependence), 2)
    assert evidence.log_value == pytest.approx(np.logaddexp.reduce(log_r) - np.log(len(BETS)))


def test_a_part_of_a_run_has_its_own_batches_dependence() -> None:
    numbers = np.repeat(np.arange(4), 3)
    dependence = Dependence(np.array([0.1, 0.2, 0.3, 0.4]), 2.0)
    ones = np.ones(len(numbers))
    part = Bets(ones, ones, ones / 2, numbers * 0, numbers, 4, dependence=dependence).between(1, 3).dependence
    assert part is not None
    assert (part.correlations.tolist(), part.day_effect) == ([0.2, 0.3], 2.0)


@pytest.mark.parametrize("correlation", [0.2, 0.6])
def test_batches_that_are_alike_give_no_more_evidence_than_their_promise(correlation: float) -> None:
    """The mean at the level: of 40 streams of 400 batches few reach 400; as if independent, most do."""
    reached = {True: 0, False: 0}
    for seed in range(40):
        values, weights, numbers = drawn(correlation, 400, seed)
        for is_known in reached:
            dependence = Dependence(np.full(400, correlation)) if is_known else None
            trajectory = Evidence().trajectory(1 - values, weights, 0.2, numbers, 400, dependence=dependence)
            reached[is_known] += bool((trajectory.log_values(np.arange(400)) >= np.log(400)).any())
    assert reached[False] >= 30
    assert reached[True] <= 20
