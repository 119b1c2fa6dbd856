"""Rows of one stream of scores, and streams that take them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lake.spec.schemas import SCORES
from monitor.detect.regression import RegressionSettings, StreamKey, Streams, Transition

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOW = START + 100 * HOUR
SETTINGS = RegressionSettings(false_alarm_every=50 * HOUR, reference_observations=40, reference_time=0 * HOUR)
KEY = StreamKey("rag", "faithfulness_kprecision", "1")


def feed(streams: Streams, scores: pa.Table, now: datetime) -> list[Transition]:
    """Add rows of `scores` and close the batches that are over, as each refresh of a monitor does."""
    streams.add(scores, now)
    return streams.advance(now)


def row(at: datetime, value: float | None, name: str = "", **changes: Any) -> dict[str, Any]:
    row = {
        "deployment": KEY.deployment,
        "metric": KEY.metric,
        "metric_version": KEY.metric_version,
        "event_id": f"event {at} {name}",
        "response_id": f"response {at} {name}",
        "requested_at": at,
        "value": value,
        "sampling_probability": 1.0,
    }
    return row | changes


def hourly_scores(hours: int, worse_from: int, better_from: int = 1000, seed: int = 1) -> list[dict[str, Any]]:
    """Six scores an hour around 0.8, and around 0.4 while worse."""
    generator = np.random.default_rng(seed)
    rows = []
    for hour in range(hours):
        mean = 0.4 if worse_from <= hour < better_from else 0.8
        values = generator.beta(4 * mean, 4 * (1 - mean), 6)
        rows += [row(START + hour * HOUR + i * HOUR / 6, float(value)) for i, value in enumerate(values)]
    return rows


def feed_all(rows: list[dict[str, Any]], cuts: list[int] | None = None) -> tuple[Streams, list[Transition]]:
    streams, transitions = Streams(SETTINGS), []
    edges = [0, *sorted(cuts or []), len(rows)]
    for begin, end in pairwise(edges):
        transitions += feed(streams, SCORES.rows(rows[begin:end]), NOW)
    return streams, transitions
