"""Outages of failing requests: pages a year of short ones, and how soon one that lasts is a page.

    python -m benchmarks.monitor.short_outages [--applications 50]

An application has 120 requests an hour, of which 2 % fail. One outage a week begins at random, in which all requests
fail. Before: each is a page at once (`page_after: 0s`). After: with the default. Prints markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from benchmarks.regression.tables import print_table
from lake.spec.alert_vocabulary import AlertEvent, LimitKind, Tier
from monitor.detect.limits import LimitChange, LimitSettings
from monitor.detect.limits.minute_counts import MinuteCounts
from monitor.detect.limits.shares import ShareLimit

_LENGTHS = (10, 30, 50, 55, 65, 90, 240)
_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_HOURLY, _FAILING = 120, 0.02
_BEGIN, _DAY = 12 * 60, 24 * 60
_A_YEAR = 52


def changes_of(generator: np.random.Generator, length: int, settings: LimitSettings) -> list[LimitChange]:
    """Give what is found in a day with an outage of so many minutes."""
    at = np.sort(generator.integers(0, _DAY, generator.poisson(_HOURLY * 24)))
    begin = _BEGIN + int(generator.integers(0, 60))
    failed = (generator.uniform(size=len(at)) < _FAILING) | ((at >= begin) & (at < begin + length))
    times = pa.array([_NOW - (_DAY - int(minute)) * timedelta(minutes=1) for minute in at], pa.timestamp("us", "UTC"))
    minutes = MinuteCounts()
    minutes.add(pa.chunked_array([times]), failed, pa.chunked_array([pa.array(["503"] * len(at))]), _NOW)
    return ShareLimit("app", LimitKind.ERRORS, 0.3, settings).look(minutes, None, _NOW)[0]


def rows(applications: int) -> Iterator[list[str]]:
    """Give the row of each length: pages a year before and after, and minutes from the begin to the page."""
    for length in _LENGTHS:
        cells = [f"{length} minutes"]
        for settings in (LimitSettings(page_after=timedelta(0)), LimitSettings()):
            pages, delays = 0, []
            for number in range(applications):
                found = changes_of(np.random.default_rng([length, number]), length, settings)
                paging = [one for one in found if one.change == AlertEvent.FIRING and one.tier == Tier.PAGE]
                pages += len(paging)
                delays += [(one.at - one.since) / timedelta(minutes=1) for one in paging[:1] if one.since is not None]
            cells += [f"{_A_YEAR * pages / applications:.0f}", f"{np.median(delays):.0f}" if delays else "-"]
        yield cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--applications", type=int, default=50)
    given = parser.parse_args()
    head = ["outage", "pages a year before", "minutes to the page", "pages a year after", "minutes to the page"]
    print_table("One outage a week", head, list(rows(given.applications)))


if __name__ == "__main__":
    main()
