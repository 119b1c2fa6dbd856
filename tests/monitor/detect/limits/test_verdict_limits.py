"""Limits whose change is a verdict of another part: of replays, and of a judge that drifts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.case_vocabulary import ReplayVerdict
from monitor.detect.limits import LastChange, LimitChange, LimitDetails
from monitor.detect.limits.results import ChangedJudge
from monitor.detect.limits.verdict_limits import changes_of_judges, changes_of_replays
from monitor.detect.regression import JudgeReading, Shift
from monitor.detect.stats.replays import ReplayStats
from tests.monitor.detect.limits.test_shares import NOW

SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


def run(verdict: ReplayVerdict | None, **columns: Any) -> ReplayStats:
    return ReplayStats("r", NOW, verdict, passed=3, scored=12, failed_part="retrieval", **columns)


@pytest.mark.parametrize("is_open", [False, True])
def test_a_replay_begins_and_ends_an_alert(is_open: bool) -> None:
    """By its verdict; one that says nothing, or that a person accepted, begins none."""
    last: Any = {("rag", LimitKind.REPLAY): LastChange(is_open, NOW - DAY)}
    details = LimitDetails(share=0.75, requests=12, bad=9, mostly="retrieval")
    begins = LimitChange(
        "rag",
        LimitKind.REPLAY,
        "firing",
        NOW,
        "accepted cases that were asked again are answered worse than before",
        NOW,
        details,
    )
    ends = LimitChange(
        "rag", LimitKind.REPLAY, "resolved", NOW,
        "accepted cases that were asked again are answered as well as before", details=details, back_at=NOW,
    )  # fmt: skip
    regression = ReplayVerdict.REGRESSION
    assert list(changes_of_replays({"rag": run(regression)}, last)) == ([] if is_open else [begins])
    accepted = list(changes_of_replays({"rag": run(regression, is_baseline=True)}, last))
    assert [one.reason for one in accepted] == (["a person accepted the answers of this run"] if is_open else [])
    assert list(changes_of_replays({"rag": run(ReplayVerdict.NO_REGRESSION)}, last)) == ([ends] if is_open else [])
    assert len(list(changes_of_replays({"rag": run(ReplayVerdict.BASELINE)}, last))) == is_open
    for verdict in (None, ReplayVerdict.INCOMPLETE, ReplayVerdict.TOO_FEW):
        assert list(changes_of_replays({"rag": run(verdict)}, last)) == []
    assert list(changes_of_replays({"rag": ReplayStats("r", None, regression)}, last)) == []
    (unscored,) = changes_of_replays({"rag": ReplayStats("r", NOW, regression)}, {})
    assert unscored.details == LimitDetails(requests=0, bad=0)


def test_a_judge_begins_and_ends_an_alert() -> None:
    """Dated by the scores of those that changed; the names are in order, and since when is the earliest."""
    shift = Shift(-0.3, -0.4, -0.2, 50)

    def judge(active: bool, scored: int, since: int | None = None, known: Shift | None = shift) -> JudgeReading:
        began = None if since is None else NOW - since * HOUR
        return JudgeReading(known, active, began, NOW + scored * HOUR, None, None)

    readings = {"rag": {"n": judge(True, 1, 2), "m": judge(True, 2, 3), "well": judge(False, 9)}}
    (fires,) = changes_of_judges(readings, {})
    assert fires == LimitChange(
        "rag", LimitKind.JUDGE_DRIFT, "firing", NOW + 2 * HOUR,
        "a judge scores answers otherwise than it scored the same answers at first", NOW - 3 * HOUR,
        LimitDetails(judges=tuple(ChangedJudge(name, -0.3, -0.4, -0.2, 50) for name in "mn")),
    )  # fmt: skip
    key = ("rag", LimitKind.JUDGE_DRIFT)
    assert list(changes_of_judges(readings, {key: LastChange(True, NOW)})) == []
    for changed_at, number in ((NOW + 2 * HOUR, 0), (NOW + 2 * HOUR - SECOND, 1)):
        assert len(list(changes_of_judges(readings, {key: LastChange(False, changed_at)}))) == number
    well = {"rag": {"m": judge(False, 4), "n": judge(False, 5)}}
    assert list(changes_of_judges(well, {})) == []
    (over,) = changes_of_judges(well, {key: LastChange(True, NOW)})
    assert (over.change, over.at, over.details, over.reason) == (
        "resolved", NOW + 5 * HOUR, None,
        "the judge scores the same answers as at first again, or its metric has a new version or no scores",
    )  # fmt: skip
