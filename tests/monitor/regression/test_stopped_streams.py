from itertools import pairwise
from typing import Any, NoReturn

import pytest

from lake import SCORES
from monitor.regression import (
    Detector,
    Scale,
    StreamKey,
    Streams,
)
from monitor.regression.arrays import microseconds
from monitor.regression.observations import Observations
from tests.monitor.regression.feeding import feed
from tests.monitor.regression.test_streams import HOUR, KEY, NOW, SETTINGS, START, feed_all, hourly_scores, row


def broken(*_: Any) -> NoReturn:
    raise ArithmeticError("a number that cannot be")


def break_one(monkeypatch: pytest.MonkeyPatch, detector: Detector, method: str) -> None:
    """Have a method of one detector fail, and of no other."""
    whole = getattr(Detector, method)
    monkeypatch.setattr(Detector, method, lambda one, *args: broken() if one is detector else whole(one, *args))


@pytest.mark.parametrize("method", ["changes", "_read"])
def test_a_stream_in_which_an_error_arises_stops_and_the_others_go_on(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named, once in the log, and takes no more rows; the other's transitions are what they are without it."""
    rows, bad = hourly_scores(60, 20, 40), StreamKey("bad", KEY.metric, "1")
    others = [one | {"deployment": "bad"} for one in rows]
    expected = feed_all([*rows, *others])[1]
    streams, found = Streams(SETTINGS), []
    for begin, end in pairwise([0, 6, 200, len(rows)]):
        found += feed(streams, SCORES.rows([*others[begin:end], *rows[begin:end]]), NOW)
        if not begin:
            break_one(monkeypatch, streams._streams[bad, Scale(0.0, 1.0), False].detector, method)
        assert set(streams.readings()) == ({KEY} if end > 6 or method == "_read" else {KEY, bad})
    assert found == [one for one in expected if one.key == KEY]
    assert found
    assert list(streams.stopped) == [bad]
    assert streams.skipped["stopped"] == len(rows) - (6 if method == "_read" else 200)
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_what_a_stream_found_before_an_error_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fall at hour 20 and an error at hour 35 in one portion: it warns and pages as it does without the error."""
    rows, take_run = hourly_scores(60, 20, 40), Detector._take_run

    def takes_no_hour_35(self: Detector, run: Observations, thresholds: Any) -> Any:
        return broken() if run.starts[-1] >= microseconds(START + 35 * HOUR) else take_run(self, run, thresholds)

    expected = feed_all(rows)[1]
    monkeypatch.setattr(Detector, "_take_run", takes_no_hour_35)
    streams, found = feed_all(rows)
    assert [one.change for one in expected] == ["firing", "firing", "resolved"]
    assert found == expected[:2]
    assert list(streams.stopped) == [KEY]


def test_a_stream_that_stopped_before_its_scale_changed_is_not_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores on another scale are a stream of their own: it is read, and nothing is said to have stopped."""
    ends = {"direction": "up", "low": 0.0, "high": 2.0}
    streams = feed_all(hourly_scores(20, 1000))[0]
    with monkeypatch.context() as failing:
        failing.setattr(Detector, "changes", broken)
        feed(streams, SCORES.rows([row(START + 20 * HOUR, 0.8), row(START + 30 * HOUR, 0.8)]), NOW)
    assert list(streams.stopped) == [KEY]
    feed(streams, SCORES.rows([row(START + hour * HOUR, 1.6, **ends) for hour in range(40, 50)]), NOW)
    assert (list(streams.stopped), list(streams.readings())) == ([], [KEY])
