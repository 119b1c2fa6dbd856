from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import numpy as np

from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.notify.texts.alert import description, summary
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_new_class_of_traffic_that_is_worse_is_told_on_pages_and_in_messages(
    rows: Any, lake: Lake, monitor: Monitor, get: Callable[..., httpx.Response]
) -> None:
    """Questions in a new language, a third of all, come two days ago: a warning that names them, no regression."""
    random, scores = np.random.default_rng(1), []
    for left in range(20 * 24, 0, -1):
        for conversation in range(20):
            is_new = left <= 48 and random.uniform() < 1 / 3
            at = NOW - timedelta(hours=left) + timedelta(minutes=3 * conversation)
            value = float(random.uniform() < (0.4 if is_new else 0.9))
            segment = f'{{"language": "{"<b>uk" if is_new else random.choice(["en", "de"])}"}}'
            scores.append({"requested_at": at, "date": at.date(), "value": value, "segment": segment})
    rows.scores("rag", *scores)
    rows.logs("rag", *({"requested_at": one["requested_at"], "date": one["date"]} for one in scores[-200:]))
    monitor.refresh()
    (alert,) = [one for one in AlertStore(lake).changes() if one.key.deployment == "rag"]
    new = alert.details.new_class
    assert new is not None
    assert (new.name, alert.pages) == ("language <b>uk", False)
    assert summary(alert).startswith(
        "rag: “answer words found in the documents” got worse in new traffic: new: language <b>uk, "
    )
    assert "Cause: the traffic" in description(alert, "")
    for path in ("/", "/deployment?name=rag"):
        text = get(create_app(monitor), path).text
        assert "got worse in new traffic" in text
        assert "new: <bdi>language &lt;b&gt;uk</bdi>" in text
        assert "<b>uk" not in text
        assert "REGRESSED" not in text
        assert "active regression" not in text
