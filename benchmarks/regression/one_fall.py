"""Streams with one fall, of scores on five levels, at the traffic of a small application."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from benchmarks.regression.streams import BAD, LAWS, LEVELS, Floats, worse
from monitor.detect.regression.arrays import begins_of, microseconds
from monitor.detect.regression.observations import Observations

START = datetime(2026, 1, 1, tzinfo=UTC)
_START = microseconds(START)
_HOUR = timedelta(hours=1) // timedelta(microseconds=1)


def one_fall(
    generator: np.random.Generator, hours: int, fallen: range, drop: float, conversations: float
) -> Observations:
    """Give conversations, a batch for each hour that has some; the mean is lower by `drop` in the hours `fallen`.

    So many `conversations` come in an hour by day and half as many from 0:00 to 8:00.
    """
    law = LAWS["five levels"]
    rates = np.where(np.arange(hours) % 24 < 8, conversations / 2, conversations)
    of_hour = np.repeat(np.arange(hours), generator.poisson(rates))
    is_worse = (of_hour >= fallen.start) & (of_hour < fallen.stop)
    usual, bad = (generator.choice(LEVELS, len(of_hour), p=one) for one in (law, worse(law, drop)))
    none = np.zeros(len(of_hour), dtype=np.intp)
    values = np.where(is_worse, bad, usual)
    return Observations(_START + of_hour * _HOUR, values, np.ones(len(of_hour)), none, begins_of(of_hour))


def hour_of(found: Observations, batch: int) -> int:
    """Give the hour of a batch, from the begin of the stream on."""
    return int((found.at[found.begins[batch]] - _START) // _HOUR)


def falling(generator: np.random.Generator, drops: Floats, conversations: float) -> Observations:
    """Give conversations as above; the mean of each hour is lower by its entry of `drops`."""
    hours, law = np.arange(len(drops)), LAWS["five levels"]
    of_hour = np.repeat(hours, generator.poisson(np.where(hours % 24 < 8, conversations / 2, conversations)))
    is_bad = generator.uniform(size=len(of_hour)) < drops[of_hour] / ((law - BAD) @ LEVELS)
    usual, fallen = (generator.choice(LEVELS, len(of_hour), p=one) for one in (law, BAD))
    none = np.zeros(len(of_hour), dtype=np.intp)
    values = np.where(is_bad, fallen, usual)
    return Observations(_START + of_hour * _HOUR, values, np.ones(len(of_hour)), none, begins_of(of_hour))
