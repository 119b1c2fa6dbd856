"""Pages about metrics that no detector watches, and about those whose better direction is down."""

import re
from collections.abc import Callable
from typing import Any

from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.exposition import without_installation


def test_a_metric_without_a_better_end_is_shown_as_not_watched(
    monitor: Monitor, rows: Any, get: Callable[..., Any]
) -> None:
    """Times have no upper bound: the page says so; its scores are shown, and it has no reading."""
    ends = {"direction": "down", "low": 0.0, "high": float("inf")}
    rows.scores("rag", *({"metric": "seconds", "value": 2.0, "response_id": str(n)} | ends for n in range(5)))
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.failures == {}
    assert monitor.snapshot.deployments["rag"].readings == {}
    assert "not watched" in get(create_app(monitor), "/").text


def test_a_rise_of_what_should_be_low_is_shown_as_a_rise(monitor: Monitor, rows: Any, get: Callable[..., Any]) -> None:
    """A metric whose better direction is down rises from 0.2 to 0.7: the page says rose, and the metrics say so too."""
    down = {"direction": "down", "low": 0.0, "high": 1.0}
    scores = rows.scores
    rows.scores = lambda deployment, *given: scores(deployment, *(row | down for row in given))
    rows.hours("rag", 48, lambda left: 0.2 if left > 10 else 0.7, "repeats")
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"exporter": {"detail": "all"}}))
    page, metrics = get(app, "/").text, without_installation(get(app, "/metrics").text)
    assert "rose from 0.2" in " ".join(page.split())
    assert 'dialwatch_regression_active{deployment="rag",metric="repeats"} 1.0' in metrics
    assert 'dialwatch_regression_page{deployment="rag",metric="repeats"} 1.0' in metrics
    assert 'dialwatch_improvement_active{deployment="rag",metric="repeats"} 0.0' in metrics


def test_what_would_be_seen_and_how_soon_is_shown(monitor: Monitor, rows: Any, get: Callable[..., Any]) -> None:
    """A steady stream says which drop it would find, and how long a drop of 0.1 takes; a better one says improved."""
    rows.hours("steady", 60, lambda left: 0.7, "m")
    rows.hours("better", 60, lambda left: 0.5 if left > 20 else 0.9, "m")
    monitor.refresh()
    app = create_app(monitor)
    page = " ".join(get(app, "/deployment?name=steady").text.split())
    assert re.search(r"a drop of 0\.10 would be seen in about [\d.]+ \w+, one of 0\.0\d within a week", page)
    assert "improved" in get(app, "/deployment?name=better").text
