"""Drift of a judge as its anchors show it, and the verdict about a drop."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.detect.regression.judge_drift.detector import FEWEST, JudgeDriftDetector, mean_shift, offset
from monitor.detect.regression.judge_drift.verdict import judgement_of
from monitor.detect.regression.judgement import Shift
from tests.monitor.alerting.alerts.test_alerts import READING

START = datetime(2026, 11, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def scored(generator: np.random.Generator, answers: np.ndarray, noise: float, shift: float = 0.0) -> dict[str, float]:
    """A judge that is off by up to `noise` each time."""
    values = np.clip(answers + generator.uniform(-noise, noise, len(answers)) + shift, 0, 1)
    return {str(number): float(value) for number, value in enumerate(values)}


def watched(seed: int, noise: float, days: int, shift: float, at: int, anchors: int = 200) -> JudgeDriftDetector:
    """The two first scorings, and one a day, from day `at` on with `shift`."""
    generator, watch = np.random.default_rng(seed), JudgeDriftDetector(0.02)
    answers = generator.choice([0.2, 0.6, 0.9], anchors)
    for day in range(-1, days):
        watch.add(START + max(0, day) * DAY, scored(generator, answers, noise, shift if day >= at else 0.0))
    return watch


@pytest.mark.parametrize("shift", [-0.15, 0.15])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_judge_that_changes_is_found_with_when_and_by_how_much(noise: float, shift: float) -> None:
    """Whichever way it changes, the interval of the shift holds what answers within the range were shifted by."""
    watch = watched(1, noise, 20, shift, 12)
    assert watch.active
    assert watch.since == START + 12 * DAY
    found = watch.shift(watch.since)
    assert found is not None
    assert found.lower < found.mean < found.upper
    assert 0 < found.mean / shift < 1.1
    assert abs(found.mean - shift) < 0.05


def test_a_judge_that_changes_back_is_the_same_again() -> None:
    """Evidence that the shift is over ends it."""
    watch = watched(1, 0.1, 10, -0.2, 3)
    assert watch.active
    generator = np.random.default_rng(2)
    answers = np.array(list(watch.baseline.values()))
    for day in range(10, 30):
        watch.add(START + day * DAY, scored(generator, answers, 0.1))
    assert (watch.active, watch.since) == (False, None)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.4])
def test_a_judge_that_is_only_noisy_is_not_suspected(noise: float) -> None:
    """The same error of the baselines is in every scoring: in 25 years of daily ones no more than one is suspected."""
    suspected = sum(watched(seed, noise, 365, 0.0, 0, anchors=60).since is not None for seed in range(25))
    assert suspected <= 1


def test_a_few_anchors_say_nothing() -> None:
    """Under 50 there is neither a shift nor a drift, however large."""
    watch = watched(1, 0.0, 20, -0.5, 5, anchors=FEWEST - 1)
    assert (watch.active, watch.shift(None)) == (False, None)
    assert mean_shift(np.full(FEWEST - 1, 0.5)) is None


def test_an_anchor_that_comes_later_is_compared_with_its_own_first_values() -> None:
    """A hundred new anchors after a shift by 0.2 know nothing of it: of 200 the mean is half."""
    watch = JudgeDriftDetector(0.02)
    old, new = ({f"{name} {n}": 0.5 for n in range(100)} for name in ("old", "new"))
    for values in (old, old, dict.fromkeys(old, 0.3) | new, new):
        watch.add(START, values)
    watch.add(START + DAY, dict.fromkeys(old, 0.3) | new)
    found = watch.shift(START + DAY)
    assert found is not None
    assert (found.answers, found.mean) == (200, pytest.approx(-0.1))


def test_an_offset_is_of_the_answers_that_both_versions_scored() -> None:
    """Others are left out; fewer than 50 in common say nothing."""
    old = {str(n): 0.8 for n in range(80)}
    found = offset([old], [{str(n): 0.5 for n in range(20, 100)}])
    assert found is not None
    assert (found.answers, found.mean) == (60, pytest.approx(-0.3))
    assert offset([old], [{str(n): 0.5 for n in range(60, 100)}]) is None


DROPPED = replace(READING, drop_lower=0.3, drop_upper=0.5, since_mean=0.4, since_lower=0.35, since_upper=0.45)


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [
        (None, "undecided"),
        (Shift(0.0, -0.02, 0.02, 200), "system"),
        (Shift(0.3, 0.28, 0.32, 200), "system"),
        (Shift(-0.4, -0.44, -0.36, 200), "judge"),
        (Shift(-0.2, -0.24, -0.16, 200), "both"),
        (Shift(-0.01, -0.012, -0.008, 200), "both"),
        (Shift(-0.1, -0.25, 0.05, 200), "undecided"),
        (Shift(-0.2, -0.5, 0.1, 200), "undecided"),
    ],
)
def test_a_verdict_follows_from_the_intervals_of_the_drop_and_of_the_shift(shift: Shift | None, verdict: str) -> None:
    """The drop is 0.4 (0.3 to 0.5); what is proven and what is excluded decides."""
    assert judgement_of(DROPPED, shift).verdict == verdict


def test_where_lower_is_better_a_rise_of_the_judge_explains_a_rise() -> None:
    """The mean rose from 0.2 to 0.6; a judge that says 0.4 more is what changed, one that says less is not."""
    rose = replace(DROPPED, reference_mean=0.2, since_mean=0.6, since_lower=0.55, since_upper=0.65)
    rose = replace(rose, lower_is_better=True)
    assert judgement_of(rose, Shift(0.4, 0.36, 0.44, 200)).verdict == "judge"
    assert judgement_of(rose, Shift(-0.4, -0.44, -0.36, 200)).verdict == "system"


def test_what_another_mix_moved_is_no_part_of_the_application() -> None:
    """Where half of a drop of 0.4 is mix, and the judge's shift is the other half, the judge alone has changed."""
    half = replace(DROPPED, mix=-0.2)
    assert judgement_of(half, Shift(-0.2, -0.24, -0.16, 200)).verdict == "judge"
    assert judgement_of(half, Shift(0.0, -0.02, 0.02, 200)).verdict == "system"
    # The mix got better by 0.4 and hides a fall by 0.8, of which the judge explains half.
    hidden = replace(DROPPED, mix=0.4)
    assert judgement_of(hidden, Shift(-0.4, -0.44, -0.36, 200)).verdict == "both"


def test_a_mix_that_got_better_does_not_turn_a_fall_round() -> None:
    """The mean of all is above the reference, the segments fell by 0.2, and a judge that says 0.2 less explains it."""
    above = replace(DROPPED, drop=-0.2, drop_lower=-0.26, drop_upper=-0.14, mix=0.4, reference_mean=0.6)
    above = replace(above, since_mean=0.8, since_lower=0.77, since_upper=0.83)
    assert judgement_of(above, Shift(-0.2, -0.22, -0.18, 200)).verdict == "judge"
    assert judgement_of(above, Shift(0.0, -0.01, 0.01, 200)).verdict == "system"


@pytest.mark.parametrize("portions", [2, 3, 7])
def test_portions_come_to_what_all_anchors_at_once_come_to(portions: int) -> None:
    """Once the last of a round is there, whichever it is; anchors that are gone, a few at a time, hold nothing up."""
    generator = np.random.default_rng(portions)
    at_once, spread = JudgeDriftDetector(0.02), JudgeDriftDetector(0.02)
    levels = generator.uniform(0.2, 0.8, 200)
    for day in range(-2, 40):
        shift = 0.1 if day >= 20 else 0.0
        gone = 5 * max(0, day // 10)
        values = {str(n): float(v) for n, v in enumerate(levels + generator.normal(0, 0.03, 200) - shift) if n >= gone}
        at_once.add(START + day * DAY, values)
        parts = portions if day >= 0 else 1
        for part in range(parts):
            mine = {name: value for name, value in values.items() if int(name) % parts == part}
            at = START + day * DAY - (parts - 1 - part) * timedelta(hours=1)
            spread.add(at, mine)
        assert (spread.active, spread.since) == (at_once.active, at_once.since)
    assert at_once.active
