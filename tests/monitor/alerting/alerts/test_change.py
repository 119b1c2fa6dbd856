"""Changes of alerts as rows, and what they say by themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, LimitKind, Tier
from lake.spec.schemas import ALERTS
from monitor.alerting.alerts.change import AlertChange, AlertDetails, WorstAnswer, digest, from_row, is_page, to_row
from monitor.detect.regression import StreamKey
from tests.monitor.alerting.alerts.test_pending import FIRED, NOW

TEXT = st.text(max_size=8)
TIMES = st.integers(0, 10**15).map(lambda number: NOW + timedelta(microseconds=number))
DETAILS = st.builds(
    AlertDetails,
    fired_at=st.none() | TIMES,
    tier=st.none() | st.sampled_from(Tier),
    page_due=st.none() | TIMES,
    recorded_at=st.none() | TIMES,
    drop=st.none() | st.floats(-1, 1),
    worst=st.lists(st.builds(WorstAnswer, TEXT, st.floats(0, 1)), max_size=2).map(tuple),
    receiver=st.none() | TEXT,
    until=st.none() | TIMES,
)
CHANGES = st.builds(
    AlertChange,
    change_id=TEXT,
    alert_id=TEXT,
    key=st.builds(StreamKey, TEXT, TEXT, TEXT),
    change=st.sampled_from(AlertEvent),
    changed_at=TIMES,
    details=DETAILS,
    reason=st.none() | TEXT,
    since=st.none() | TIMES,
    current_mean=st.none() | st.floats(0, 1),
    verdict=st.none() | st.sampled_from(AlertVerdict),
    delivery_of=st.none() | TEXT,
    incident_id=st.none() | TEXT,
)


@given(CHANGES)
def test_a_change_is_read_as_it_was_written(change: AlertChange) -> None:
    """Through the table's own types."""
    (row,) = ALERTS.rows([to_row(change)]).to_pylist()
    assert from_row(row) == change


def test_details_that_cannot_be_read_count_as_absent(caplog: pytest.LogCaptureFixture) -> None:
    """The log names the change; a row of before there were details has none."""
    row = to_row(FIRED)
    assert from_row(row | {"details": None}) == replace(FIRED, details=AlertDetails())
    assert not caplog.records
    for broken in ("{", '{"tier": "loud"}', "[]"):
        assert from_row(row | {"details": broken}) == replace(FIRED, details=AlertDetails())
    assert len([record for record in caplog.records if "fired" in record.getMessage()]) == 3


@pytest.mark.parametrize(
    ("change", "mean", "version", "expected"),
    [
        (AlertEvent.RESOLVED, None, "1", True),
        (AlertEvent.RESOLVED, 0.5, "1", False),
        (AlertEvent.FIRING, None, "1", False),
        (AlertEvent.RESOLVED, None, LIMIT_VERSION, False),
    ],
)
def test_an_end_of_a_regression_without_a_mean_is_no_recovery(
    change: AlertEvent, mean: float | None, version: str, expected: bool
) -> None:
    """Whoever reads it is told so; a limit has no mean."""
    key = StreamKey("rag", "m", version)
    assert replace(FIRED, key=key, change=change, current_mean=mean).ended_without_recovery is expected


@given(CHANGES)
def test_what_a_change_is_of(change: AlertChange) -> None:
    """Of a limit, of a judge that changed, or of neither; it began when its details say, or with itself."""
    kind = replace(change, key=StreamKey("rag", LimitKind.ERRORS, LIMIT_VERSION))
    assert (kind.is_limit, kind.ended_without_recovery, kind.is_judge_drift) == (True, False, False)
    assert replace(kind, key=StreamKey("rag", LimitKind.JUDGE_DRIFT, LIMIT_VERSION)).is_judge_drift
    assert not replace(kind, key=StreamKey("rag", LimitKind.JUDGE_DRIFT, "1")).is_judge_drift
    assert change.fired_at == (change.details.fired_at or change.changed_at)


@pytest.mark.parametrize("verdict", [None, *AlertVerdict])
@pytest.mark.parametrize("tier", [None, *Tier])
def test_only_a_page_that_is_not_the_judges_alone_wakes(tier: Tier | None, verdict: AlertVerdict | None) -> None:
    """A change without a tier, of an earlier version, is a warning."""
    change = replace(FIRED, verdict=verdict, details=msgspec.structs.replace(FIRED.details, tier=tier))
    assert change.tier == (tier or Tier.WARN)
    assert change.pages is is_page(tier, verdict) is (tier == Tier.PAGE and verdict != AlertVerdict.JUDGE)


@given(st.lists(TEXT, max_size=4), st.lists(TEXT, max_size=4))
def test_other_parts_make_another_id(first: list[str], second: list[str]) -> None:
    """However they are divided."""
    assert (digest(*first) == digest(*second)) == (first == second)
    assert len(digest(*first)) == 32
