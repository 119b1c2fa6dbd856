"""What is said of a fall before a judge's anchors were looked at, and of a metric without a judge."""

from __future__ import annotations

from lake.spec.alert_vocabulary import AlertVerdict
from monitor.detect.regression.judgement import MEASURED, UNDECIDED


def test_nothing_is_explained_before_anything_is_known() -> None:
    assert (UNDECIDED.verdict, UNDECIDED.shift) == (AlertVerdict.UNDECIDED, None)
    assert UNDECIDED.can_drift
    assert not UNDECIDED.is_explained


def test_a_metric_without_a_judge_cannot_drift_so_the_answers_have_changed() -> None:
    assert (MEASURED.verdict, MEASURED.shift) == (AlertVerdict.SYSTEM, None)
    assert not MEASURED.can_drift
    assert not MEASURED.is_explained
