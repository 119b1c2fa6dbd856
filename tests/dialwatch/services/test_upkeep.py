from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from deltalake import DeltaTable

from dialwatch.services.upkeep import maintaining
from lake import PARSED_LOGS, Lake, LakeMaintenanceSettings


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
