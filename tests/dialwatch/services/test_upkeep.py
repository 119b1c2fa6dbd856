from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from deltalake import DeltaTable

from dialwatch.services.upkeep import Removals, maintaining
from lake.maintenance.maintenance import LakeMaintenanceSettings
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake


def test_it_runs_while_its_block_does(tmp_path: Path) -> None:
    """The first pass comes at once."""
    lake = Lake(str(tmp_path))
    for _ in range(2):
        row = {"event_id": "0", "date": datetime.now(UTC).date()}
        lake.table(PARSED_LOGS, "a").append(PARSED_LOGS.rows([row]))
    deadline = time.monotonic() + 60
    with maintaining(LakeMaintenanceSettings(), lake):
        while len(DeltaTable(lake.table(PARSED_LOGS, "a").uri).file_uris()) > 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_unused_files_are_looked_for_every_six_hours_on_a_store() -> None:
    """There each look is paid; in a folder each pass removes them."""
    now = [0.0]
    store, folder = Removals(True, lambda: now[0]), Removals(False, lambda: now[0])
    due = []
    for hour in range(0, 15, 2):
        now[0] = hour * 3600.0 - (1.0 if hour else 0.0)
        assert folder.are_due()
        if store.are_due():
            due.append(hour)
    assert due == [0, 6, 12]
