from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.regression.detection import least_delay
from benchmarks.regression.fleet import bh_of_deployments, bh_of_streams, strongest, union
from benchmarks.regression.peers import FALLS, FAMILIES, least, needed
from benchmarks.regression.price import least_delay_of_means
from benchmarks.regression.recovery import recovery
from benchmarks.regression.rules import SETTINGS, lower_bounds, ours, ours_with
from benchmarks.regression.streams import LAWS, LEVELS, TURNS, Floats, Kind, simulate, worse
from benchmarks.regression.text import real_scores
from monitor.detect.regression import Detector, Observation, Reading, mean_interval
from monitor.detect.regression.e_detector.evidence import Evidence

START = datetime(2026, 1, 1, tzinfo=UTC)

SYNTHETIC = [
    (Kind(turns), LAWS[name], worse(LAWS[name], 0.15)) for turns in (1, TURNS) for name in ("five levels", "binary")
]


@pytest.mark.slow
@pytest.mark.parametrize("case", [*SYNTHETIC, None])
def test_the_detector_of_the_benchmark_is_the_real_one(case: tuple[Kind, Floats, Floats] | None) -> None:
    """On the same conversations it has the same evidence in every hour until the real one's first alarm."""
    if case is None:  # Real text, which takes a second to score.
        real = real_scores()
        case = real.kind, real.usual, real.worse(0.15)
    kind, law, fallen = case
    hours = 12 * 24
    counts = simulate(np.random.default_rng(1), 2, hours, kind, lambda hour: fallen if hour > 250 else law)
    for stream, statistic in zip(counts, ours(counts, kind), strict=True):
        detector, fired = Detector(SETTINGS), None
        for hour, of_hour in enumerate(stream):
            at, values = START + hour * timedelta(hours=1), np.repeat(kind.means, of_hour)
            fired = detector.update([Observation(at, float(value)) for value in values])
            evidence = fired.log_evidence if isinstance(fired, Reading) else detector._worse.log_evidence
            assert evidence == pytest.approx(statistic[hour], abs=1e-6)
            if fired:
                break
        assert fired


def test_the_detector_that_knows_the_mean_is_the_real_evidence() -> None:
    """Of falls below that mean, in every hour."""
    kind, law = Kind(1), LAWS["five levels"]
    counts = simulate(np.random.default_rng(1), 2, 60, kind, lambda _: law)
    for stream, statistic in zip(counts, ours_with(counts, kind, 0.7), strict=True):
        sizes = stream.sum(axis=1).astype(int)
        falls = 1.0 - np.concatenate([np.repeat(kind.means, of_hour) for of_hour in stream])
        trajectory = Evidence().trajectory(falls, np.ones(len(falls)), 0.3, np.repeat(np.arange(60), sizes), 60)
        assert trajectory.log_values(np.arange(60)) == pytest.approx(statistic, abs=1e-9)


def test_the_bounds_of_the_benchmark_are_the_real_ones() -> None:
    """Of many samples at once as of one alone."""
    counts = np.random.default_rng(1).multinomial(300, LAWS["bimodal"], 5).astype(float)
    real = [mean_interval(np.repeat(LEVELS, of.astype(int)), np.ones(300)).lower for of in counts]
    assert lower_bounds(counts, LEVELS) == pytest.approx(real, abs=1e-6)


def test_to_know_more_than_the_mean_helps_where_scores_have_more_than_two_values() -> None:
    """Of two values the mean is the law, and both bounds are one; of five, the bound of those that know it is lower."""
    kind, (five, two) = Kind(1), (LAWS["five levels"], LAWS["binary"])
    assert least_delay_of_means(kind, two, worse(two, 0.1)) == pytest.approx(least_delay(kind, two, worse(two, 0.1)))
    assert least_delay_of_means(kind, five, worse(five, 0.1)) > 1.5 * least_delay(kind, five, worse(five, 0.1))


def test_the_best_rule_needs_longer_for_what_is_smaller_beyond_the_tolerance_or_hidden_by_a_mood() -> None:
    """Its delay of a small fall is about that of a Brownian motion: 23 hours with an evidence of 0.169 an hour."""
    plain, _, mood = FAMILIES
    small, large = FALLS["-0.05"], FALLS["-0.10"]
    assert needed(0.169) / 0.169 == pytest.approx(22.8, abs=0.1)
    assert least(plain, large, 0.0) < least(plain, small, 0.0) < least(plain, small, 0.02) < least(mood, small, 0.02)
    assert least(plain, small, 0.05) == np.inf


def test_a_recovery_is_timed_from_its_beginning_and_only_after_an_alarm() -> None:
    """Of a deep fall some hours after its end; of none there is nothing to time."""
    kind, law = Kind(1), LAWS["five levels"]
    fallen = worse(law, 0.4)
    counts = simulate(np.random.default_rng(1), 1, 40 * 24, kind, lambda hour: fallen if 720 <= hour < 792 else law)
    assert 0 < recovery(counts[0], kind.means, 0.05) < 72
    assert np.isnan(recovery(counts[0, :720], kind.means, 0.05))


@pytest.mark.parametrize("name", LAWS)
def test_simulated_conversations_have_the_law_that_they_should(name: str) -> None:
    """Answers have the law's mean, those of one conversation correlate by 0.5, and a worse law is so much worse."""
    law = LAWS[name]
    variance = law @ LEVELS**2 - (law @ LEVELS) ** 2
    for turns in (1, TURNS):
        kind = Kind(turns)
        likely = kind.probabilities(law)
        assert likely @ kind.means == pytest.approx(law @ LEVELS)
        expected = variance * (1 + 0.5 * (turns - 1)) / turns
        assert likely @ kind.means**2 - (likely @ kind.means) ** 2 == pytest.approx(expected)
    assert (law - worse(law, 0.05)) @ LEVELS == pytest.approx(0.05)


def test_real_text_gets_worse_by_hallucinated_answers() -> None:
    """Right answers score higher than hallucinated ones, and a drop of the mean is as large as it should be."""
    real = real_scores()
    levels = np.array(real.kind.levels)
    assert real.usual @ levels > 0.9 > 0.6 > real.hallucinated @ levels
    assert (real.usual - real.worse(0.05)) @ levels == pytest.approx(0.05)


@given(st.lists(st.floats(-5, 12), min_size=1, max_size=12), st.floats(2, 50))
def test_bh_pages_the_strongest_that_support_each_other(evidence: list[float], every: float) -> None:
    """It takes the k largest, for the largest k of which all are at least every * tested / k."""
    tested, falling = len(evidence), sorted(evidence, reverse=True)
    number = max([k for k in range(1, tested + 1) if falling[k - 1] >= np.log(every * tested / k)], default=0)
    paged = strongest(np.array(evidence)[:, None], every)[:, 0]
    assert paged.tolist() == [number > 0 and one >= falling[number - 1] for one in evidence]


def test_bh_never_pages_later_than_the_union_bound() -> None:
    """Whatever the evidence, a deployment that the union bound pages is paged by both kinds of BH too."""
    evidence = np.random.default_rng(3).normal(4, 4, (5, 4, 200))
    by_union = union(evidence, 24)
    assert 0 < by_union.sum() < bh_of_streams(evidence, 24).sum()
    assert not (by_union & ~bh_of_streams(evidence, 24)).any()
    assert not (by_union & ~bh_of_deployments(evidence, 24)).any()
