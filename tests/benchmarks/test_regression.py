from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from benchmarks.regression_rules import SETTINGS, lower_bounds, ours
from benchmarks.regression_streams import LAWS, LEVELS, TURNS, Kind, simulate, worse
from monitor.regression import Detector, Observation, Reading, mean_interval

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("turns", [1, TURNS])
@pytest.mark.parametrize("name", ["five levels", "binary"])
def test_the_detector_of_the_benchmark_is_the_real_one(turns: int, name: str) -> None:
    """On the same conversations it has the same evidence in every hour until the real one's first alarm."""
    kind, law, hours = Kind(turns), LAWS[name], 12 * 24
    fallen = worse(law, 0.15)
    counts = simulate(np.random.default_rng(turns), 2, hours, kind, lambda hour: fallen if hour > 250 else law)
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


def test_the_bounds_of_the_benchmark_are_the_real_ones() -> None:
    """Of many samples at once as of one alone."""
    counts = np.random.default_rng(1).multinomial(300, LAWS["bimodal"], 5).astype(float)
    real = [mean_interval(np.repeat(LEVELS, of.astype(int)), np.ones(300)).lower for of in counts]
    assert lower_bounds(counts, LEVELS) == pytest.approx(real, abs=1e-6)


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
