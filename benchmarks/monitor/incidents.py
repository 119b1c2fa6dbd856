"""Messages of four metrics of a deployment that fall together: one a change, and one a change of the incident.

    python -m benchmarks.monitor.incidents [--seeds 200]

Scores are those of `benchmarks.regression`: 21 days, 1,152 answers a day, four metrics that all fall at the same hour.
The monitor's detectors read them hour by hour with the default settings, and their transitions go to a lake as in a
monitor. A receiver that accepts everything counts what it gets in the three days after the drop: now, and with every
change as a message of its own, as before there were incidents.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from unittest import mock

import numpy as np

import monitor.notify.delivery as delivery
from benchmarks.regression.streams import LAWS, LEVELS, Floats, worse
from benchmarks.regression.tables import in_words, print_table
from lake.spec.alert_vocabulary import AlertEvent
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import (
    MEASURED,
    UNDECIDED,
    Observation,
    RegressionSettings,
    Status,
    StreamKey,
    Transition,
)
from monitor.detect.regression.detector import Detector
from monitor.notify.delivery import Attempt, DeliveryOutcome
from monitor.notify.messages import MessageIncident
from monitor.notify.notifier import Notifier
from monitor.notify.settings import WebhookSettings

METRICS, DAYS, DROP_DAY, LOOK_DAYS = 4, 21, 18, 3
ANSWERS_AN_HOUR = 48
START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
FELL = START + timedelta(days=DROP_DAY)


def transitions(
    generator: np.random.Generator, law: Floats, drop: float
) -> Iterator[tuple[datetime, list[Transition]]]:
    """Give what the detectors find, with the hour's end at which they do; two metrics have a judge, two have none."""
    settings = RegressionSettings()
    detectors = [Detector(settings) for _ in range(METRICS)]
    for hour in range(DAYS * 24):
        begin = START + hour * HOUR
        of_hour = worse(law, drop) if begin >= FELL else law
        found = []
        for number, detector in enumerate(detectors):
            values = generator.choice(LEVELS, ANSWERS_AN_HOUR, p=of_hour)
            at = [begin + HOUR * share for share in np.sort(generator.random(ANSWERS_AN_HOUR))]
            batch = [Observation(when, float(value)) for when, value in zip(at, values, strict=True)]
            reading = detector.update(batch, METRICS)
            if reading is not None:
                change = AlertEvent.FIRING if reading.status is Status.REGRESSED else AlertEvent.RESOLVED
                judged = UNDECIDED if number % 2 else MEASURED
                key = StreamKey("rag", f"metric_{number}", "1")
                found.append(Transition(key, change, reading.latest or begin, reading, (), judged))
        yield begin + HOUR, found


def played(steps: Sequence[tuple[datetime, list[Transition]]]) -> list[tuple[float, bool]]:
    """Give the messages in the days after the drop: hours after it, and whether it is a page."""
    sent: list[tuple[float, bool]] = []
    now = START

    def receive(_pool: object, _url: str, body: bytes, *_: object) -> Attempt:
        sent.append(((now - FELL) / HOUR, b'"severity":"page"' in body))
        return Attempt(DeliveryOutcome.DELIVERED, "answered 200")

    webhook = WebhookSettings.model_validate(
        {"name": "team", "url": "http://127.0.0.1:9/", "secret": "whsec_" + "A" * 44}
    )
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(delivery, "deliver", receive):
        alerts = AlertStore(Lake(folder))
        notifier = Notifier([webhook], alerts)
        for now, found in steps:
            if found:
                alerts.record(found, now)
                notifier.run_due(now)
    return [(hours, pages) for hours, pages in sent if 0 <= hours <= LOOK_DAYS * 24]


def row(name: str, runs: Sequence[Sequence[tuple[float, bool]]]) -> list[str]:
    """Median and 90 % quantile of the number of messages, and in hours of the first page and of the last message."""
    numbers = np.array([len(run) for run in runs], dtype=np.float64)
    pages = [next((hours for hours, is_page in run if is_page), np.inf) for run in runs]
    last = [max((hours for hours, _ in run), default=np.inf) for run in runs]
    return [name, *map(in_words, (numbers, np.array(pages), np.array(last)))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    seeds = parser.parse_args().seeds
    rows = []
    for drop in (0.05, 0.10, 0.20):
        runs = [
            [step for step in transitions(np.random.default_rng(seed), LAWS["five levels"], drop) if step[1]]
            for seed in range(seeds)
        ]
        with mock.patch.object(MessageIncident, "has_news", True):
            rows.append(row(f"{drop:.2f}, each change a message", [played(run) for run in runs]))
        rows.append(row(f"{drop:.2f}, incidents", [played(run) for run in runs]))
    head = ["drop of each metric", "messages in 3 days", "hours to the first page", "hours to the last message"]
    print_table(f"Messages: median / 90 % of {seeds} runs", head, rows)


if __name__ == "__main__":
    main()
