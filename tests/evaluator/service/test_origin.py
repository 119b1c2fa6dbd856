"""Requests of evaluations, replays, judges and tests: they are not scored, and make no case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from evaluator.answers import Period
from evaluator.service.backfill import Backfill
from evaluator.service.backfill_estimate import estimate
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.schemas import PARSED_LOGS
from lake.spec.vocabulary import Origin
from lake.tables.lake import Lake
from tests.evaluator.conftest import Traffic

NOW = datetime(2026, 11, 20, 18, tzinfo=UTC)
WEEK = Period(NOW - timedelta(days=7), NOW)
OTHERS = [origin.value for origin in Origin if origin != Origin.PRODUCTION]
METRIC = "context_present"


def evaluate(lake: Lake) -> None:
    assert Evaluator(lake, EvaluatorSettings(metrics=(METRIC,)), clock=lambda: NOW).run_once().failures == ()


@pytest.mark.parametrize("origin", OTHERS)
def test_what_people_did_not_ask_has_no_score_and_is_no_case(origin: str, lake: Lake, traffic: Any) -> None:
    """Also where somebody likes it, before the answer comes or after; people's answers beside it have both."""
    traffic.rate(traffic.signal("like", "early"))
    traffic.log(traffic.answer("asked", origin="production"), traffic.answer("early", minute=1, origin=origin))
    evaluate(lake)
    traffic.log(traffic.answer("late", minute=2, origin=origin), traffic.answer("null", minute=3))
    traffic.rate(traffic.signal("like", "late"), traffic.signal("like", "asked"))
    evaluate(lake)
    evaluate(lake)
    assert set(traffic.values(METRIC)) == {"asked", "null"}
    assert [case["source_response_id"] for case in traffic.cases()] == ["chatcmpl-asked"]


def test_an_evaluation_whose_contexts_come_late_is_not_scored(lake: Lake, traffic: Any) -> None:
    """Waiting for them makes no answer of people out of it."""
    waiting = {"trace_id": "a" * 32, "span_id": "b" * 16, "ingested_at": NOW, "chunks": [], "contexts_origin": "none"}
    traffic.log(traffic.answer("late", origin="evaluation", **waiting), traffic.answer("asked"))
    for minutes in (0, 10):
        settings = EvaluatorSettings(metrics=(METRIC,))
        Evaluator(lake, settings, clock=lambda at=NOW + timedelta(minutes=minutes): at).run_once()
    assert set(traffic.values(METRIC)) == {"asked"}


def test_a_backfill_and_its_estimate_leave_it_out(lake: Lake, traffic: Any) -> None:
    """They count people's answers alone."""
    traffic.log(traffic.answer("asked"), *(traffic.answer(f"e{n}", minute=n, origin="evaluation") for n in range(5)))
    backfill = Backfill(lake, EvaluatorSettings(metrics=(METRIC,)), WEEK, clock=lambda: NOW)
    (planned,) = estimate(backfill)
    assert (planned.answers, [metric.answers for metric in planned.metrics]) == (1, [1])
    (done,) = backfill.run().deployments
    assert done.answers == 1
    assert set(traffic.values(METRIC)) == {"asked"}


def test_rows_of_an_earlier_version_are_scored(lake: Lake) -> None:
    """A table without the column holds what people asked."""
    uri = lake.table(PARSED_LOGS, "old").uri
    Path(uri).mkdir(parents=True)
    schema = pa.schema([field for field in PARSED_LOGS.schema if field.name not in ("origin", "repairs")])
    DeltaTable.create(uri, schema=schema, partition_by=["date"], name="old")
    old = Traffic(lake, "old")
    write_deltalake(uri, PARSED_LOGS.rows([old.answer("before")]).select(schema.names), mode="append")
    old.rate(old.signal("like", "before"))
    evaluate(lake)
    assert old.values(METRIC) == {"before": 1.0}
    assert len(old.cases()) == 1
