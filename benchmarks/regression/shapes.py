"""Our detector where the mean moves otherwise than by a drop: share of streams in alarm afterwards.

    python -m benchmarks.regression.shapes [--streams 200]

Streams are those of `detection`, of 60 days; something happens after 30. Prints markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from benchmarks.regression.detection import delays
from benchmarks.regression.rules import DAY, SETTINGS, WEEK, ours
from benchmarks.regression.streams import LAWS, LEVELS, TURNS, Floats, Kind, by_night, simulate, traffic, worse
from benchmarks.regression.tables import in_words, print_table
from monitor.detect.regression import Detector
from monitor.detect.regression.arrays import microseconds
from monitor.detect.regression.batches.batches import Batches, ScoreColumns

DAYS = 60
HOURS, CHANGE = DAYS * DAY, DAYS // 2 * DAY
GAP = 0.08
"""How much worse the hard questions are answered."""
HARD, SAMPLED = 0.3, 0.25
"""Share of hard questions, and how many of the others are scored after the change of sampling: all hard ones are."""
Shape = Callable[[int], Floats]


def shapes(law: Floats) -> dict[str, tuple[Shape, int]]:
    """What happens to the law, by name, and the hour from which alarms count; a steady one has no change."""
    hard = worse(law, GAP)

    def shift(hour: int) -> Floats:
        share = 0.5 if hour >= CHANGE else HARD
        return share * hard + (1.0 - share) * law

    def ramp(hour: int) -> Floats:
        share = min(1.0, max(0.0, (hour - CHANGE) / (14 * DAY)))
        return share * worse(law, 0.10) + (1.0 - share) * law

    def dip(hour: int) -> Floats:
        return worse(law, 0.10) if CHANGE <= hour < CHANGE + 6 else law

    def bump(hour: int) -> Floats:
        return worse(law, 0.05) if hour >= CHANGE else law

    return {
        "nights with 20 points more hard questions": (by_night(law), WEEK),
        "20 points more hard questions for good": (shift, CHANGE),
        "ramp to 0.10 in 14 days": (ramp, CHANGE),
        "dip of 0.10 for 6 h": (dip, CHANGE),
        "judge stricter by 0.05, version kept": (bump, CHANGE),
        # A new version is a new stream: it begins with what it sees.
        "judge stricter by 0.05, version raised": (lambda _: worse(law, 0.05), WEEK),
    }


def alarms(generator: np.random.Generator, streams: int, kind: Kind, law_at: Shape, since: int) -> list[str]:
    """Share of streams in alarm from an hour on, and how long it took."""
    statistic = ours(simulate(generator, streams, HOURS, kind, law_at), kind)
    found = delays(statistic, SETTINGS.log_threshold, since)
    return [f"{np.isfinite(found).mean():.1%}", in_words(found)]


def sampling(generator: np.random.Generator, law: Floats, *, weighted: bool) -> bool:
    """Whether the real detector fires on one stream whose easy questions are scored more rarely after the change."""
    batches, detector = Batches(SETTINGS.batch, SETTINGS.grace), Detector(SETTINGS)
    number = generator.poisson(traffic(HOURS, 1))
    hour = np.repeat(np.arange(HOURS), number)
    is_hard = generator.random(len(hour)) < HARD
    probability = np.where(is_hard | (hour < CHANGE), 1.0, SAMPLED)
    scored = generator.random(len(hour)) < probability
    easy, hard = (generator.choice(LEVELS, len(hour), p=one) for one in (law, worse(law, 2 * GAP)))
    start = microseconds(datetime(2026, 1, 1, tzinfo=UTC))
    names = pa.array(np.arange(scored.sum()).astype(str)).dictionary_encode()
    weights = 1.0 / probability[scored] if weighted else np.ones(int(scored.sum()))
    at = start + hour[scored] * (timedelta(hours=1) // timedelta(microseconds=1))
    values, of_one = np.where(is_hard, hard, easy)[scored], np.zeros(len(at), dtype=np.intp)
    batches.add(ScoreColumns(at, names, names, names, values, weights, of_one, ((),)))
    closed = batches.close(datetime(2027, 1, 1, tzinfo=UTC))
    if closed is None:
        return False
    found = closed.observations
    return any(True for _ in detector.changes(found, np.ones(found.batches, dtype=np.intp)))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=200)
    streams = parser.parse_args().streams
    generator, rows = np.random.default_rng(7), []
    for name, law in LAWS.items():
        for turns in (1, TURNS):
            for shape, (law_at, since) in shapes(law).items():
                how = "clustered" if turns > 1 else "independent"
                rows.append([shape, f"{name}, {how}", *alarms(generator, streams, Kind(turns), law_at, since)])
    rows.sort(key=lambda row: list(shapes(LAWS["binary"])).index(row[0]))
    print_table(f"{streams} streams of {DAYS} days", ["what happens", "scores", "in alarm", "hours"], rows)
    few = max(1, streams // 10)
    for weighted in (True, False):
        fired = sum(sampling(generator, LAWS["five levels"], weighted=weighted) for _ in range(few))
        how = "weighted by 1 / sampling probability" if weighted else "not weighted"
        print(
            f"Easy questions sampled at {SAMPLED:.0%} from day {DAYS // 2} on, {how}: {fired} of {few} streams in alarm"
        )


if __name__ == "__main__":
    main()
