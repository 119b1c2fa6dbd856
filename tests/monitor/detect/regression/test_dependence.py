"""Streams whose conversations of an hour, or of a day, are alike: they page no more often than is promised."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from benchmarks.regression.law_table import LAWS
from benchmarks.regression.laws import alarms_of
from lake.spec.alert_vocabulary import Tier
from monitor.detect.regression import RegressionSettings

DAYS, STREAMS = 180, 3
FAILING = [law for law in LAWS if "the others never" in law.name]


def pages(law: int) -> int:
    found = (
        alarms_of(FAILING[law].traffic(np.random.default_rng([law, one]), DAYS), RegressionSettings())
        for one in range(STREAMS)
    )
    return sum(one.reading.tier == Tier.PAGE for stream in found for one in stream)


@pytest.mark.slow
@pytest.mark.parametrize("law", range(len(FAILING)), ids=[law.name for law in FAILING])
def test_hours_in_which_much_fails_are_no_fall_where_they_are_usual(law: int) -> None:
    """A page a year and stream at most, where conversations that are taken for independent page each month."""
    assert pages(law) <= 2 * STREAMS * timedelta(days=DAYS) / timedelta(days=365)
