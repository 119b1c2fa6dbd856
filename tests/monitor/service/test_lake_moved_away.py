from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from prometheus_client import generate_latest

from lake.tables.lake import Lake
from monitor.exporter.registry import registry_of
from monitor.service.monitor import Monitor
from tests.exposition import without_installation


def test_a_lake_that_is_moved_away_is_no_empty_lake(monitor: Monitor, lake: Lake, rows: Any, tmp_path: Path) -> None:
    """A lost mount: the last figures stay, health says why they are old, and nothing counts twice once it is back."""
    rows.logs("a", {})
    rows.batch(stored=1, lines=1)
    monitor.refresh()
    before = counters(monitor)
    places: tuple[Callable[[Path], object], ...] = (lambda root: None, Path.mkdir, Path.touch)
    for put_in_its_place in places:
        root = Path(lake.root).rename(tmp_path / "moved")
        put_in_its_place(Path(lake.root))
        for _ in range(2):
            monitor.refresh()
        assert not monitor.health().is_fresh
        assert "is it mounted" in str(monitor.health().problems)
        assert monitor.snapshot is not None
        assert "a" in monitor.snapshot.deployments
        if Path(lake.root).is_dir():
            Path(lake.root).rmdir()
        Path(lake.root).unlink(missing_ok=True)
        root.rename(lake.root)
        monitor.refresh()
        assert monitor.health().is_fresh
        assert counters(monitor) == before


def counters(monitor: Monitor) -> list[str]:
    text = without_installation(generate_latest(registry_of(lambda: monitor.snapshot, "production")).decode())
    wanted = ("dialwatch_lines_total", "dialwatch_responses_total")
    return [line for line in text.splitlines() if line.startswith(wanted)]
