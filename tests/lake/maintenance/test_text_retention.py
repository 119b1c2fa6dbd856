"""Raw texts of people go from a new lake after 90 days, and from one of before only where a setting says so."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from lake.maintenance.maintenance import LakeMaintenanceSettings, maintain
from lake.maintenance.text_retention import begin_lake, text_age
from lake.spec.heartbeat import Heartbeat
from lake.spec.root_tables import LAKE_DEFAULTS, REJECTED, SERVICES
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from lake.tables.table import Table

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
AGES = (0, 90, 91, 4000)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(f"{tmp_path}/lake")


def tables_of(lake: Lake) -> dict[str, Table]:
    own = {spec.name: lake.table(spec, "rag-app") for spec in (PARSED_LOGS, USER_SIGNALS, SCORES)}
    return own | {REJECTED.name: lake.table(REJECTED)}


def fill(lake: Lake) -> None:
    for table in tables_of(lake).values():
        table.append(table.spec.rows([{"date": (NOW - timedelta(days=age)).date()} for age in AGES]))


def ages_after(lake: Lake, **settings: object) -> dict[str, list[int]]:
    maintain(lake, LakeMaintenanceSettings.model_validate(settings), NOW)

    def age(day: date) -> int:
        return (NOW.date() - day).days

    return {name: sorted(map(age, table.read(["date"])["date"].to_pylist())) for name, table in tables_of(lake).items()}


def test_raw_texts_go_from_a_new_lake(lake: Lake) -> None:
    """After 90 days by the date of the row, without a setting; scores stay."""
    assert begin_lake(lake, lambda: NOW)
    assert text_age(lake) == timedelta(days=90)
    fill(lake)
    young = [0, 90]
    expected = {"parsed_logs": young, "user_signals": young, "_rejected": young, "scores": sorted(AGES)}
    assert ages_after(lake) == expected


def test_a_lake_of_before_is_left_as_it_is(lake: Lake) -> None:
    """However often it is begun by this version: any table shows that it is older."""
    beat = Heartbeat(ServicePart.COLLECTOR, "vm", NOW, NOW, ServiceState.RUNNING)
    lake.table(SERVICES).append(SERVICES.rows([beat.row()]))
    assert not begin_lake(lake)
    fill(lake)
    assert not begin_lake(lake)
    assert text_age(lake) is None
    assert all(ages == sorted(AGES) for ages in ages_after(lake).values())


def test_settings_win_over_what_the_lake_was_begun_with(lake: Lake) -> None:
    """By the table, and by the deployment; null keeps the rows."""
    begin_lake(lake)
    fill(lake)
    deployments = {"rag-app": {"user_signals": None}}
    kept = ages_after(lake, retention={"parsed_logs": None, "user_signals": "30d"}, deployments=deployments)
    assert kept == {
        "parsed_logs": sorted(AGES),
        "user_signals": sorted(AGES),
        "_rejected": [0, 90],
        "scores": sorted(AGES),
    }
    assert ages_after(lake, retention={"parsed_logs": "5000d"})["parsed_logs"] == sorted(AGES)
    assert ages_after(lake, retention={"parsed_logs": "30d"})["parsed_logs"] == [0]


def test_processes_that_begin_a_lake_at_once_agree(lake: Lake) -> None:
    """One row is there, which is never written anew, and all read it."""
    barrier, found = threading.Barrier(4), list[timedelta | None]()

    def begin() -> None:
        own = Lake(lake.root)
        barrier.wait(60)
        begin_lake(own, lambda: NOW)
        found.append(text_age(own))

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [timedelta(days=90)] * 4
    begin_lake(lake)
    assert lake.table(LAKE_DEFAULTS).read(["begun_at"]).to_pylist() == [{"begun_at": NOW}]


def test_a_lake_whose_first_process_was_killed_is_still_new(lake: Lake) -> None:
    """Between the table of defaults and its row, or after both: the next start goes on."""
    defaults = lake.table(LAKE_DEFAULTS)
    defaults.append(LAKE_DEFAULTS.rows([]), {"another": 1})
    assert lake.is_empty()
    for _ in range(2):
        assert begin_lake(lake)
        assert text_age(lake) == timedelta(days=90)


def test_a_look_whether_it_can_be_written_leaves_a_lake_new(lake: Lake) -> None:
    """`dialwatch check` may run, or have been killed, before the first start."""
    (Path(lake.root) / "_check" / "left").mkdir(parents=True)
    assert lake.is_empty()
    assert begin_lake(lake)
