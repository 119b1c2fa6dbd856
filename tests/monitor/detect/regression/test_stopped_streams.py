from itertools import pairwise
from typing import Any, NoReturn

import pyarrow as pa
import pytest

from lake.spec.schemas import SCORES
from monitor.detect.regression import Detector, Scale, StreamKey, Streams
from monitor.detect.regression.arrays import microseconds
from monitor.detect.regression.batches.batches import Batches, ScoreColumns
from monitor.detect.regression.batches.grouping import ScoreGrouper
from monitor.detect.regression.observations import Observations
from tests.monitor.detect.regression.feeding import HOUR, KEY, NOW, SETTINGS, START, feed, feed_all, hourly_scores


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
    assert list(streams.stopped.errors) == [bad.of_metric]
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
    assert list(streams.stopped.errors) == [KEY.of_metric]


def test_a_stream_that_learns_anew_is_as_if_it_had_never_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of the metric come again, of whatever scale; what the other streams find is the same throughout."""
    rows = hourly_scores(60, 20, 40)
    others = [one | {"deployment": "other"} for one in rows]
    whole, expected = feed_all([*rows, *others])
    streams = Streams(SETTINGS)
    found = feed(streams, SCORES.rows([*rows[:6], *others[:6]]), NOW)
    with monkeypatch.context() as failing:
        break_one(failing, streams._streams[KEY, Scale(0.0, 1.0), False].detector, "changes")
        found += feed(streams, SCORES.rows([*rows[6:200], *others[6:200]]), NOW)
        assert list(streams.stopped.errors) == [KEY.of_metric]
    streams.forget_metrics(KEY.deployment, {KEY.metric})
    streams.stopped.learn_anew(KEY.deployment, [KEY.metric])
    found += feed(streams, SCORES.rows([*rows, *others[200:]]), NOW)
    streams.stopped.note_working(KEY.deployment, [KEY.metric])
    assert streams.stopped.errors == {}
    assert streams.readings() == whole.readings()
    assert sorted(found, key=lambda one: (one.key, one.at)) == sorted(expected, key=lambda one: (one.key, one.at))


@pytest.mark.parametrize(
    ("owner", "method"), [(ScoreGrouper, "group"), (Batches, "add"), (Detector, "changes"), (Detector, "_read")]
)
def test_an_error_of_any_step_stops_only_its_metric(owner: type, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grouping, batches, detector and reading; the other metric of the deployment, in the same rows, goes on."""
    rows = hourly_scores(60, 20, 40)
    bad = [one | {"metric": "bad", "value": 0.123} for one in rows]
    expected = feed_all([*rows, *bad])[1]
    whole = getattr(owner, method)

    def values_of(one: Any, given: tuple[Any, ...]) -> Any:
        if isinstance(given[0] if given else None, pa.Table):
            return given[0]["value"].to_numpy()
        return given[0].values if isinstance(given[0] if given else None, ScoreColumns) else ()

    def fails(one: Any, *given: Any) -> Any:
        return broken() if is_bad(one) or 0.123 in values_of(one, given) else whole(one, *given)

    streams = Streams(SETTINGS)

    def is_bad(one: Any) -> bool:
        stream = streams._streams.get((StreamKey(KEY.deployment, "bad", "1"), Scale(0.0, 1.0), False))
        return stream is not None and one is stream.detector

    monkeypatch.setattr(owner, method, fails)
    found = feed(streams, SCORES.rows([*rows, *bad]), NOW)
    assert list(streams.readings()) == [KEY]
    assert list(streams.stopped.errors) == [(KEY.deployment, "bad")]
    if owner is Detector:
        assert found == [one for one in expected if one.key == KEY]
    assert found
