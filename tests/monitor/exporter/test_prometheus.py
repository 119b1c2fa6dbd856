from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from monitor.pages.app import create_app
from monitor.service.monitor import Monitor

pytestmark = pytest.mark.integration


def as_classic_text(app: Any) -> Any:
    """The same application for one who does not accept OpenMetrics; this Prometheus always asks for it."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        headers = [(name, value) for name, value in scope.get("headers", []) if name != b"accept"]
        await app({**scope, "headers": headers}, receive, send)

    return serve


@pytest.mark.usefixtures("three_deployments")
def test_a_real_prometheus_scrapes_without_a_complaint(
    monitor: Monitor,
    serve: Callable[[Any], str],
    prometheus: Callable[[dict[str, str]], Any],
    until: Callable[..., Any],
    strange_name: str,
):
    """Both formats are up; names, numbers and the exemplar of the worst answer arrive as they are."""
    monitor.refresh()
    app = create_app(monitor)
    server = prometheus(
        {"openmetrics": serve(app) + "/metrics", "text": serve(as_classic_text(app)) + "/metrics"},
    )
    began = time.time() - 60

    def all_up() -> bool:
        targets = server.ask("targets")["activeTargets"]
        return len(targets) == 2 and all(target["health"] == "up" for target in targets)

    until(all_up)
    for job in ("openmetrics", "text"):
        active = until(lambda job=job: server.query(f'dialwatch_regression_active{{job="{job}"}} == 1'))
        assert [(s["metric"]["deployment"], s["metric"]["metric"]) for s in active] == [
            ("rag-search", "faithfulness_kprecision")
        ]
        totals = until(lambda job=job: server.query(f'dialwatch_responses_total{{job="{job}"}}'))
        names = {series["metric"]["deployment"] for series in totals}
        assert names == {"rag-search", strange_name, "gpt-4o", "_unassigned"}
    exemplars = until(
        lambda: server.ask(f"query_exemplars?query=dialwatch_all_scores_bucket&start={began}&end={time.time() + 60}")
    )
    labels = {tuple(exemplar["labels"]) for series in exemplars for exemplar in series["exemplars"]}
    assert labels == {("response_id",)}
    assert server.complaints == []
