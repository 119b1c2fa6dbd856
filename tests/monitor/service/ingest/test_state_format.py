"""Format of the monitor's state: it is another one with every change of a class, and nobody has to remember that."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, make_dataclass
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from lake.spec.schemas import ALERTS
from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from monitor.detect.regression import Status
from monitor.service.ingest.state_classes import FORMAT, format_of
from tests.monitor.conftest import NOW
from tests.monitor.service.ingest.kept_states import METRIC, OF_LAST_RELEASE, OF_NOW, monitor_of, written

LATER = NOW + timedelta(minutes=1)


def of(**types: Any) -> int:
    return format_of([make_dataclass("Box", list(types.items()))], 1)


def test_a_format_is_one_of_names_and_types() -> None:
    """A field more, another name, another type of what is held, a member of an enum, a meaning: each is another one."""
    red, more = Enum("Colour", {"RED": "red"}), Enum("Colour", {"RED": "red", "BLUE": "blue"})
    renamed = Enum("Colour", {"RED": "scarlet"})
    formats = [
        of(a=int),
        of(b=int),
        of(a=int, b=int),
        of(a=int | None),
        of(a=list[int]),
        of(a=dict[str, list[int]]),
        of(a=dict[str, list[str]]),
        of(a=NDArray[np.float64]),
        of(a=NDArray[np.int64]),
        *(format_of([one], 1) for one in (red, more, renamed)),
        format_of([make_dataclass("Box", [("a", int)])], 2),
    ]
    assert len(set(formats)) == len(formats)
    assert all(0 <= one < 2**31 for one in formats)
    assert of(a=int | None) == of(a=None | int)


def test_a_field_that_a_class_does_not_declare_cannot_be_set() -> None:
    """Else it would be missing after a restart, and nothing would say so."""

    @dataclass(slots=True, init=False)
    class Kept:
        a: int

    with pytest.raises(AttributeError):
        Kept().b = 1  # type: ignore[attr-defined]


def started_with(state: Path, lake: Lake) -> Any:
    """A monitor that begins with a kept state, after its first refresh; the alerts were recorded before."""
    monitor_of(lake).refresh()
    shutil.rmtree(lake.table(MONITOR_STATE, "rag").uri)
    lake.table(MONITOR_STATE, "rag").append(MONITOR_STATE.rows(pq.read_table(state).to_pylist()))
    monitor = monitor_of(Lake(lake.root), LATER)
    monitor.refresh()
    return monitor


def fired(lake: Lake) -> list[str]:
    return [row["change"] for row in lake.table(ALERTS, "rag").read().to_pylist() if row["metric"] == METRIC]


def test_a_kept_state_of_this_format_is_read_as_it_is(tmp_path: Path) -> None:
    """Whoever changes a class makes the file anew: states in the field are then learned anew, which costs a start."""
    assert pq.read_table(OF_NOW)["format"].to_pylist() == [FORMAT], (
        "A class of the monitor's state has changed, so every monitor learns its state anew after the upgrade. If that "
        "is meant, run `python -m tests.monitor.service.ingest.kept_states` and commit the file."
    )
    lake = written(str(tmp_path))
    monitor = started_with(OF_NOW, lake)
    assert monitor.failures == {}
    assert monitor._keeper.learned_at == {"rag": NOW}
    assert monitor.snapshot.deployments["rag"].readings[METRIC].status is Status.REGRESSED


def test_a_kept_state_of_the_last_release_is_learned_anew(tmp_path: Path) -> None:
    """With its open alert kept, no change of an alert recorded, and no stream stopped; the next state is of now."""
    lake = written(str(tmp_path))
    monitor = started_with(OF_LAST_RELEASE, lake)
    assert monitor.failures == {"restore_state": 1}
    found = monitor.snapshot.deployments["rag"]
    assert found.stopped == {}
    assert monitor._keeper.learned_at == {"rag": LATER}
    assert found.readings[METRIC].status is Status.REGRESSED
    monitor.refresh()
    assert fired(lake) == ["firing"]
    assert lake.table(MONITOR_STATE, "rag").read(["format"])["format"].to_pylist() == [FORMAT]
