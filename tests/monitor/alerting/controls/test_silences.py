"""Silences of the configuration and of `_silences`: which hold, from when, until when."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.root_tables import SILENCES
from lake.tables.lake import Lake
from monitor.alerting.controls.silences import (
    SILENCE_COLUMNS,
    Silence,
    SilencedSpan,
    Silences,
    add_silence,
    end_silence,
    read_silence_changes,
    read_silences,
    silence_of,
)
from tests.monitor.alerting.alerts.test_pending import FIRED

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def row(number: int, change: str, at: int, until: int, **columns: Any) -> dict[str, Any]:
    """Of a silence; times in hours from noon."""
    names = {"deployment": "rag", "metric": None, "comment": f"of {number}" if change == "added" else None}
    return {
        "silence_id": number, "change": change, "changed_at": NOON + at * HOUR, "until": NOON + until * HOUR
    } | names | columns  # fmt: skip


ROWS = [
    row(1, "added", 0, 8),
    row(1, "ended", 3, 3),
    row(2, "added", 1, 5),
    row(2, "ended", 6, 6),
    row(3, "added", 2, 9, deployment=None, metric="m"),
]


@given(st.permutations([*ROWS, *ROWS]), st.integers(1, 9))
def test_rows_in_any_order_and_more_than_once_are_the_same_silences(rows: list[dict[str, Any]], cut: int) -> None:
    """The earlier end counts; a silence that was over when it was ended stays as it was. It began when it was added."""
    configured = Silence(metric="n", until=NOON + 4 * HOUR)
    silences = Silences([configured])
    for some in (rows[:cut], rows[cut:]):
        silences.add(SILENCES.rows(some).select(SILENCE_COLUMNS))
    ends = {one.until: one for one in silences.every}
    assert sorted(ends) == [NOON + hours * HOUR for hours in (3, 4, 5, 9)]
    spans = {span.silence.until: span.since for span in silences.since(NOON)}
    begun = {3: 0, 4: None, 5: 1, 9: 2}
    assert spans == {NOON + end * HOUR: None if at is None else NOON + at * HOUR for end, at in begun.items()}
    assert ends[NOON + 5 * HOUR].comment == "of 2"


@pytest.mark.parametrize(("hours", "left"), [(2.99, [3, 4, 5, 9]), (3, [4, 5, 9]), (4, [5, 9]), (9, [])])
def test_a_silence_is_over_from_its_end_on(hours: float, left: list[int]) -> None:
    silences = Silences([Silence(metric="n", until=NOON + 4 * HOUR)])
    silences.add(SILENCES.rows(ROWS).select(SILENCE_COLUMNS))
    at = NOON + hours * HOUR
    assert sorted(one.until for one in silences.at(at)) == [NOON + end * HOUR for end in left]
    assert sorted(span.silence.until for span in silences.since(at)) == [NOON + end * HOUR for end in left]


def test_the_silence_that_holds_for_longest_counts() -> None:
    """Of those that match the deployment and the metric."""
    short, long = (Silence(deployment="rag", until=NOON + hours * HOUR) for hours in (1, 2))
    others = [Silence(deployment=name, until=NOON + 9 * HOUR) for name in ("other", "ra")]
    others.append(Silence(deployment="rag", metric="other", until=NOON + 9 * HOUR))
    for seed in range(4):
        silences = [short, long, *others]
        random.Random(seed).shuffle(silences)
        assert silence_of(FIRED, silences) == long
    assert silence_of(FIRED, others) is None
    everything = Silence(until=NOON + 3 * HOUR)
    assert silence_of(FIRED, [long, everything]) == everything


def test_silences_are_numbered_from_one_and_ended_by_their_number(lake: Lake) -> None:
    """One that is over already stays as it was; what was ended ends then, with what it silenced."""
    made = [Silence(deployment=name, until=NOON + 4 * HOUR, comment=name or "") for name in ("rag", "hr", None)]
    assert [add_silence(lake, one, NOON) for one in made] == [1, 2, 3]
    end_silence(lake, 2, NOON + HOUR)
    end_silence(lake, 2, NOON + 2 * HOUR)
    end_silence(lake, 3, NOON + 5 * HOUR)
    found = read_silences(lake)
    assert {number: one.until - NOON for number, one in found.items()} == {1: 4 * HOUR, 2: HOUR, 3: 4 * HOUR}
    assert [found[number].deployment for number in (1, 2, 3)] == ["rag", "hr", None]
    with pytest.raises(KeyError):
        end_silence(lake, 4, NOON)
    silences = Silences([])
    silences.add(lake.table(SILENCES).read(SILENCE_COLUMNS))
    assert [span.since for span in silences.since(NOON)] == [NOON] * 3
    assert set(silences.since(NOON + 2 * HOUR)) == {SilencedSpan(found[1], NOON), SilencedSpan(found[3], NOON)}


def test_a_row_without_an_id_or_an_end_holds_nothing_back(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the others count."""
    silences = Silences([])
    broken = [row(1, "added", 0, 8) | {name: None} for name in ("silence_id", "until")]
    silences.add(SILENCES.rows([*broken, row(2, "added", 0, 3)]).select(SILENCE_COLUMNS))
    assert [one.until for one in silences.every] == [NOON + 3 * HOUR]
    assert len(caplog.records) == 2


def test_a_table_of_an_earlier_version_does_not_say_who_silenced(lake: Lake) -> None:
    """Its rows hold as others do; a silence of before that is ended now says who ended it."""
    old = replace(SILENCES, schema=SILENCES.schema.remove(SILENCES.schema.get_field_index("who")))
    lake.table(old).append(old.rows([row(1, "added", 0, 8), row(2, "added", 1, 9)]))
    assert [(one.silence_id, one.who) for one in read_silence_changes(lake)] == [(1, None), (2, None)]
    end_silence(lake, 1, NOON + 2 * HOUR, "ann")
    assert {number: one.until for number, one in read_silences(lake).items()} == {
        1: NOON + 2 * HOUR,
        2: NOON + 9 * HOUR,
    }
    changes = sorted(read_silence_changes(lake), key=lambda one: one.changed_at)
    assert [(one.silence_id, one.change, one.who) for one in changes] == [
        (1, "added", None), (2, "added", None), (1, "ended", "ann")
    ]  # fmt: skip
