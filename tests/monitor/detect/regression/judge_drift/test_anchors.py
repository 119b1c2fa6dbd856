from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lake.spec.schemas import ANCHORS
from monitor.detect.regression import ANCHOR_COLUMNS, JudgeDriftDetectors, StreamKey
from monitor.detect.regression.judge_drift.detector import JudgeDriftDetector

START = datetime(2026, 11, 1, tzinfo=UTC)
KEY = StreamKey("rag", "relevance", "1")


def scoring(draw: int, value: float | None, **columns: Any) -> list[dict[str, Any]]:
    defaults = {"deployment": "rag", "metric": "relevance", "metric_version": "1", "low": 1.0, "high": 5.0}
    at = START + timedelta(days=draw)
    return [
        {"event_id": str(n), "draw": draw, "scored_at": at, "value": value, "direction": "up"} | defaults | columns
        for n in range(60)
    ]


def fed(*rows: dict[str, Any]) -> JudgeDriftDetectors:
    anchors = JudgeDriftDetectors(0.02)
    anchors.add(ANCHORS.rows(list(rows)).select(ANCHOR_COLUMNS))
    return anchors


def test_scorings_are_taken_by_their_time_in_the_metrics_own_values() -> None:
    """Rows in any order are the same scorings; a judge that says 4 instead of 5 scores 1 lower."""
    days = [*scoring(0, 5.0), *scoring(1, 5.0), *scoring(2, 4.0)]
    for rows in (days, days[::-1]):
        shift = fed(*rows).shift(KEY, START)
        assert shift is not None
        assert (shift.mean, shift.answers) == (pytest.approx(-1.0), 60)


def test_rows_that_cannot_be_used_take_no_part() -> None:
    """Those without a value, a time or a scale, or with a value outside of it, make no judge and break no other."""
    useless = [
        *scoring(0, None, metric="a"),
        *scoring(0, 5.0, metric="b", scored_at=None),
        *scoring(0, 5.0, metric="c", direction="none"),
        *scoring(0, 7.0, metric="d"),
        *scoring(0, 5.0, metric="e", deployment=None),
    ]
    assert not fed(*useless).readings()
    assert list(fed(*useless, *scoring(0, 5.0)).readings()) == [KEY]


def test_a_reading_is_renewed_by_new_rows() -> None:
    """What was said before a scoring is not said after it."""
    anchors = fed(*scoring(0, 5.0), *scoring(1, 5.0))
    assert anchors.readings()[KEY].last_scored_at == START + timedelta(days=1)
    anchors.add(ANCHORS.rows(scoring(2, 4.0)).select(ANCHOR_COLUMNS))
    assert anchors.readings()[KEY].last_scored_at == START + timedelta(days=2)


def test_judges_in_which_an_error_arises_stop_alone_and_learn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the rows may be taken in, so all is dropped until all rows come again; another metric's judge goes on."""
    before, rest = scoring(0, 5.0), [*scoring(1, 5.0), *scoring(2, 4.0), *scoring(3, 4.0), *scoring(1, 3.0, metric="b")]
    anchors, add = fed(*before), JudgeDriftDetector.add

    def add_but_the_last(watch: JudgeDriftDetector, at: datetime, qualities: Any) -> None:
        if at == START + timedelta(days=3):
            raise ArithmeticError
        add(watch, at, qualities)

    with monkeypatch.context() as failing:
        failing.setattr(JudgeDriftDetector, "add", add_but_the_last)
        anchors.add(ANCHORS.rows(rest).select(ANCHOR_COLUMNS))
    assert list(anchors.stopped.errors) == [KEY.of_metric]
    assert [key.metric for key in anchors.readings()] == ["b"]
    anchors.add(ANCHORS.rows(scoring(4, 4.0)).select(ANCHOR_COLUMNS))
    assert [key.metric for key in anchors.readings()] == ["b"]
    anchors.stopped.learn_anew(KEY.deployment, [KEY.metric])
    anchors.add(ANCHORS.rows([*before, *rest]).select(ANCHOR_COLUMNS), only={KEY.metric})
    anchors.stopped.note_working(KEY.deployment, [KEY.metric])
    assert anchors.stopped.errors == {}
    assert anchors.readings() == fed(*before, *rest).readings()
    assert anchors.shift(KEY, START) == fed(*before, *rest).shift(KEY, START)
