"""Laws of scores that no release has changed, and falls: alarms of streams with few answers and with rhythms.

    python -m benchmarks.regression.laws [--seeds report] [--streams 10] [--days 365] [--falls 40] [--only NAME ...]

Streams have 20 answers an hour, more by day and on working days, and default settings; each is a fleet of its own, so
that its pages are bounded by one a year. Rows of `scores` go through `Streams`, as in the monitor. Settings are chosen
with `--seeds choose` and reported with `--seeds report`, whose seeds are others. Prints markdown.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from benchmarks.regression.law_table import FALLS, LAWS
from benchmarks.regression.law_traffic import Traffic
from benchmarks.regression.tables import in_words, print_table
from lake.spec.alert_vocabulary import AlertEvent, Tier
from lake.spec.schemas import SCORES
from lake.spec.vocabulary import Direction, JudgeKind
from monitor.detect.regression import RegressionSettings, Streams, Transition

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
SEEDS = {"choose": 1_000_000, "report": 2_000_000}
_YEAR, _CHANGE = timedelta(days=365), timedelta(days=30)
_LONGEST_FALL = timedelta(days=60)


def rows_of(traffic: Traffic, releases: Sequence[float] = ()) -> pa.Table:
    """Rows of `scores`, those of the same question with the same `question_key` where the table has one.

    With each of the `releases`, in hours, they are of a new version of the application.
    """
    number = len(traffic.at)
    at = pa.array(int(BEGIN.timestamp() * 1e6) + (traffic.at * 3.6e9).astype(np.int64))
    moments = at.cast(pa.timestamp("us", "UTC"))
    ids = np.arange(number).astype(str)
    known = {
        "score_id": pa.array(ids),
        "event_id": pa.array(ids),
        "response_id": pa.array(ids),
        "chat_id": pa.array(traffic.chats.astype(str)),
        "question_key": pa.array(traffic.questions.astype(str)),
        "deployment": _versions(traffic, releases),
        "date": moments.cast(pa.date32()),
        "requested_at": moments,
        "scored_at": moments,
        "metric": _always("faithfulness", number),
        "metric_version": _always("1", number),
        "judge": _always(JudgeKind.LEXICAL, number),
        "value": pa.array(traffic.values),
        "sampling_probability": _always(1.0, number),
        "direction": _always(Direction.UP, number),
        "low": _always(0.0, number),
        "high": _always(1.0, number),
        "segment": pa.array(list(traffic.classes)).take(pa.array(traffic.kinds)),
    }
    columns = [known.get(field.name, pa.nulls(number, field.type)) for field in SCORES.schema]
    return pa.table([column.cast(field.type) for column, field in zip(columns, SCORES.schema, strict=True)],
                    schema=SCORES.schema)  # fmt: skip


def _always(value: str | float, times: int) -> pa.Array:
    return pa.array([value]).take(pa.array(np.zeros(times, dtype=np.int32)))


def _versions(traffic: Traffic, releases: Sequence[float]) -> pa.Array:
    names = pa.array([f"app__1.{number}.0" for number in range(len(releases) + 1)])
    return names.take(pa.array(np.searchsorted(releases, traffic.at, side="right")))


def alarms_of(traffic: Traffic, settings: RegressionSettings, releases: Sequence[float] = ()) -> list[Transition]:
    """Read all of a stream, or of the versions of an application, and give what was found."""
    streams = Streams(settings)
    table = rows_of(traffic, releases)
    end = BEGIN + timedelta(hours=math.ceil(float(traffic.at.max())) + 2)
    streams.add(table, end)
    found = streams.advance(end)
    if streams.stopped.errors:
        raise RuntimeError(f"a stream has stopped: {streams.stopped.errors}")
    return found


@dataclass(frozen=True)
class Count:
    """Alarms of some streams without a fall."""

    warnings: int
    pages: int
    in_alarm: timedelta
    watched: timedelta
    paged: int
    streams: int

    @property
    def years(self) -> float:
        """How many years all streams were watched."""
        return self.watched / _YEAR

    @property
    def cells(self) -> list[str]:
        """The columns of the table."""
        warnings, pages = self.warnings / self.years, self.pages / self.years
        share = f"{self.paged} of {self.streams}"
        return [f"{warnings:.2g}", f"{pages:.2g}", share, f"{self.in_alarm / self.watched:.1%}"]


def count(found: Sequence[Sequence[Transition]], length: timedelta) -> Count:
    """Count what began, what became a page, and the time from the begin to the end."""
    warnings = pages = paged = 0
    in_alarm = timedelta(0)
    for stream in found:
        since: datetime | None = None
        has_paged = 0
        version = ""
        for one in stream:
            if since is not None and one.key.deployment != version:
                # What is open of a version that is over ends with it.
                in_alarm, since = in_alarm + (one.at - since), None
            version = one.key.deployment
            if one.change == AlertEvent.FIRING:
                warnings += since is None
                has_paged += one.reading.tier == Tier.PAGE
                since = since or one.at
            elif since is not None:
                in_alarm, since = in_alarm + (one.at - since), None
        if since is not None:
            in_alarm += BEGIN + length - since
        pages, paged = pages + has_paged, paged + bool(has_paged)
    return Count(warnings, pages, in_alarm, length * len(found), paged, len(found))


def delay(found: Sequence[Transition], tier: Tier) -> float:
    """Hours from the fall to the first alarm of at least that tier; nan for a stream in alarm before the fall."""
    change = BEGIN + _CHANGE
    on = False
    for one in found:
        if one.at <= change:
            on = one.change == AlertEvent.FIRING
    if on:
        return math.nan
    tiers = (Tier.PAGE,) if tier == Tier.PAGE else (Tier.WARN, Tier.PAGE)
    for one in found:
        if one.at > change and one.change == AlertEvent.FIRING and one.reading.tier in tiers:
            return (one.at - change) / timedelta(hours=1)
    return math.inf


def laws(
    first: int, streams: int, days: int, only: Sequence[str], settings: RegressionSettings, releases: int = 0
) -> Iterator[list[str]]:
    """Give the row of each law, with so many releases at equal distances."""
    released = [days * 24.0 * (number + 1) / (releases + 1) for number in range(releases)]
    for number, law in enumerate(LAWS):
        if only and law.name not in only:
            continue
        begin, length = time.perf_counter(), timedelta(days=days)
        found = []
        for stream in range(streams):
            generator = np.random.default_rng([first, number, stream])
            found.append(alarms_of(law.traffic(generator, days), settings, released))
        counted = count(found, length)
        seconds = f"{time.perf_counter() - begin:.0f} s"
        print(law.name, *counted.cells, seconds, sep="; ", file=sys.stderr, flush=True)
        yield [law.name, *counted.cells]


def falls(first: int, streams: int, only: Sequence[str], settings: RegressionSettings) -> Iterator[list[str]]:
    """Give the row of each fall: hours to the warning and to the page."""
    days = (_CHANGE + _LONGEST_FALL) // timedelta(days=1)
    for number, fall in enumerate(FALLS):
        if only and fall.name not in only:
            continue
        found = []
        for stream in range(streams):
            generator = np.random.default_rng([first, 100 + number, stream])
            found.append(alarms_of(fall.traffic(generator, days), settings))
        cells = []
        for tier in (Tier.WARN, Tier.PAGE):
            hours = np.array([delay(one, tier) for one in found])
            cells.append(in_words(hours[~np.isnan(hours)]))
        print(fall.name, *cells, sep="; ", file=sys.stderr, flush=True)
        yield [fall.name, *cells]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", choices=SEEDS, default="report")
    parser.add_argument("--streams", type=int, default=10)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--falls", type=int, default=40, help="streams of each fall")
    parser.add_argument("--only", nargs="*", default=(), help="names of laws and falls")
    parser.add_argument("--segment-by", nargs="*", help="attributes, others than by default")
    parser.add_argument("--releases", type=int, default=0, help="releases of each stream, each a new deployment")
    given = parser.parse_args()
    settings = RegressionSettings()
    if given.segment_by is not None:
        settings = RegressionSettings(segment_by=tuple(given.segment_by))
    first = SEEDS[given.seeds]
    if given.streams:
        head = ["law", "warnings a stream-year", "pages a stream-year", "streams that paged", "time in alarm"]
        released = f", {given.releases} releases" if given.releases else ""
        title = (
            f"Alarms without a fall{released} ({given.streams} streams of {given.days} days each; promised: 12 and 1)"
        )
        rows = laws(first, given.streams, given.days, given.only, settings, given.releases)
        print_table(title, head, list(rows))
    if given.falls:
        title = f"Hours to the alarm, median / 90 % ({given.falls} streams, the fall after 30 days)"
        print_table(title, ["fall", "warning", "page"], list(falls(first, given.falls, given.only, settings)))


if __name__ == "__main__":
    main()
