"""Many requests at once, on a real server: one client's searches take nobody else's answers away."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from dialwatch.serving.server import BackgroundServer
from lake.tables.lake import Lake
from monitor.pages.answers import handlers
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns


@pytest.mark.slow
def test_sixty_searches_of_one_address_take_nobody_elses_answers_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While they run, wait and are refused, another address gets its search and the metrics."""
    lake, find_answers = Lake(str(tmp_path)), handlers.find_answers
    ScoreColumns(lake).logs("rag", {})
    monitor = Monitor(lake, MonitorSettings(), lambda: NOW)
    monitor.refresh()

    def slow(*arguments: Any, **named: Any) -> Any:
        time.sleep(2)
        return find_answers(*arguments, **named)

    monkeypatch.setattr(handlers, "find_answers", slow)
    with BackgroundServer(create_app(monitor), "127.0.0.1:0") as server, ThreadPoolExecutor(60) as pool:

        def ask(path: str, address: str) -> int:
            transport = httpx.HTTPTransport(local_address=address)
            with httpx.Client(transport=transport, base_url=server.url, timeout=120) as client:
                return client.get(path).status_code

        flood = [pool.submit(ask, "/answers.json?deployment=rag", "127.0.0.2") for _ in range(60)]
        deadline = time.monotonic() + 60
        while not any(one.done() for one in flood) and time.monotonic() < deadline:
            time.sleep(0.05)
        for path in ("/answers.json?deployment=rag", "/metrics"):
            assert ask(path, "127.0.0.1") == 200
        statuses = Counter(one.result() for one in flood)
    assert statuses[200] >= 2
    assert statuses[503] >= 40
    assert set(statuses) == {200, 503}
