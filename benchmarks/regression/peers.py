"""Delay of our detector beside seven rules that are tuned in hindsight for one family of series.

    pip install river
    python -m benchmarks.regression.peers [--streams 40]

Families are those of `laws`, 20 answers an hour, right or wrong: plain, weekends harder by 0.06, a mood of sd 0.03.
Each rule takes the first week for usual; its threshold is the lowest with as few false alarms as ours has in the same
family, or one in all. Falls begin after 40 days. Beside the delays stands what no rule can beat that has one false
alarm a month and knows the law before and the fall: once if a drop within the tolerance is no fall, and once if each
drop is one. Without river there is no ADWIN. Prints markdown.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from benchmarks.regression import river, rules
from benchmarks.regression.detection import delays, false_alarms, tuned
from benchmarks.regression.law_table import mood
from benchmarks.regression.law_traffic import Floats, Traffic, expected_answers, hours_of, is_weekend, traffic
from benchmarks.regression.laws import BEGIN, alarms_of
from benchmarks.regression.rules import DAY, SETTINGS, WEEK, Answers, Counts
from benchmarks.regression.streams import Kind
from benchmarks.regression.tables import print_table
from lake.spec.alert_vocabulary import AlertEvent
from monitor.detect.regression import RegressionSettings

_CHANGE, _DAYS = 40 * DAY, 75
_HOURS, _LONGEST = _DAYS * DAY, 30 * DAY
_KIND, _MEAN, _RHO = Kind(1, (0.0, 1.0)), 0.8, 0.95
_AT = np.arange(float(_HOURS))
FALLS: dict[str, Floats] = {
    **{f"-{drop:.2f}": np.where(_AT >= _CHANGE, drop, 0.0) for drop in (0.05, 0.10, 0.20, 0.30)},
    "-0.10, reached in 14 days": 0.10 * np.clip((_AT - _CHANGE) / (14 * DAY), 0.0, 1.0),
    "-0.40 for 6 hours by day": np.where((_AT >= _CHANGE + 9) & (_AT < _CHANGE + 15), 0.40, 0.0),
    "-0.50 in one hour of each day": np.where((_AT >= _CHANGE) & (_AT % DAY == 14), 0.50, 0.0),
}
"""By how much the mean is lower in each hour."""
TOLERANCES = {"ours": SETTINGS.tolerance, "ours, tolerance 0": 0.0}
Rule = Callable[[Answers], Floats]


@dataclass(frozen=True)
class Family:
    """Series with harder weekends, and a mood of that standard deviation."""

    name: str
    weekend: float = 0.0
    mood: float = 0.0

    @property
    def mean(self) -> Floats:
        """In each hour without a fall and a mood; shape (hours,)."""
        return _MEAN - self.weekend * is_weekend(_AT)

    def draw(self, generator: np.random.Generator, drop: Floats) -> Traffic:
        """Answers of one series."""
        at = hours_of(generator, _DAYS)
        harder = (_MEAN - self.mean + drop)[at.astype(np.intp)]
        return traffic(generator, at, harder + mood(generator, at, self.mood) if self.mood else harder)


FAMILIES = (Family("plain"), Family("weekend", weekend=0.06), Family("mood", mood=0.03))


RULES: dict[str, Rule] = {
    "day's mean": rules.day_mean,
    "rolling z": rules.rolling_z,
    "EWMA": rules.ewma,
    "CUSUM": lambda answers: rules.page_hinkley(answers, 0.025),
    "Page-Hinkley": rules.page_hinkley,
    "daily test": rules.daily_test,
}
if river.is_installed():
    RULES["ADWIN"] = river.adwin_of_means


def warned(found: Traffic, tolerance: float) -> Floats:
    """1 in the hours in which our detector is in alarm; shape (hours,)."""
    state = np.zeros(_HOURS)
    for one in alarms_of(found, RegressionSettings(tolerance=tolerance)):
        hour = max(0, round((one.at - BEGIN) / timedelta(hours=1)) - 1)
        state[hour:] = one.change == AlertEvent.FIRING
    return state


def statistics(family: Family, drop: Floats, streams: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Of ours, which warns at 1, and of the other rules; each of shape (streams, hours)."""
    generators = [np.random.default_rng([7, FAMILIES.index(family), stream]) for stream in range(streams)]
    series = [family.draw(generator, drop) for generator in generators]
    counts: Counts = np.stack([_counts(one) for one in series])
    ours = {name: np.stack([warned(one, by) for one in series]) for name, by in TOLERANCES.items()}
    known = rules.ours_with(counts, _KIND, float(family.mean.mean()) - SETTINGS.tolerance)
    ours["that knows the mean"] = known / SETTINGS.log_threshold
    answers = Answers.of(counts, _KIND)
    return ours, {name: rule(answers) for name, rule in RULES.items()}


def _counts(found: Traffic) -> Counts:
    places = found.at.astype(np.intp) * 2 + found.values.astype(np.intp)
    return np.bincount(places, minlength=2 * _HOURS).reshape(_HOURS, 2).astype(np.uint8)


def needed(growth: float) -> float:
    """What evidence that grows so much an hour reaches when the best rule with the promise warns.

    It is the CUSUM that knows both laws (Moustakides, 1986) with the threshold h of exactly one false alarm a month. Of
    a Brownian motion the time to one is `(e^h - h - 1) / growth`, and the delay `(h - 1 + e^-h) / growth`.
    """
    low, high = 0.0, SETTINGS.log_threshold + 10.0
    for _ in range(50):
        middle = (low + high) / 2
        is_rare = math.expm1(middle) - middle > growth * math.exp(SETTINGS.log_threshold)
        low, high = (low, middle) if is_rare else (middle, high)
    return low + math.expm1(-low)


def least(family: Family, drop: Floats, tolerance: float) -> float:
    """About the hours that no rule with the promise can beat, for which no fall is smaller than the tolerance.

    An hour of n answers says n KL of two means: of right or wrong answers KL is KL_inf. A mood hides some of it: what
    is left is that of the innovations of a Kalman filter that knows the mood's law, with normal noise of that KL.
    """
    before, after = family.mean - tolerance, family.mean - drop
    shift = np.maximum(before - after, 0.0)
    divergence = after * np.log(after / before) + (1.0 - after) * np.log((1.0 - after) / (1.0 - before))
    noise = np.where(shift > 0.0, shift**2 / (2.0 * np.maximum(divergence, 1e-12)), before * (1.0 - before))
    variance, expected, told = family.mood**2, 0.0, 0.0
    for hour, (seen, error) in enumerate(zip(shift, noise / expected_answers(_DAYS), strict=True)):
        innovation, gain = seen - expected, variance / (variance + error)
        told += innovation**2 / (2.0 * (variance + error))
        if told > 0.0 and told >= needed(told / (hour + 1 - _CHANGE)):
            return hour + 1.0 - _CHANGE
        expected = _RHO * (expected + gain * innovation)
        variance = _RHO**2 * (1.0 - gain) * variance + (1.0 - _RHO**2) * family.mood**2
    return math.inf


def median(statistic: Floats, threshold: float) -> float:
    """Hours to the alarm in the middle of the streams; infinite beyond 30 days."""
    found = delays(statistic, threshold, _CHANGE)
    middle = float(np.quantile(found, 0.5, method="higher")) if len(found) else math.inf
    return middle if middle <= _LONGEST else math.inf


def rows_of(family: Family, streams: int) -> list[list[str]]:
    """Give a row for each fall."""
    ours, others = statistics(family, np.zeros(_HOURS), streams)
    months = streams * (_HOURS - WEEK) / _LONGEST
    rates = {name: false_alarms(statistic, 1.0) for name, statistic in ours.items()}
    budget = max(rates["ours"], 1.0 / months)
    thresholds = {name: tuned(statistic, budget) for name, statistic in others.items()}
    alarms = ", ".join(f"{name} {rate * months:.0f}" for name, rate in rates.items())
    print(f"{family.name}: false alarms in {months:.0f} stream-months: {alarms}", file=sys.stderr, flush=True)
    rows = []
    for name, drop in FALLS.items():
        ours, others = statistics(family, drop, streams)
        found = {rule: median(statistic, 1.0) for rule, statistic in ours.items()}
        peers = {rule: median(statistic, thresholds[rule]) for rule, statistic in others.items()}
        best = min(peers, key=lambda rule: peers[rule])
        bounds = (least(family, drop, tolerance) for tolerance in TOLERANCES.values())
        cells = [*found.values(), peers[best], *bounds]
        ratio = f"{found['ours'] / peers[best]:.2f}"
        shown = [f"{hours:.0f}" if math.isfinite(hours) else "-" for hours in cells]
        shown[3] += f" ({best})"
        rows.append([f"{family.name}, {name}", ratio, *shown])
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=40, help="of each family and fall")
    streams = parser.parse_args().streams
    head = [
        "family, fall",
        "ours / best",
        *TOLERANCES,
        "that knows the mean",
        "best of the others",
        "bound",
        "tolerance 0",
    ]
    rows = [row for family in FAMILIES for row in rows_of(family, streams)]
    print_table(f"Hours to the warning, median of {streams} streams", head, rows)


if __name__ == "__main__":
    main()
