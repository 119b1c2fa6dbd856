"""Rows with consecutive numbers: silences and releases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import SILENCES
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from monitor.alerting.controls.numbered_rows import append_numbered
from monitor.alerting.controls.releases import mark_release, read_releases, withdraw_release
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.detect.regression import Release

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_several_at_once_get_numbers_of_their_own(lake: Lake) -> None:
    """Each one of the next free ones, and all are there."""
    with ThreadPoolExecutor(3) as pool:
        silence = Silence(until=NOON)
        numbers = list(pool.map(lambda _: add_silence(Lake(lake.root), silence, NOON), range(9)))
    assert sorted(numbers) == sorted(lake.table(SILENCES).read()["silence_id"].to_pylist()) == list(range(1, 10))


def test_who_is_never_first_gives_up(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten tries, with the table's name; the row is not there."""
    tried = []

    def lose(*_: Any) -> None:
        tried.append(1)
        raise LostRaceError("another was faster")

    monkeypatch.setattr(PassTransaction, "append", lose)
    with pytest.raises(LostRaceError, match="_silences was changed by others 10 times"):
        append_numbered(lake, SILENCES, "silences", lambda number: {"silence_id": number})
    assert len(tried) == 10


def test_a_release_is_marked_and_taken_back_once(lake: Lake) -> None:
    """By its number; what it says of deployment, metric and time stays in both rows."""
    releases = [Release("rag", None, NOON, "new index"), Release("hr", "m", NOON + timedelta(hours=1))]
    assert [mark_release(lake, one, NOON) for one in releases] == [1, 2]
    assert read_releases(lake).valid == dict(enumerate(releases, 1))
    withdraw_release(lake, 1, NOON + timedelta(hours=2))
    found = read_releases(lake)
    assert (found.valid, found.withdrawn) == ({2: releases[1]}, {1})
    assert found.changed == {1: NOON + timedelta(hours=2), 2: NOON}
    for number in (1, 3):
        with pytest.raises(KeyError):
            withdraw_release(lake, number, NOON)
    assert mark_release(lake, releases[0], NOON) == 3
