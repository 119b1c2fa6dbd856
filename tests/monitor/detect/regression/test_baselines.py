from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.detect.regression import RegressionSettings
from monitor.detect.regression.arrays import microseconds
from monitor.detect.regression.baselines import Baselines
from monitor.detect.regression.observations import Observations, Segment

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SETTINGS = RegressionSettings(reference_observations=60, reference_time=0 * HOUR)
MEANS = {"en": 0.9, "de": 0.5, "fr": 0.3}
KINDS: list[Segment] = [(("language", language),) for language in MEANS]


def classes(random: np.random.Generator, languages: list[str], number: int) -> list[Segment]:
    return [(("language", str(one)),) for one in random.choice(languages, number)]


def add(
    baselines: Baselines, random: np.random.Generator, hours: range, languages: list[str], fallen: float = 0.0
) -> None:
    for hour in hours:
        segments = classes(random, languages, 30)
        means = np.array([MEANS[one[0][1]] - fallen for one in segments])
        at, values = np.full(30, microseconds(START + hour * HOUR)), random.binomial(1, means).astype(float)
        places = np.array([KINDS.index(one) for one in segments])
        baselines.add(Observations(at, values, np.ones(30), places, np.zeros(1, dtype=np.intp), KINDS))


def test_each_segment_gets_a_baseline_below_its_mean_once_the_reference_is_large() -> None:
    """With 60 conversations there is one segment, with 240 there are two."""
    baselines, random = Baselines(SETTINGS), np.random.default_rng(1)
    add(baselines, random, range(2), ["en", "de"])
    assert baselines.baseline is not None
    assert baselines.segments == 1
    add(baselines, random, range(2, 8), ["en", "de"])
    levels = dict(zip(baselines.partition.names, baselines.levels, strict=False))
    assert 0.6 < levels["language en"] < 0.88
    assert 0.2 < levels["language de"] < 0.48
    assert np.isnan(levels["other"])
    assert baselines.mean == pytest.approx(baselines.shares[:2] @ baselines.means[:2])


def test_the_bounds_of_all_segments_hold_together() -> None:
    """Of 150 references no more than 5 % have any segment, or the whole, whose lower end is above the true mean."""
    wrong = divided = 0
    for seed in range(150):
        baselines, random = Baselines(SETTINGS), np.random.default_rng(seed)
        add(baselines, random, range(9), ["en", "de", "de"])
        true = np.array([MEANS[name.split()[-1]] for name in baselines.partition.names[:-1]])
        if not len(true):
            continue
        divided += 1
        whole = baselines.whole.interval
        assert whole is not None
        lower = baselines.levels[:2] + SETTINGS.tolerance
        wrong += bool((lower > true).any() or whole.lower > baselines.whole_shares[:2] @ true)
    assert divided > 100
    assert wrong <= 7


def test_a_fall_under_way_puts_the_choice_of_segments_off() -> None:
    """A look that does not raise the bound of the whole chooses none; the next one may."""
    baselines, random = Baselines(SETTINGS), np.random.default_rng(3)
    add(baselines, random, range(2), ["en", "de"])
    first = baselines.baseline
    add(baselines, random, range(2, 8), ["en", "de"], fallen=0.25)
    assert (baselines.segments, baselines.baseline) == (1, first)
    add(baselines, random, range(8, 32), ["en", "de"])
    assert baselines.segments == 3


def test_the_baselines_of_segments_only_rise() -> None:
    """A slow fall during the growth of the reference lowers none of them."""
    baselines, random = Baselines(SETTINGS), np.random.default_rng(4)
    add(baselines, random, range(8), ["en", "de"])
    before = baselines.levels[:2]
    add(baselines, random, range(8, 60), ["en", "de"], fallen=0.2)
    assert (baselines.levels[:2] >= before).all()
    steady = Baselines(SETTINGS)
    add(steady, np.random.default_rng(4), range(60), ["en", "de"])
    assert (steady.levels[:2] > before).all()


def test_a_new_class_has_a_baseline_once_there_is_enough_of_it() -> None:
    """French, which the reference has not seen, is a segment of its own, learned like a stream, and of no other."""
    baselines, random = Baselines(SETTINGS), np.random.default_rng(5)
    add(baselines, random, range(8), ["en", "de"])
    known = baselines.levels[:3]
    add(baselines, random, range(8, 10), ["fr", "en"])
    french = baselines.names.index("language fr")
    assert np.isnan(baselines.levels[french])
    add(baselines, random, range(10, 40), ["fr", "en"])
    assert baselines.levels[french] < 0.3
    assert baselines.shares[french] == 0.0
    assert (baselines.levels[:2] >= known[:2]).all()
    assert np.isnan(baselines.levels[2])


def test_a_value_of_an_attribute_with_many_is_nothing_new() -> None:
    """Each conversation is of another person: none of them is held out."""
    baselines = Baselines(SETTINGS)
    kinds: list[Segment] = [(("user", str(number)),) for number in range(100)]
    for hour in range(10):
        at = np.full(10, microseconds(START + hour * HOUR))
        places = np.arange(10) + 10 * hour
        baselines.add(Observations(at, np.ones(10), np.ones(10), places, np.zeros(1, dtype=np.intp), kinds))
    assert baselines.whole.observations == 100


def test_days_that_differ_by_more_than_chance_raise_the_tolerance() -> None:
    """Days that are better and worse by a tenth in turn do, steady ones do not, nor does a slow fall."""

    def tolerance(mean_of_day: Callable[[int], float]) -> float:
        baselines, random = Baselines(RegressionSettings()), np.random.default_rng(6)
        for hour in range(24 * 20):
            at = np.full(40, microseconds(START + hour * HOUR))
            values = random.binomial(1, mean_of_day(hour // 24), 40).astype(float)
            none = np.zeros(40, dtype=np.intp)
            baselines.add(Observations(at, values, np.ones(40), none, np.zeros(1, dtype=np.intp), [()]))
        return baselines.tolerance

    assert tolerance(lambda _: 0.8) == pytest.approx(0.02, abs=0.005)
    assert tolerance(lambda day: 0.8 - 0.002 * day) == pytest.approx(0.02, abs=0.005)
    assert tolerance(lambda day: 0.8 + 0.05 * (-1) ** day) > 0.08
