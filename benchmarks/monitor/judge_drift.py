"""Benchmark of verdicts: how often an alert names the right cause, and an unchanged judge is taken for changed.

    python -m benchmarks.monitor.judge_drift [--streams 50] [--years 50]

Streams have 48 answers an hour on average, of five levels, each its own conversation. A judge gives an answer its own
level, or with some probability the one above or below. A stricter judge gives one level less with some probability; a
worse application gives more bad answers. 200 anchors are drawn on day 3 and scored again once a day, in three portions.
Prints markdown.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from benchmarks.regression.detection import print_table
from benchmarks.regression.streams import LAWS, LEVELS, Floats, traffic, worse
from lake.spec.alert_vocabulary import AlertVerdict
from monitor.detect.regression import Detector, Observation, RegressionSettings, Status, judgement_of
from monitor.detect.regression.judge_drift.detector import JudgeDriftDetector

SETTINGS = RegressionSettings()
START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), 24
ANCHORS, DRAWN, CHANGE, LONGEST, PATIENCE = 200, 3 * DAY, 10 * DAY, 40 * DAY, 14 * DAY
PORTIONS = 3
PORTION_HOURS = DAY // PORTIONS
LAW = LAWS["five levels"]
STEP = 0.25
NOISES: Mapping[str, float] = {"steady": 0.02, "noisy": 0.3}
"""How likely a judge gives an answer one level more or less than its own."""


@dataclass(frozen=True)
class Story:
    """By how much the application's and the judge's part lower the mean."""

    application: float
    judge: float

    @property
    def truth(self) -> AlertVerdict:
        """The right verdict."""
        if self.application and self.judge:
            return AlertVerdict.BOTH
        return AlertVerdict.SYSTEM if self.application else AlertVerdict.JUDGE

    @property
    def title(self) -> str:
        """What happens, in words."""
        parts = {"application": self.application, "judge": self.judge}
        return " and ".join(f"{name} {size:.2f}" for name, size in parts.items() if size)


STORIES = [Story(*parts) for size in (0.10, 0.20) for parts in ((size, 0.0), (0.0, size), (size / 2, size / 2))]


def answers(generator: np.random.Generator, law: Floats, number: int) -> Floats:
    """Levels of answers, in [0, 1]; shape (number,)."""
    return generator.choice(LEVELS, number, p=law)


def judged(generator: np.random.Generator, levels: Floats, noise: float, strictness: float) -> Floats:
    """What the judge says of answers; `strictness` is the probability of one level less."""
    up_or_down = generator.choice([-STEP, 0.0, STEP], len(levels), p=[noise / 2, 1 - noise, noise / 2])
    stricter = STEP * (generator.random(len(levels)) < strictness)
    return np.asarray(np.clip(levels + up_or_down - stricter, 0.0, 1.0))


def strictness_of(shift: float, law: Floats) -> float:
    """Give the strictness that lowers the mean of answers by `shift`, near enough; none has less than the worst."""
    return shift / (STEP * float(law[1:].sum()))


def scoring(values: Floats, portion: int | None = None) -> dict[str, float]:
    """Name the anchors of a portion, or all of them."""
    numbered = enumerate(values.tolist())
    return {str(number): value for number, value in numbered if portion is None or number % PORTIONS == portion}


def score_due(watch: JudgeDriftDetector, at: datetime, values: Floats, number: int) -> None:
    """Score the portion of this number; all anchors twice at first."""
    if watch.baseline:
        watch.add(at, scoring(values, number % PORTIONS))
        return
    for _ in range(2):
        watch.add(at, scoring(values))


def verdict_of(generator: np.random.Generator, story: Story, noise: float) -> tuple[str, float]:
    """Run one stream until its alert has a verdict; gives that and how many hours after the alert it came.

    "no alert" where none came in 30 days; "undecided" where no verdict came in 14 days after it.
    """
    detector, watch = Detector(SETTINGS), JudgeDriftDetector(SETTINGS.tolerance)
    bad = worse(LAW, story.application) if story.application else LAW
    strictness = strictness_of(story.judge, bad)
    anchors, first = answers(generator, LAW, ANCHORS), int(generator.integers(PORTION_HOURS))
    fired = math.inf
    for hour, rate in enumerate(traffic(LONGEST, 1)):
        changed, at = hour >= CHANGE, START + hour * HOUR
        levels = answers(generator, bad if changed else LAW, generator.poisson(rate))
        values = judged(generator, levels, noise, strictness if changed else 0.0)
        detector.update([Observation(at, value) for value in values.tolist()])
        is_due = hour >= DRAWN and hour % PORTION_HOURS == first
        if is_due:
            score_due(
                watch, at, judged(generator, anchors, noise, strictness if changed else 0.0), hour // PORTION_HOURS
            )
        # A verdict can only change when the anchors were scored again.
        if detector.status is Status.REGRESSED and (is_due or fired == math.inf):
            fired = min(fired, hour)
            reading = detector.reading
            since = reading.since_latest
            found = judgement_of(reading, watch.shift(since) if since else None).verdict
            if found is not AlertVerdict.UNDECIDED:
                return found, hour - fired
        if hour - fired >= PATIENCE:
            return AlertVerdict.UNDECIDED, math.inf
    return (AlertVerdict.UNDECIDED if fired < LONGEST else "no alert"), math.inf


def verdicts(streams: int) -> None:
    """Print what alerts say, by what happened."""
    rows = []
    for name, noise in NOISES.items():
        for number, story in enumerate(STORIES):
            generator = np.random.default_rng([len(name), number])
            found = [verdict_of(generator, story, noise) for _ in range(streams)]
            counts = Counter(verdict for verdict, _ in found)
            alerts = streams - counts["no alert"]
            wrong = sum(counts[one] for one in AlertVerdict if one not in (AlertVerdict.UNDECIDED, story.truth))
            hours = [hour for verdict, hour in found if math.isfinite(hour)]
            by_verdict = [counts[one] for one in AlertVerdict]
            share = f"{wrong / alerts:.1%}" if alerts else "-"
            median = f"{np.median(hours):.0f}" if hours else "-"
            rows.append([name, story.title, *map(str, [alerts, *by_verdict]), share, median])
    head = ["judge", "what lowers the mean", "alerts", *AlertVerdict, "wrong", "hours to it"]
    print_table(f"Verdicts of {streams} streams each", head, rows)


def suspicions(years: int) -> None:
    """Print how often a judge that does not change is taken to have changed, and how soon one that does is."""
    rows = []
    for name, noise in NOISES.items():
        generator = np.random.default_rng(len(name))
        alarms, delays = 0, []
        for _ in range(years):
            alarms += hours_to_drift(generator, noise, 0.0, 365) is not None
            delays.append(hours_to_drift(generator, noise, 0.1, 60) or math.inf)
        median, late = (np.quantile(delays, share, method="higher") for share in (0.5, 0.9))
        rows.append([name, str(years), str(alarms), f"{median:.0f} / {late:.0f}"])
    head = ["judge", "years", "drifts that were none", "hours to find a shift of 0.10, median / 90 %"]
    print_table("Judges of 200 anchors, scored in three portions a day", head, rows)


def hours_to_drift(generator: np.random.Generator, noise: float, shift: float, days: int) -> int | None:
    """Hours until the judge is taken to have changed, counted from the change, which comes after 30 days."""
    anchors, watch, first = answers(generator, LAW, ANCHORS), JudgeDriftDetector(SETTINGS.tolerance), 30 if shift else 0
    strictness = strictness_of(shift, LAW)
    for number in range(-PORTIONS, PORTIONS * (first + days)):
        changed = bool(shift) and number >= PORTIONS * first
        values = judged(generator, anchors, noise, strictness if changed else 0.0)
        score_due(watch, START + PORTION_HOURS * number * HOUR, values, number)
        if watch.active:
            return PORTION_HOURS * (number + 1 - PORTIONS * first)
    return None


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--years", type=int, default=50)
    given = parser.parse_args()
    verdicts(given.streams)
    suspicions(given.years)


if __name__ == "__main__":
    main()
