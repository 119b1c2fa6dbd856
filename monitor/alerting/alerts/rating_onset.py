"""Onset of a rise of dislikes, by when the answers were given: people rate them hours or days later."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from lake.queries.ratings import IS_RATING, RATING_COLUMNS
from lake.queries.signals_by_answer import SIGNAL_JOIN_COLUMNS, read_answer_times
from lake.spec.alert_vocabulary import OnsetKind
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS, deployment_of
from lake.spec.vocabulary import Signal
from lake.tables.day_reading import DayReader, within
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.detect.regression import BatchHistory, Reading
from monitor.detect.regression.arrays import microseconds

MOST_RATINGS = 20_000
"""So many are read, those of the newest days first."""
_BEFORE = timedelta(days=14)
"""Ratings of so long before the onset say what was usual."""
_FEWEST = 10
"""Conversations with a rating on each side of an onset: of fewer answers it is not known."""


def with_onset_of(reading: Reading, alert: AlertChange) -> Reading:
    """Return the reading with the onset that its alert has."""
    details = alert.details
    return replace(
        reading,
        since=alert.since,
        since_earliest=details.since_earliest,
        since_latest=details.since_latest,
        onset=details.onset,
        onset_hours=details.onset_hours,
    )


def with_onset_of_answers(lake: Lake, name: str, reading: Reading, until: datetime) -> Reading:
    """Return the reading of a deployment's dislikes with the time from which on the answers were disliked more.

    Ratings up to `until` are joined with their answers. The onset that they have themselves stays where the answers'
    times show none before it, where too few answers are found, and where hours of the day or a release say it.
    """
    since, told = reading.since, reading.onset in (OnsetKind.RECURRING, OnsetKind.RELEASE)
    if since is None or told:
        return reading
    ratings = _read_ratings(lake, name, (reading.since_earliest or since) - _BEFORE, until)
    asked_at = read_answer_times(lake.table(PARSED_LOGS, deployment_of(name)), ratings.select(SIGNAL_JOIN_COLUMNS))
    rated = [(at, row) for at, row in zip(asked_at, ratings.to_pylist(), strict=True) if at is not None]
    return _with_rise(reading, since, _by_hour(rated))


def _read_ratings(lake: Lake, name: str, since: datetime, until: datetime) -> pa.Table:
    reader = DayReader(
        lake.table(USER_SIGNALS, deployment_of(name)), since.astimezone(UTC).date(), until.astimezone(UTC).date()
    )
    where = IS_RATING & within("signaled_at", since, until)
    found = [reader.read(RATING_COLUMNS, where, []).slice(0, 0)]
    for day in reader.days():
        found.append(reader.read(RATING_COLUMNS, where, [day], most=MOST_RATINGS))
        if sum(one.num_rows for one in found) >= MOST_RATINGS:
            break
    return pa.concat_tables(found)


def _by_hour(rated: list[tuple[datetime, dict[str, Any]]]) -> dict[datetime, list[float]]:
    """Return the share of dislikes of each conversation in each hour of its answers; of a person the newest counts."""
    newest: dict[tuple[Any, ...], tuple[datetime, dict[str, Any]]] = {}
    for at, row in sorted(rated, key=lambda one: one[1]["signaled_at"]):
        newest[row["response_id"], at, row["chat_id"], row["user_id"]] = at, row
    shares: dict[tuple[datetime, Any], list[float]] = defaultdict(list)
    for place, (at, row) in newest.items():
        hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        shares[hour, row["chat_id"] or place].append(float(row["signal"] == Signal.DISLIKE))
    hours: dict[datetime, list[float]] = defaultdict(list)
    for (hour, _), values in sorted(shares.items(), key=lambda one: one[0][0]):
        hours[hour].append(sum(values) / len(values))
    return hours


def _with_rise(reading: Reading, since: datetime, hours: dict[datetime, list[float]]) -> Reading:
    if len(hours) < 2:
        return reading
    history = BatchHistory(may_recur=False)
    values = np.concatenate([np.array(one) for one in hours.values()])
    numbers = np.repeat(np.arange(len(hours)), [len(one) for one in hours.values()])
    starts = np.array([microseconds(at) for at in hours], dtype=np.int64)
    history.add(values, np.ones(len(values)), numbers, starts)
    rise = history.rise()
    if rise is None or rise.at > since:
        return reading
    before = sum(len(one) for at, one in hours.items() if at < rise.at)
    if min(before, len(values) - before) < _FEWEST:
        return reading
    latest = min(rise.latest, reading.since_latest or since)
    return replace(
        reading, since=rise.at, since_earliest=rise.earliest, since_latest=max(rise.at, latest), onset=rise.kind
    )
