"""Two monitors that write to one lake."""

from __future__ import annotations

from typing import Any

import pytest

from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.alerting.alerts.store import AlertStore
from tests.monitor.alerting.alerts.test_alerts import NOW, fired, kinds, resolved, rows_of


def test_two_monitors_on_one_lake_write_a_change_once(lake: Lake) -> None:
    """Of two monitors that find the same at the same time, one writes it and the other sees that it is there."""
    one, other = AlertStore(lake), AlertStore(lake)
    assert kinds(one.record([fired()], NOW)) == ["firing"]
    assert other.record([fired()], NOW) == []
    assert kinds(other.record([resolved()], NOW)) == ["resolved"]
    assert one.record([resolved()], NOW) == []
    assert len(rows_of(lake)) == 2


def test_a_look_at_the_other_monitors_rows_that_fails_is_made_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A monitor that another one overtook, and that cannot read what that wrote, reads it at its next call."""
    one = AlertStore(lake)
    one.record([fired()], NOW)
    other = AlertStore(lake)
    assert kinds(other.changes()) == ["firing"]
    one.record([resolved()], NOW)

    def fail(*args: Any, **options: Any) -> None:
        raise OSError("no answer")

    with monkeypatch.context() as broken:
        broken.setattr(Table, "read", fail)
        with pytest.raises(OSError, match="no answer"):
            other.record([resolved()], NOW)
    assert other.record([], NOW) == []
    assert kinds(other.changes()) == ["firing", "resolved"]
    assert len(rows_of(lake)) == 2
