from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lake.tables import write_probe
from lake.tables.lake import Lake


def test_a_disk_takes_a_name_once_and_removes_it_again(tmp_path: Path) -> None:
    """Nothing of the probe stays, and the clock is ours."""
    found = write_probe.probe_writes(Lake(str(tmp_path)))
    assert (found.is_conditional, found.can_remove, found.clock_ahead) == (True, True, timedelta(0))
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_removes_nothing_may_be_safe_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is about commits of two writers, the other about room."""
    monkeypatch.setattr(write_probe, "_remove", lambda *_: False)
    found = write_probe.probe_writes(Lake(str(tmp_path)))
    assert (found.is_conditional, found.can_remove) == (True, False)


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_of_the_store_that_is_not_ours_is_seen(tmp_path: Path, hours: int) -> None:
    """Ahead or behind, to a minute."""
    found = write_probe.probe_writes(Lake(str(tmp_path)), lambda: datetime.now(UTC) - timedelta(hours=hours))
    assert abs(found.clock_ahead - timedelta(hours=hours)) < timedelta(minutes=1)
