"""Requests of evaluations and the like: apart from what people did, on the pages, in limits and in Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from prometheus_client import generate_latest

from lake.spec.schemas import ALERTS, PARSED_LOGS
from lake.tables.lake import Lake
from monitor.exporter.registry import registry_of
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.exposition import without_installation

MINUTE = timedelta(minutes=1)
MODEL_CALL = {"is_entry": False, "deployment_price": 0.25, "price": 0.25}
APP_CALL = {"is_entry": True, "deployment_price": None, "price": 0.43}


def metrics_of(monitor: Monitor) -> str:
    return without_installation(generate_latest(registry_of(lambda: monitor.snapshot, "production")).decode())


def page_of(monitor: Monitor, get: Callable[..., httpx.Response], name: str) -> str:
    return " ".join(get(create_app(monitor), f"/deployment?name={name}").text.split())


@pytest.fixture
def evaluated(rows: Any, clock: Any) -> None:
    """An hour of an application: 60 requests of people, all well, and 240 of an evaluation, all failed."""
    times = [clock() - ago * MINUTE for ago in range(60, 0, -1)]
    rows.logs("rag", *({"requested_at": at} for at in times))
    failed = {"status": 503, "origin": "evaluation", "answer": None, "price": 0.01, "deployment_price": None}
    rows.logs("rag", *(failed | {"requested_at": at} for at in times for _ in range(4)))


@pytest.mark.usefixtures("evaluated")
def test_an_evaluation_is_counted_apart_and_alarms_nobody(
    monitor: Monitor, lake: Lake, get: Callable[..., httpx.Response]
) -> None:
    """The page's figures and limits are of people's requests; how many others there were, and their price, it says."""
    monitor.refresh()
    assert lake.table(ALERTS, "rag").read().num_rows == 0
    page = page_of(monitor, get, "rag")
    assert "<dt>Requests</dt><dd>60</dd>" in page
    assert "<dt>Failed requests</dt><dd>0</dd>" in page
    assert "240 requests of origin <bdi>evaluation</bdi>" in page
    assert 'of answers with all calls <span class="money">2.40</span>' in page
    assert "<dt>Answers</dt><dd>60</dd>" in page


@pytest.mark.usefixtures("evaluated")
def test_prometheus_has_a_label_for_origins(monitor: Monitor) -> None:
    """A sum over them is all that DIAL served and all that was paid; limits are of production alone."""
    monitor.refresh()
    metrics = metrics_of(monitor)
    assert 'dialwatch_responses_total{deployment="rag",origin="production",status="200"} 60.0' in metrics
    assert 'dialwatch_responses_total{deployment="rag",origin="evaluation",status="503"} 240.0' in metrics
    assert 'dialwatch_entry_cost_total{deployment="rag",origin="evaluation"} 2.4' in metrics
    assert 'dialwatch_floor_share{deployment="rag",floor="errors"} 0.0' in metrics


def test_the_cost_of_an_application_is_that_of_its_answers_with_all_their_calls(
    monitor: Monitor, rows: Any, get: Callable[..., httpx.Response]
) -> None:
    """DIAL gives an application no price of its own: what its answers took is shown beside, and named so."""
    rows.logs("rag", APP_CALL, APP_CALL | {"is_entry": False, "price": 5.0})
    rows.logs("gpt-4o", MODEL_CALL, {"is_entry": True, "deployment_price": 0.5, "price": None})
    monitor.refresh()
    page, model = page_of(monitor, get, "rag"), page_of(monitor, get, "gpt-4o")
    assert '<dt>Own cost</dt><dd><span class="money">0.00</span></dd>' in page
    assert '<dt>Cost of answers with all calls behind them</dt><dd><span class="money">0.43</span></dd>' in page
    assert '<dt>Own cost</dt><dd><span class="money">0.75</span></dd>' in model
    assert '<dt>Cost of answers with all calls behind them</dt><dd><span class="money">0.50</span></dd>' in model
    metrics = metrics_of(monitor)
    assert 'dialwatch_cost_total{deployment="rag",origin="production"} 0.0' in metrics
    assert 'dialwatch_entry_cost_total{deployment="rag",origin="production"} 0.43' in metrics


def test_rows_of_an_earlier_version_are_people_s(monitor: Monitor, lake: Lake, clock: Any) -> None:
    """A table without the column counts as before."""
    uri = lake.table(PARSED_LOGS, "old").uri
    Path(uri).mkdir(parents=True)
    schema = pa.schema([field for field in PARSED_LOGS.schema if field.name not in ("origin", "repairs")])
    DeltaTable.create(uri, schema=schema, partition_by=["date"], name="old")
    row = {"requested_at": clock() - MINUTE, "date": clock().date(), "status": 200, "is_entry": True, "price": 0.5}
    write_deltalake(uri, PARSED_LOGS.rows([row] * 60).select(schema.names), mode="append")
    monitor.refresh()
    assert monitor.snapshot is not None
    state = monitor.snapshot.deployments["old"]
    assert (state.requests.total, state.requests.entry_cost, dict(state.other_requests)) == (60, 30.0, {})
    assert state.limits["errors"].share == 0.0
    assert monitor.health().problems == ()
