"""`dialwatch release`: what a person types after a change that is meant, and what a running monitor makes of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import RegressionSettings, Status
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.commands import Done, dialwatch
from tests.monitor.conftest import Clock

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
METRIC = "faithfulness_kprecision"
SETTINGS = RegressionSettings(false_alarm_every=50 * HOUR, reference_observations=40, reference_time=0 * HOUR)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Sixty hours of scores of one deployment, rag, that are worse from hour 30 on."""
    generator, lake = np.random.default_rng(1), Lake(str(tmp_path / "lake"))
    at = [START + n * HOUR / 6 for n in range(360)]
    values = [float(generator.beta(4 * mean, 4 * (1 - mean))) for mean in [0.8] * 180 + [0.4] * 180]
    rows = [
        {
            "deployment": "rag", "metric": METRIC, "metric_version": "1", "event_id": str(n), "response_id": f"r{n}",
            "requested_at": one, "scored_at": one, "date": one.date(), "value": value, "judge": "lexical",
        }
        for n, (one, value) in enumerate(zip(at, values, strict=True))
    ]  # fmt: skip
    lake.table(SCORES, "rag").append(SCORES.rows(rows))
    return lake


@pytest.fixture
def release(lake: Lake) -> Callable[..., Done]:
    return lambda *arguments: dialwatch("release", *arguments, "--lake", lake.root)


def started(lake: Lake) -> Monitor:
    monitor = Monitor(lake, MonitorSettings(regression=SETTINGS), Clock(START + 61 * HOUR))
    monitor.refresh()
    return monitor


def status(monitor: Monitor) -> Status:
    assert monitor.snapshot is not None
    assert monitor.failures == {}
    return monitor.snapshot.deployments["rag"].readings[METRIC].status


def changes(lake: Lake) -> list[tuple[str, str]]:
    return [(one.change, one.reason or "") for one in AlertStore(lake).changes()]


def test_a_running_monitor_learns_the_new_level_and_ends_the_alert(lake: Lake, release: Callable[..., Done]) -> None:
    """From its next look on, as one that starts then; and it ends it once."""
    monitor = started(lake)
    assert status(monitor) is Status.REGRESSED
    assert changes(lake)[-1][0] == "firing"
    done = release("mark", "--deployment", "rag", "--at", "2026-11-02T06:00:00Z", "--comment", "shorter answers")
    assert done.returncode == 0, done.stderr
    assert f"dialwatch release withdraw 1 --lake {lake.root}" in done.stdout
    monitor.refresh()
    assert status(monitor) is Status.WATCHING
    assert changes(lake)[-1][0] == "resolved"
    before = changes(lake)
    monitor.refresh()
    assert status(started(lake)) is Status.WATCHING
    assert changes(lake) == before
    assert "shorter answers" in release("list").stdout


def test_a_mark_can_be_taken_back(lake: Lake, release: Callable[..., Done]) -> None:
    """Then scores are compared with what was usual before it; a second time there is nothing to take back."""
    release("mark", "--deployment", "rag", "--metric", METRIC, "--at", "2026-11-02T06:00:00Z")
    monitor = started(lake)
    assert status(monitor) is Status.WATCHING
    assert release("withdraw", "1").returncode == 0
    monitor.refresh()
    assert status(monitor) is Status.REGRESSED
    assert release("list").stdout == "no release is marked\n"
    again = release("withdraw", "1")
    assert again.returncode == 2
    assert "these are: none" in again.stderr


def test_ids_are_counted_and_what_is_not_known_is_reported_and_taken(release: Callable[..., Done]) -> None:
    """The second mark has the id 2; each holds for every metric, and from now on, where nothing else is said."""
    assert "release 1: every metric of rag" in release("mark", "--deployment", "rag").stdout
    second = release("mark", "--deployment", "rga", "--metric", "faithfulnes").stdout
    assert "did you mean 'rag'?" in second
    assert "release 2: faithfulnes of rga" in second


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--deployment", " "], "it is empty"),
        (["--deployment", "rag", "--metric", ""], "it is empty"),
        (["--deployment", "rag", "--at", "2026-11-02T06:00:00"], "has no zone"),
        (["--deployment", "rag", "--at", "yesterday"], "is no time"),
        (["--deployment", "rag", "--comment", "\x1b[31m"], "control character"),
        ([], "--deployment"),
    ],
)
def test_what_cannot_be_marked_says_why(release: Callable[..., Done], arguments: list[str], says: str) -> None:
    """Exit code 2, and nothing is written."""
    done = release("mark", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert release("list").stdout == "no release is marked\n"
