"""Applications that keep answers to questions that are asked often: what is asked most changes, quality does not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from lake.spec.schemas import SCORES
from monitor.detect.regression import RegressionSettings, Streams

START = datetime(2026, 11, 2, tzinfo=UTC)
DAYS = 28


def found(is_told: bool, worse: float = 0.0) -> list[Any]:
    """Half of the answers are kept ones to ten questions, two of them wrong; which is asked most changes after 14 days.

    From then on other questions are answered worse. Scores tell the question, or not.
    """
    random, rows = np.random.default_rng(9), []
    for number in range(DAYS * 24 * 16):
        at = START + timedelta(hours=number / 16)
        late = at >= START + timedelta(days=14)
        known = {"deployment": "rag", "metric": "m", "metric_version": "1", "requested_at": at, "event_id": str(number)}
        if random.random() < 0.5:
            place = min(int(random.exponential(1.5)), 9)
            question = 9 - place if late else place
            known |= {"question_key": f"q{question}" if is_told else None, "value": float(question < 8)}
        else:
            known["value"] = float(random.random() < 0.8 - (worse if late else 0.0))
        rows.append(known)
    streams = Streams(RegressionSettings())
    end = START + timedelta(days=DAYS)
    streams.add(SCORES.rows(rows), end)
    return streams.advance(end + timedelta(hours=3))


def test_another_question_that_is_asked_most_is_no_regression() -> None:
    """Where its answer is kept it is one observation, not hundreds; without the question nothing tells that."""
    assert found(True) == []
    assert found(False)


@pytest.mark.parametrize("is_told", [True, False])
def test_a_fall_of_what_is_not_kept_is_found(is_told: bool) -> None:
    first = found(is_told, worse=0.3)[0]
    assert first.change == "firing"
    assert timedelta(days=14) < first.at - START < timedelta(days=16)
