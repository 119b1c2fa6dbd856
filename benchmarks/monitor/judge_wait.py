"""Benchmark of pages of judged metrics: whom a silent change of the judge wakes, with and without the wait.

    python -m benchmarks.monitor.judge_wait [--runs 20]

Streams have 20 answers an hour on average, of five levels, whose judge says one level more or less for 10 % of them, by
chance. On day 10 the application, the judge or both lower the mean. 200 anchors are scored in three portions a day, and
all at once ten minutes after each change of an alert that is undecided. A page waits for two hours at most; without the
wait it goes out at once, with the verdict that is known then. Prints markdown.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from benchmarks.monitor.judge_drift import (
    ANCHORS,
    CHANGE,
    DRAWN,
    HOUR,
    LAW,
    LONGEST,
    PORTION_HOURS,
    SETTINGS,
    START,
    STORIES,
    Story,
    answers,
    judged,
    score_due,
    scoring,
    strictness_of,
)
from benchmarks.regression.detection import print_table
from benchmarks.regression.streams import traffic, worse
from lake.spec.alert_vocabulary import AlertVerdict, Tier
from monitor.detect.regression import Detector, Judgement, Observation, Status, judgement_of
from monitor.detect.regression.judge_drift.detector import JudgeDriftDetector

RATE, NOISE, WAIT = 20 / 48, 0.1, 2


@dataclass(frozen=True)
class Outcome:
    """What one run told: the verdict of a page at once, and of one that waits; by how many hours that was later.

    None where it did not page.
    """

    at_once: AlertVerdict | None
    waited: AlertVerdict | None
    hours: float


def outcome_of(generator: np.random.Generator, story: Story) -> Outcome:
    """Run one stream until it paged with the wait, or 30 days since the change are over."""
    detector, watch = Detector(SETTINGS), JudgeDriftDetector(SETTINGS.tolerance)
    bad = worse(LAW, story.application) if story.application else LAW
    strictness = strictness_of(story.judge, bad)
    anchors, first = answers(generator, LAW, ANCHORS), int(generator.integers(PORTION_HOURS))
    evidence: int | None = None
    at_once: AlertVerdict | None = None
    for hour, rate in enumerate(traffic(LONGEST, 1)):
        changed, at = hour >= CHANGE, START + hour * HOUR
        levels = answers(generator, bad if changed else LAW, generator.poisson(rate * RATE))
        strict = strictness if changed else 0.0
        reading = detector.update(
            [Observation(at, value) for value in judged(generator, levels, NOISE, strict).tolist()]
        )
        is_due = hour >= DRAWN and hour % PORTION_HOURS == first
        if is_due:
            score_due(watch, at, judged(generator, anchors, NOISE, strict), hour // PORTION_HOURS)
        if detector.status is not Status.REGRESSED or not (reading or is_due or evidence):
            continue
        if hour < CHANGE:
            return Outcome(None, None, math.inf)
        judgement = _judgement(detector, watch)
        if reading is not None and reading.tier == Tier.PAGE and evidence is None:
            evidence, at_once = hour, judgement.verdict
        if reading is not None and judgement.verdict == AlertVerdict.UNDECIDED:
            watch.add(at + HOUR + timedelta(minutes=10), scoring(judged(generator, anchors, NOISE, strict)))
            judgement = _judgement(detector, watch)
        if evidence is None or judgement.verdict == AlertVerdict.JUDGE:
            continue
        if judgement.verdict != AlertVerdict.UNDECIDED or (hour - evidence >= WAIT and not judgement.is_explained):
            return Outcome(at_once, judgement.verdict, hour - evidence)
    return Outcome(at_once, None, math.inf)


def _judgement(detector: Detector, watch: JudgeDriftDetector) -> Judgement:
    reading = detector.reading
    return judgement_of(reading, watch.shift(reading.since_latest or reading.since or START))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = []
    for number, story in enumerate(STORIES):
        generator = np.random.default_rng([given.seed, number])
        found = [outcome_of(generator, story) for _ in range(given.runs)]
        later = [one.hours for one in found if math.isfinite(one.hours)]
        hours = f"{np.median(later):.0f} / {np.quantile(later, 0.9, method='higher'):.0f}" if later else "-"
        told = _told([one.at_once for one in found]), _told([one.waited for one in found])
        rows.append([story.title, str(given.runs), *told, hours])
    head = ["what lowers the mean", "runs", "pages at once", "pages that wait", "hours later, median / 90 %"]
    print_table("Pages, and the verdict that they have", head, rows)


def _told(verdicts: list[AlertVerdict | None]) -> str:
    counts = Counter(one for one in verdicts if one is not None)
    pages = sum(number for verdict, number in counts.items() if verdict != AlertVerdict.JUDGE)
    words = ", ".join(
        f"{number} {verdict}" for verdict, number in counts.most_common() if verdict != AlertVerdict.JUDGE
    )
    return f"{pages} ({words})" if words else "0"


if __name__ == "__main__":
    main()
