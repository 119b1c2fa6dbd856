"""Sums over all deployments: shown once every table was read, and never smaller than before."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import ALERTS, ANCHORS, SCORES
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.service.monitor import Monitor
from tests.monitor.exporter.test_exporter import labelled, samples

SUMMED_TABLES = {
    "dialwatch_all_scores_count": {SCORES.name},
    "dialwatch_all_scores_sum": {SCORES.name},
    "dialwatch_evaluations_total": {SCORES.name},
    "dialwatch_evaluation_skips_total": {SCORES.name},
    "dialwatch_judge_cost_total": {SCORES.name, ANCHORS.name},
    "dialwatch_webhook_deliveries_total": {ALERTS.name},
    "dialwatch_lines_total": {BATCHES.name},
    "dialwatch_rejected_lines_total": {REJECTED.name},
}


def summed(monitor: Monitor) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Samples of the counters without a deployment; failed deliveries are not counted from the lake."""
    return {
        (name, labels): value
        for (name, labels), value in samples(monitor).items()
        if name in SUMMED_TABLES and ("outcome", "failed") not in labels
    }


@pytest.mark.usefixtures("three_deployments")
@pytest.mark.parametrize("spec", [SCORES, ANCHORS, ALERTS, BATCHES, REJECTED], ids=lambda spec: spec.name)
def test_a_sum_is_not_shown_before_every_table_was_read(
    make_monitor: Callable[[], Monitor], spec: TableSpec, monkeypatch: pytest.MonkeyPatch
):
    """After a restart a store that fails for one table gives no sample, rather than one that seems to begin again."""
    whole = make_monitor()
    whole.refresh()
    restarted = make_monitor()
    with failing_for(spec, monkeypatch):
        restarted.refresh()
    names = {name for name, _ in summed(restarted)}
    assert names == {name for name, of in SUMMED_TABLES.items() if spec.name not in of}
    restarted.refresh()
    assert summed(restarted) == summed(whole)


@contextmanager
def failing_for(spec: TableSpec, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One table of the kind cannot be read, or the first of them."""
    failed: list[str] = []

    def failing(read: Callable[..., Any]) -> Callable[..., Any]:
        def fail(table: Table, *given: Any, **more: Any) -> Any:
            if table.spec is spec and failed in ([], [table.uri]):
                failed[:] = [table.uri]
                raise OSError("503 SlowDown")
            return read(table, *given, **more)

        return fail

    with monkeypatch.context() as broken:
        broken.setattr(Table, "read_since", failing(Table.read_since))
        broken.setattr(Table, "snapshot", failing(Table.snapshot))
        broken.setattr(Table, "version", failing(Table.version))
        yield


@pytest.mark.usefixtures("three_deployments")
def test_a_counter_never_goes_down(monitor: Monitor, rows: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """When a deployment is erased the sums keep what it counted and go on from there, also if a table fails."""
    monitor.refresh()
    before = summed(monitor)
    shutil.rmtree(f"{lake.root}/rag-search")
    with failing_for(SCORES, monkeypatch), failing_for(BATCHES, monkeypatch):
        monitor.refresh()
    assert summed(monitor) == before
    monitor.refresh()
    assert summed(monitor) == before
    rows.scores("gpt-4o", {"value": 1.0, "cost": 0.5}, {"reason": "no_contexts"})
    rows.batch(stored=2)
    monitor.refresh()
    after = summed(monitor)
    assert {name: number - before.get(name, 0) for name, number in after.items() if number != before.get(name)} == {
        ("dialwatch_evaluations_total", ()): 2,
        ("dialwatch_evaluation_skips_total", labelled(reason="no_contexts")): 1,
        ("dialwatch_judge_cost_total", labelled(judge="lexical")): 0.5,
        ("dialwatch_lines_total", labelled(outcome="stored")): 2,
        ("dialwatch_all_scores_count", labelled(metric="faithfulness_kprecision")): 1,
        ("dialwatch_all_scores_sum", labelled(metric="faithfulness_kprecision")): 1,
    }
