"""Reading of new answers where the history of the log is gone."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.compaction import compact
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW)


def lose_history(lake: Lake, subject: Subject) -> None:
    compact(lake.table(PARSED_LOGS, "rag"))
    for path in Path(lake.table(PARSED_LOGS, "rag").uri).rglob("*"):
        os.utime(path, (time.time() - 3600,) * 2)
    erase(lake, subject, datetime.now(UTC))


@pytest.mark.parametrize("minutes", [1, 30 * 24 * 60], ids=["a minute", "a month"])
def test_each_answer_is_scored_once(evaluator: Evaluator, traffic: Any, lake: Lake, minutes: int) -> None:
    """An evaluator that comes after the history of its last look is gone scores what came since, and that alone."""
    traffic.log(traffic.answer("a", ingested_at=NOW), traffic.answer("b", ingested_at=NOW - timedelta(hours=3)))
    evaluator.run_once()
    traffic.log(traffic.answer("c", ingested_at=NOW + timedelta(minutes=minutes)))
    traffic.log(traffic.answer("d", ingested_at=NOW - timedelta(minutes=5)))
    lose_history(lake, Subject(user="nobody"))
    assert evaluator.run_once().scored == 4
    ids = lake.table(SCORES, "rag").read(["score_id"])["score_id"].to_pylist()
    assert len(ids) == len(set(ids)) == 8
    assert evaluator.run_once().scored == 0


def test_rows_that_an_erasure_rewrote_are_not_scored_again(evaluator: Evaluator, traffic: Any, lake: Lake) -> None:
    """After an erasure the others' answers keep their scores and get no second ones."""
    traffic.log(
        traffic.answer("a", ingested_at=NOW, user_id="gone"), traffic.answer("b", ingested_at=NOW, user_id="stays")
    )
    evaluator.run_once()
    erase(lake, Subject(user="gone"), datetime.now(UTC))
    evaluator.run_once()
    ids = lake.table(SCORES, "rag").read(["event_id"])["event_id"].to_pylist()
    assert ids == ["event-b"] * 2
