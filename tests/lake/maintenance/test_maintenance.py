from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from lake.maintenance.maintenance import LakeMaintenanceSettings, maintain
from lake.spec.root_tables import AUDIT, BATCHES, CHANGES, JUDGE_BUDGETS, SERVICES
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.tables.lake import Lake
from lake.tables.table import Table

NOW = datetime.now(UTC)


def put(lake: Lake, deployment: str, days_ago: int) -> None:
    day = (NOW - timedelta(days=days_ago)).date()
    lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows([{"event_id": f"{days_ago}", "date": day}]))


def test_one_pass_does_all(tmp_path: Path) -> None:
    """Old dates go by the deployment's own limit or the general one, small files are merged, old files and log go."""
    lake = Lake(str(tmp_path))
    for deployment in ("a", "b"):
        for days_ago in (40, 20, 0, 0):
            put(lake, deployment, days_ago)
    settings = LakeMaintenanceSettings(retention={"parsed_logs": "30d"}, deployments={"b": {"parsed_logs": "10d"}})
    first = maintain(lake, settings, NOW)
    assert (first.tables, first.dropped_files, first.merged_files, first.failures) == (2, 3, 2, ())
    left = {name: lake.table(PARSED_LOGS, name).read(["event_id"])["event_id"].to_pylist() for name in "ab"}
    assert {name: sorted(ids) for name, ids in left.items()} == {"a": ["0", "0", "20"], "b": ["0", "0"]}
    again = maintain(lake, settings, NOW)
    assert (again.dropped_files, again.merged_files, again.removed_files) == (0, 0, 0)


def test_files_and_logs_have_the_ages_of_the_settings_but_of_tables_with_many_commits() -> None:
    """These keep both for two hours; their rows go after the ages that docs name, if no setting gives another."""
    settings = LakeMaintenanceSettings(vacuum_after=7200 + 1, log_retention="3d", retention={"_changes": "2d"})
    assert (settings.files_age(PARSED_LOGS), settings.log_age(PARSED_LOGS)) == (
        timedelta(seconds=7201),
        timedelta(days=3),
    )
    for spec in (SERVICES, CHANGES, JUDGE_BUDGETS, MONITOR_STATE, ROOT_STATE):
        assert settings.files_age(spec) == settings.log_age(spec) == timedelta(hours=2)
    limits = [settings.age_limit(spec, None) for spec in (PARSED_LOGS, SERVICES, CHANGES, JUDGE_BUDGETS)]
    assert limits == [None, timedelta(days=28), timedelta(days=2), timedelta(days=7)]
    assert LakeMaintenanceSettings().age_limit(CHANGES, None) == timedelta(days=1)


@pytest.mark.slow
def test_the_signs_of_life_stay_few_files_and_a_short_log(tmp_path: Path) -> None:
    """A commit a minute from each process: merged, the log of an hour, and the rows of four weeks unless you say so."""
    lake = Lake(str(tmp_path))
    table = lake.table(SERVICES)
    for days_ago in (40, 27, *[0] * 58):
        at = NOW - timedelta(days=days_ago)
        table.append(SERVICES.rows([{"part": "collector", "host": "h", "heartbeat_at": at, "date": at.date()}]))
    maintain(lake, LakeMaintenanceSettings(), NOW)
    maintain(lake, LakeMaintenanceSettings(), NOW + timedelta(hours=3))
    assert table.read().num_rows == 59
    assert len(table.snapshot().file_uris()) == 2
    assert len(list((tmp_path / "_services" / "_delta_log").glob("*.json"))) < 30
    maintain(lake, LakeMaintenanceSettings(retention={"_services": "1d"}), NOW)
    assert table.read().num_rows == 58


def test_the_audit_log_is_looked_after(tmp_path: Path) -> None:
    """Its small files are merged; its rows stay for ever, unless a retention is set."""
    lake = Lake(str(tmp_path))
    table = lake.table(AUDIT)
    for days_ago in (400, 20, 0, 0, 0):
        at = NOW - timedelta(days=days_ago)
        table.append(AUDIT.rows([{"who": "ann", "action": "read_texts", "at": at, "date": at.date()}]))
    maintain(lake, LakeMaintenanceSettings(), NOW)
    assert table.read().num_rows == 5
    assert len(table.snapshot().file_uris()) == 3
    maintain(lake, LakeMaintenanceSettings(retention={"_audit": "365d"}), NOW)
    assert table.read().num_rows == 4


def test_a_broken_table_leaves_the_others_alone(tmp_path: Path) -> None:
    """A table that cannot be looked after is named, and the others are looked after."""
    lake = Lake(str(tmp_path))
    for _ in range(2):
        put(lake, "a", 0)
        put(lake, "b", 0)
    next(Path(lake.root, "a").rglob("*.parquet")).write_bytes(b"no parquet")
    result = maintain(lake, LakeMaintenanceSettings(), NOW)
    assert result.tables == 1
    assert [Path(lake.root, "a").name in failure for failure in result.failures] == [True]


def test_a_lake_that_takes_no_change_is_one_line_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It says how many tables the store refused, and what it said first; an unknown error has its own traceback."""
    lake = Lake(str(tmp_path))
    for name in "abcd":
        put(lake, name, 0)

    def refuse(table: Table, _: timedelta) -> list[str]:
        if table.uri == lake.table(PARSED_LOGS, "c").uri:
            raise ValueError("a table that cannot be")
        raise OSError(30, "Read-only file system", table.uri)

    monkeypatch.setattr("lake.maintenance.maintenance.vacuum", refuse)
    result = maintain(lake, LakeMaintenanceSettings(), NOW)
    assert (result.tables, len(result.failures)) == (0, 4)
    unknown, refused = caplog.records
    first = lake.table(PARSED_LOGS, "a").uri
    assert refused.getMessage() == (
        "not looked after, and tried again at the next pass: 3 of 4 tables; the first is "
        f"{first}: OSError: [Errno 30] Read-only file system: '{first}'"
    )
    assert refused.exc_info is None
    assert lake.table(PARSED_LOGS, "c").uri in unknown.getMessage()
    assert unknown.exc_info is not None


def test_a_pass_that_is_asked_to_stop_leaves_the_other_tables_to_the_next(tmp_path: Path) -> None:
    """It ends after the table that it is at."""
    lake = Lake(str(tmp_path))
    for name in "abc":
        put(lake, name, 0)
    asked = iter([False, True])
    assert maintain(lake, LakeMaintenanceSettings(), NOW, lambda: next(asked)).tables == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"retention": {"alerts": "90d"}}, "no table 'alerts' whose rows age"),
        ({"retention": {"parsed_logs": "1h"}}, "greater than or equal to 86400"),
        ({"deployments": {"a": {"_batches": "90d"}}}, "no table '_batches'"),
        ({"vacuum_after": "10m"}, "greater than or equal to 3600"),
        ({"vacuum_after": "30d"}, "less than or equal to 604800"),
        ({"wish": 1}, "Extra inputs are not permitted"),
    ],
    ids=["no dates", "under a day", "not of a deployment", "short grace", "long grace", "unknown"],
)
def test_what_cannot_be_kept_is_refused(wrong: dict[str, object], message: str) -> None:
    """A setting that would lose rows or promise what the log cannot keep is an error that says what is allowed."""
    with pytest.raises(ValidationError, match=message):
        LakeMaintenanceSettings.model_validate(wrong)


def test_limits_by_table_and_deployment() -> None:
    """A deployment's own limit wins; a table without one is kept."""
    settings = LakeMaintenanceSettings(retention={"_batches": "400d"}, deployments={"a": {"scores": "2d"}})
    assert settings.age_limit(SCORES, "a") == timedelta(days=2)
    assert settings.age_limit(SCORES, "b") is None
    assert settings.age_limit(BATCHES, None) == timedelta(days=400)


def test_old_files_go(tmp_path: Path) -> None:
    """What was merged a day ago is removed, and readers see the same rows."""
    lake = Lake(str(tmp_path))
    for _ in range(3):
        put(lake, "a", 0)
    orphan = lake.table(PARSED_LOGS, "a").write([PARSED_LOGS.rows([{"event_id": "x", "date": NOW.date()}])])[0]
    path = Path(lake.table(PARSED_LOGS, "a").uri, orphan.path)
    os.utime(path, (time.time() - 2 * 86400,) * 2)
    assert maintain(lake, LakeMaintenanceSettings(), NOW).removed_files == 1
    assert not path.exists()
    assert lake.table(PARSED_LOGS, "a").read().num_rows == 3
