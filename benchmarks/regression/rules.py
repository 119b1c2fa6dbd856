"""Rules that say hour by hour how much a stream looks worse: larger statistics are more of an alarm.

Each takes counts of conversations, shape (streams, hours, types), and gives a statistic of shape (streams, hours), -inf
where the rule has nothing to say yet. The rules that products ship see answers, not conversations, and take the first
week for usual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.regression.streams import Floats, Kind
from monitor.detect.regression import RegressionSettings
from monitor.detect.regression.baselines import UNKNOWN_SPREAD
from monitor.detect.regression.day_spread import DaySpread
from monitor.detect.regression.e_detector.betting import BETS

WEEK, DAY = 7 * 24, 24
SETTINGS = RegressionSettings()
Counts = NDArray[np.uint8]


@dataclass(frozen=True)
class Answers:
    """Answers at each level: in each hour, in the day up to it with their `number`, and in the first week as shares."""

    hourly: Floats
    daily: Floats
    number: Floats
    usual: Floats
    levels: Floats

    @classmethod
    def of(cls, counts: Counts, kind: Kind) -> Answers:
        """Count them."""
        hourly = counts @ kind.answers.astype(np.float32)
        daily = np.cumsum(hourly, axis=1, dtype=np.float64)
        daily[:, DAY:] -= daily[:, :-DAY].copy()
        usual = hourly[:, :WEEK].sum(axis=1)
        return cls(
            hourly,
            daily,
            np.maximum(daily.sum(axis=2), 1.0),
            usual / usual.sum(axis=1, keepdims=True),
            np.array(kind.levels),
        )

    @property
    def usual_mean(self) -> Floats:
        """Mean of the first week; shape (streams, 1)."""
        return np.asarray(self.usual @ self.levels)[:, None]


def _watched(statistic: Floats) -> Floats:
    statistic = np.nan_to_num(statistic, nan=-np.inf)
    statistic[:, :WEEK] = -np.inf
    return statistic


def hourly_mean(answers: Answers) -> Floats:
    """How far the hour's mean is below the first week's; threshold 0.05."""
    with np.errstate(invalid="ignore"):
        return _watched(answers.usual_mean - answers.hourly @ answers.levels / answers.hourly.sum(axis=2))


def rolling_z(answers: Answers) -> Floats:
    """Standard errors by which the last day's mean is below the first week's; threshold 3."""
    number = answers.number
    variance = answers.usual @ answers.levels**2 - answers.usual_mean[:, 0] ** 2
    return _watched(
        (answers.usual_mean - answers.daily @ answers.levels / number) * np.sqrt(number / variance[:, None])
    )


def kolmogorov_smirnov(answers: Answers) -> Floats:
    """Largest difference of the distributions of the last day and the first week, times sqrt(n); threshold 1.95.

    That is p = 0.001 where values do not repeat; with five levels the test is more careful.
    """
    number = answers.number
    usual_number = answers.hourly[:, :WEEK].sum(axis=(1, 2))[:, None]
    difference = np.cumsum(answers.daily, axis=2) / number[..., None] - np.cumsum(answers.usual, axis=1)[:, None]
    return _watched(np.abs(difference).max(axis=2) * np.sqrt(number * usual_number / (number + usual_number)))


def population_stability(answers: Answers) -> Floats:
    """Population stability index of the last day against the first week; threshold 0.2."""
    share = (answers.daily + 0.5) / (answers.daily + 0.5).sum(axis=2, keepdims=True)
    usual = (answers.usual + 1e-3)[:, None]
    return _watched(((share - usual) * np.log(share / usual)).sum(axis=2))


def page_hinkley(answers: Answers, allowance: float = 0.005) -> Floats:
    """Sum of what answers are below the first week's mean less the allowance, never below 0; threshold 50 (river's)."""
    lost = answers.hourly.sum(axis=2) * (answers.usual_mean - allowance) - answers.hourly @ answers.levels
    return _reflected(lost, begin=WEEK)


def day_mean(answers: Answers) -> Floats:
    """By how much the last day's mean is below the first week's."""
    return np.asarray(answers.usual_mean - answers.daily @ answers.levels / answers.number)


def ewma(answers: Answers) -> Floats:
    """Exponentially weighted mean, 0.05 an hour, of the standard errors by which an hour is below the first week."""
    number = answers.hourly.sum(axis=2)
    deviation = np.sqrt(answers.usual @ answers.levels**2 - answers.usual_mean[:, 0] ** 2)[:, None]
    below = (answers.usual_mean * number - answers.hourly @ answers.levels) / np.sqrt(np.maximum(number, 1.0))
    found = np.zeros_like(below)
    for hour in range(1, below.shape[1]):
        found[:, hour] = 0.95 * found[:, hour - 1] + 0.05 * below[:, hour] / deviation[:, 0]
    return found


def daily_test(answers: Answers) -> Floats:
    """`rolling_z` at the end of each day only."""
    statistic = rolling_z(answers)
    return np.where(np.arange(statistic.shape[1]) % DAY == DAY - 1, statistic, -np.inf)


def cusum(counts: Counts, kind: Kind, before: Floats, after: Floats) -> Floats:
    """Logarithm of the likelihood ratio of the two true laws, never below 0 (Lorden); threshold log(A)."""
    never = 1e-300
    ratio = np.maximum(kind.probabilities(after), never) / np.maximum(kind.probabilities(before), never)
    return _reflected(counts @ np.log(ratio), begin=WEEK)


def _reflected(gains: Floats, begin: int) -> Floats:
    statistic = np.full(gains.shape, -np.inf)
    level = np.zeros(len(gains))
    for hour in range(begin, gains.shape[1]):
        level = np.maximum(level, 0.0) + gains[:, hour]
        statistic[:, hour] = level
    return statistic


def ours(counts: Counts, kind: Kind, tolerance: float = SETTINGS.tolerance) -> Floats:
    """`monitor.regression.Detector` as it is set by default, for all streams at once; threshold log(A).

    The same numbers up to a stream's first alarm (`tests/benchmarks/test_regression.py`). Later a real one
    begins anew after each regression, while this one goes on.
    """
    values, index = np.unique(kind.means, return_inverse=True)
    # A reference keeps values to a 1024th.
    kept = np.floor(values * 1024) / 1024
    observed = counts @ np.eye(len(values), dtype=np.float32)[index]
    streams, hours, _ = observed.shape
    statistic, baseline = np.full((streams, hours), -np.inf), np.zeros(streams)
    log_detector = np.full((streams, len(BETS)), -np.inf)
    gains, seen = np.zeros((streams, len(values), len(BETS))), np.zeros((streams, len(values)))
    daily = np.zeros((streams, hours // DAY + 1, len(values)), dtype=np.intp)
    looks: list[list[tuple[float, float]]] = [[] for _ in range(streams)]
    next_look, largest = np.full(streams, SETTINGS.reference_observations), 256 * SETTINGS.reference_observations
    for hour in range(hours):
        active = (baseline > 0.0) & (observed[:, hour].any(axis=1))
        gain = np.einsum("sv,svb->sb", observed[active, hour], gains[active])
        log_detector[active] = np.logaddexp(0.0, log_detector[active]) + gain
        statistic[:, hour] = np.where(
            baseline > 0.0, np.logaddexp.reduce(log_detector, axis=1) - np.log(len(BETS)), -np.inf
        )
        learns = (statistic[:, hour] < SETTINGS.log_threshold) & (seen.sum(axis=1) < largest)
        seen[learns] += observed[learns, hour]
        daily[learns, hour // DAY] += observed[learns, hour].astype(np.intp)
        (due,) = np.nonzero(learns & (seen.sum(axis=1) >= next_look) & (hour >= DAY))
        if len(due):
            for stream, lower in zip(due.tolist(), lower_bounds(seen[due], kept).tolist(), strict=True):
                looks[stream].append((lower, max(1.0, hour / DAY)))
                baseline[stream] = level_of(looks[stream], spread_of(daily[stream], values)) - tolerance
            level = 1.0 - baseline[due, None, None]
            gains[due] = np.log1p(BETS * ((1.0 - values[:, None]) / level - 1.0))
            while (next_look[due] <= seen[due].sum(axis=1)).any():
                next_look[due] = np.where(next_look[due] <= seen[due].sum(axis=1), 2 * next_look[due], next_look[due])
    return statistic


def level_of(looks: Sequence[tuple[float, float]], spread: float | None) -> float:
    """The highest lower end of a reference's looks, each after so many days, less what the spread between days adds."""
    error = 2.0 * (UNKNOWN_SPREAD if spread is None else spread)
    return max(lower - error / math.sqrt(days) for lower, days in looks) - 2.0 * (spread or 0.0)


def spread_of(daily: NDArray[np.intp], values: Floats) -> float | None:
    """The spread between days with so many conversations of each value; shape (days, values)."""
    (days,) = daily.any(axis=1).nonzero()
    sizes = daily[days].sum(axis=1)
    found = np.concatenate([np.repeat(values, daily[day]) for day in days])
    spread = DaySpread()
    places = np.repeat(np.arange(len(days)), sizes)
    spread.add(found, np.ones(len(found)), places, days * DAY * 3_600_000_000)
    return spread.spread()


def ours_with(counts: Counts, kind: Kind, mean: float) -> Floats:
    """`ours`, tolerance 0, if the mean before were known and not learned; threshold log(A)."""
    gains = np.log1p(BETS * ((1.0 - kind.means[:, None]) / (1.0 - mean) - 1.0))
    log_detector = np.full((len(counts), len(BETS)), -np.inf)
    statistic = np.full(counts.shape[:2], -np.inf)
    for hour in range(counts.shape[1]):
        active = counts[:, hour].any(axis=1)
        log_detector[active] = np.logaddexp(0.0, log_detector[active]) + counts[active, hour] @ gains
        statistic[:, hour] = np.logaddexp.reduce(log_detector, axis=1) - np.log(len(BETS))
    return statistic


def lower_bounds(counts: Floats, values: Floats) -> Floats:
    """`monitor.regression.mean_interval(...).lower` of many samples of few values at once; shape (streams,)."""
    refuted, possible = np.zeros(len(counts)), counts @ values / counts.sum(axis=1)
    for _ in range(40):
        middle = (refuted + possible) / 2
        pays = np.log1p(BETS * (values[:, None] / middle[:, None, None] - 1.0))
        capital = np.logaddexp.reduce(np.einsum("sv,svb->sb", counts, pays), axis=1) - np.log(len(BETS))
        is_refuted = capital >= -np.log(0.025)
        refuted, possible = np.where(is_refuted, middle, refuted), np.where(is_refuted, possible, middle)
    return refuted
