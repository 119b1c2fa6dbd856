"""Benchmark of the onset that an alert of dislikes has: by when the answers were given, and by when they were rated.

    python -m benchmarks.regression.rating_onset [--runs 8]

24 days of answers of one deployment, half of them rated, each some hours later, by an exponential law of the given
mean. From some hour of a day six days ago on the answers are disliked more often. A monitor reads the lake. Of the
first alert of dislikes: how far `since` is from that hour (the median), and how often the interval holds it. `by
ratings` goes by when the answers were rated alone. Prints markdown.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from unittest.mock import patch

from benchmarks.regression.tables import print_table
from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.schemas import ALERTS, PARSED_LOGS, USER_SIGNALS
from lake.spec.vocabulary import Signal
from lake.tables.lake import Lake
from monitor.alerting.alerts import explainer
from monitor.detect.regression import RegressionSettings
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_HOUR = timedelta(hours=1)
_DAYS, _DAYS_OF_FALL = 24, 6
_RATED = 0.5


@dataclass(frozen=True)
class Case:
    """Hours from an answer to its rating, answers an hour, and shares of dislikes before and after the fall."""

    hours_to_rating: float
    answers: int
    before: float
    after: float


CASES = (Case(36, 4, 0.1, 0.5), Case(12, 4, 0.1, 0.4), Case(36, 10, 0.2, 0.5), Case(72, 4, 0.05, 0.5))


@dataclass(frozen=True)
class Told:
    """What the first alert says: hours from the true begin, and whether the interval holds that."""

    off: float
    is_inside: bool


def write_lake(lake: Lake, case: Case, chance: Random) -> datetime:
    """Write answers and their ratings, and return when the fall begins."""
    begin = (_NOW - timedelta(days=_DAYS)).replace(minute=0)
    fall = begin + timedelta(days=_DAYS - _DAYS_OF_FALL, hours=chance.randrange(24))
    answers: list[dict[str, Any]] = []
    ratings: list[dict[str, Any]] = []
    for number in range(case.answers * 24 * _DAYS):
        at = begin + number * _HOUR / case.answers
        rated_at = at + timedelta(hours=chance.expovariate(1 / case.hours_to_rating))
        same = {"response_id": f"r{number}", "chat_id": f"c{number}", "user_id": f"u{number}", "deployment": "rag"}
        of_answer = {"event_id": f"e{number}", "requested_at": at, "date": at.date(), "response_ids": [f"r{number}"]}
        kind = {"kind": "chat_completion", "status": 200, "is_entry": True, "question": "Why?", "answer": "So."}
        answers.append(same | of_answer | kind)
        if rated_at < _NOW and chance.random() < _RATED:
            is_disliked = chance.random() < (case.after if at >= fall else case.before)
            of_rating = {"signal_id": f"s{number}", "signaled_at": rated_at, "date": rated_at.date()}
            signal = {"signal": Signal.DISLIKE if is_disliked else Signal.LIKE, "origin": "explicit"}
            ratings.append(same | of_rating | signal)
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(answers))
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(ratings))
    return fall


def told(case: Case, seed: int, *, by_ratings: bool) -> Told | None:
    """Say what the first alert of dislikes tells; None where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(folder)
        fall = write_lake(lake, case, Random(seed))
        alone = patch.object(explainer, "with_onset_of_answers", lambda _lake, _name, reading, _until: reading)
        with alone if by_ratings else nullcontext():
            Monitor(lake, MonitorSettings(regression=RegressionSettings()), lambda: _NOW).refresh()
        rows = lake.table(ALERTS, "rag").read(["metric", "change", "since", "details", "changed_at"])
    firing = [
        one
        for one in rows.sort_by("changed_at").to_pylist()
        if one["metric"] == "dislikes" and one["change"] == AlertEvent.FIRING
    ]
    if not firing:
        return None
    details = json.loads(firing[0]["details"])
    earliest, latest = (datetime.fromisoformat(details[name]) for name in ("since_earliest", "since_latest"))
    return Told((firing[0]["since"] - fall) / _HOUR, earliest <= fall <= latest)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    runs = parser.parse_args().runs
    rows = []
    for case in CASES:
        row = [f"{case.hours_to_rating:g} h", str(case.answers), f"{case.before:g} to {case.after:g}"]
        for by_ratings in (True, False):
            found = [one for seed in range(runs) if (one := told(case, seed, by_ratings=by_ratings))]
            off = [abs(one.off) for one in found]
            inside = sum(one.is_inside for one in found)
            row += [f"{statistics.median(off):.1f} h" if off else "-", f"{inside} of {len(found)}"]
        rows.append(row)
    head = ("rated after", "an hour", "dislikes", "by ratings: off", "holds", "by answers: off", "holds")
    print_table("Onset of dislikes", head, rows)


if __name__ == "__main__":
    main()
