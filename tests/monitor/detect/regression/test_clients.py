"""Clients of an application: another share of one whose questions are harder is no regression."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from lake.spec.schemas import SCORES
from monitor.detect.regression import RegressionSettings, Streams

START = datetime(2026, 11, 2, tzinfo=UTC)
DAYS = 14


def found(name: str | None, worse: float = 0.0) -> list[tuple[str, Any]]:
    """Client b has 20 % of the answers, and 80 % from the tenth day on; what it asks is 0.3 harder."""
    random, rows = np.random.default_rng(5), []
    for number in range(DAYS * 24 * 10):
        at = START + timedelta(minutes=6 * number)
        late = at >= START + timedelta(days=10)
        client = "b" if random.uniform() < (0.8 if late else 0.2) else "a"
        mean = (0.55 if client == "b" else 0.85) - (worse if late else 0.0)
        segment = json.dumps({"language": "en", name or "unused": client})
        known = {"deployment": "rag", "metric": "m", "metric_version": "1", "requested_at": at, "segment": segment}
        rows.append(known | {"event_id": str(number), "value": float(random.uniform() < mean)})
    streams = Streams(RegressionSettings())
    end = START + timedelta(days=DAYS)
    streams.add(SCORES.rows(rows), end)
    return [(one.change, one.reading) for one in streams.advance(end + timedelta(hours=3))]


@pytest.mark.parametrize("name", ["project", "client", None])
def test_another_share_of_a_harder_client_is_no_regression_where_scores_tell_the_client(name: str | None) -> None:
    """By the project of its key, or by its header."""
    assert bool(found(name)) is (name is None)


@pytest.mark.parametrize("name", ["project", "client"])
def test_a_fall_of_all_clients_is_one_with_their_names(name: str) -> None:
    (change, reading), *_ = found(name, worse=0.2)
    assert change == "firing"
    assert {f"{name} a", f"{name} b"} <= {one.name for one in reading.segments}
