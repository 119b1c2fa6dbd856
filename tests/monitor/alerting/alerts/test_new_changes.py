"""Whole changes as they are made from transitions, judgements and deliveries: each field is what it says."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta, timezone
from typing import Any

import msgspec
import pytest

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, OnsetKind, Tier
from lake.spec.case_vocabulary import FailedPart
from monitor.alerting.alerts.change import AlertChange, AlertDetails, WorstAnswer, digest
from monitor.alerting.alerts.judge_wait import held, overdue, with_waiting_pages
from monitor.alerting.alerts.new_changes import change_of, changes_of_transitions, delivery_of, with_verdict
from monitor.detect.causes import AroundOnset
from monitor.detect.regression import Judgement, NewClass, SegmentChange, Shift
from tests.monitor.alerting.alerts.test_alerts import HOUR, KEY, NOW, READING, START, fired, resolved

MOMENT = timedelta(microseconds=1)
SEGMENTS = (SegmentChange("de", 0.1, 0.2, 0.9, 0.5), SegmentChange("fr", 0.9, 0.8, 0.7, 0.6))
AROUND = AroundOnset(answers=9)
FULL = replace(
    READING,
    false_alarm_every=timedelta(days=30, seconds=5),
    observations=201,
    since_observations=40,
    reference_observations=202,
    within=-0.3,
    mix=0.1,
    segments=SEGMENTS,
    most_worsened=SEGMENTS[1],
    lower_is_better=True,
    onset=OnsetKind.RECURRING,
    onset_hours=(9, 17),
)
BEGINS = replace(
    fired(),
    reading=FULL,
    judgement=Judgement(AlertVerdict.BOTH, Shift(-0.4, -0.5, -0.3, 200), can_drift=False),
    failed_parts={FailedPart.RETRIEVAL: 3, FailedPart.GENERATION: 0},
    around_onset=AROUND,
)


def as_dict(change: AlertChange) -> dict[str, Any]:
    return {column.name: getattr(change, column.name) for column in fields(change)}


def test_a_change_has_every_number_of_its_reading() -> None:
    """In the field of its name; parts in which no answer failed are left out."""
    alert_id = digest("apps/rag", "faithfulness_kprecision", "1", "2026-11-01T10:00:00+00:00")
    assert as_dict(change_of(BEGINS, None, NOW)) == {
        "change_id": digest(alert_id, "firing"),
        "alert_id": alert_id,
        "key": KEY,
        "change": AlertEvent.FIRING,
        "changed_at": START + 10 * HOUR,
        "reason": "the evidence of a regression reached the threshold of a warning",
        "since": START + 5 * HOUR,
        "reference_mean": 0.8,
        "current_mean": 0.4,
        "current_lower": 0.3,
        "current_upper": 0.5,
        "log_evidence": 7.1,
        "log_threshold": 6.6,
        "verdict": AlertVerdict.BOTH,
        "delivery_of": None,
        "incident_id": None,
        "details": AlertDetails(
            fired_at=START + 10 * HOUR,
            tier=Tier.WARN,
            recorded_at=NOW,
            since_earliest=START + 4 * HOUR,
            since_latest=START + 7 * HOUR,
            onset=OnsetKind.RECURRING,
            onset_hours=(9, 17),
            drop=0.4,
            drop_lower=0.26,
            drop_upper=0.54,
            false_alarm_every_seconds=30 * 86400.0 + 5,
            can_drift=False,
            judge_shift=-0.4,
            judge_shift_lower=-0.5,
            judge_shift_upper=-0.3,
            lower_is_better=True,
            observations=201,
            since_observations=40,
            reference_observations=202,
            within=-0.3,
            mix=0.1,
            segments=SEGMENTS,
            most_worsened=SEGMENTS[1],
            worst=(WorstAnswer("answer-1", 0.0), WorstAnswer("answer-2", 0.1)),
            failed_parts={FailedPart.RETRIEVAL: 3},
            around_onset=AROUND,
        ),
    }
    elsewhere = replace(BEGINS, at=BEGINS.at.astimezone(timezone(timedelta(hours=5))))
    assert change_of(elsewhere, None, NOW).alert_id == alert_id


def test_what_follows_keeps_what_the_alert_said_before() -> None:
    """When it fired, its tier, what changed around its onset, and its verdict where none is known any more."""
    opened = change_of(replace(BEGINS, reading=replace(FULL, tier=Tier.PAGE)), None, NOW)
    unknown = replace(READING, tier=None, since_observations=0, reference_observations=0)
    end = change_of(replace(resolved(), reading=unknown, judgement=Judgement(AlertVerdict.JUDGE)), opened, NOW + HOUR)
    assert (end.alert_id, end.change_id) == (opened.alert_id, digest(opened.alert_id, "resolved"))
    assert (end.verdict, end.current_mean) == (AlertVerdict.BOTH, 0.4)
    assert end.reason == "the evidence that quality is back reached the threshold"
    details = end.details
    assert (details.fired_at, details.tier, details.around_onset) == (opened.fired_at, Tier.PAGE, AROUND)
    assert (details.since_observations, details.reference_observations, details.judge_shift) == (None, None, None)
    again = change_of(replace(fired(12), judgement=Judgement(AlertVerdict.UNDECIDED)), opened, NOW)
    assert (again.change_id, again.verdict) == (digest(opened.alert_id, "firing", "page"), AlertVerdict.BOTH)
    other = change_of(replace(fired(12), judgement=Judgement(AlertVerdict.SYSTEM)), opened, NOW)
    assert other.verdict == AlertVerdict.SYSTEM


def test_a_class_of_traffic_and_proposed_cases_are_named_in_the_reason() -> None:
    """The end of a new class is no recovery: it has no mean."""
    proposed = replace(fired(), reading=replace(READING, by_proposed=True, tier=None))
    assert change_of(proposed, None, NOW).reason == (
        "the evidence of a regression reached the threshold of a warning, by cases of ground truth that were only "
        "proposed then, which never become urgent"
    )
    new = replace(READING, new_class=NewClass("language de", 0.2, 0.4, 0.8))
    begins = change_of(replace(fired(), reading=new), None, NOW)
    assert begins.reason == "the new class of traffic language de is worse than what the reference has"
    assert (begins.current_mean, begins.details.new_class) == (0.4, new.new_class)
    end = change_of(replace(resolved(), reading=new), begins, NOW)
    assert end.reason == "the new class of traffic language de was learned and has a reference of its own"
    assert (end.current_mean, end.ended_without_recovery) == (None, True)


def test_a_fall_while_learning_ends_without_a_recovery() -> None:
    early = replace(READING, while_learning=True)
    begins = change_of(replace(fired(), reading=early), None, NOW)
    assert begins.reason == "it fell while its reference was learned: what came later is worse than what came first"
    assert begins.details.while_learning
    end = change_of(replace(resolved(), reading=early), begins, NOW)
    assert (end.current_mean, end.ended_without_recovery) == (None, True)
    assert end.reason == (
        "its fall while the reference was learned was told for seven days, and is a part of the reference"
    )


def test_a_fall_after_a_marked_release_ends_with_what_is_learned_or_with_a_recovery() -> None:
    marked = replace(READING, marked_release=NOW)
    begins = change_of(replace(fired(), reading=marked), None, NOW)
    assert begins.reason == "it is worse than before a new level was accepted"
    assert begins.details.marked_release == NOW
    back = change_of(replace(resolved(), reading=marked), begins, NOW)
    assert (back.reason, back.ended_without_recovery) == (
        "the evidence that quality is back reached the threshold",
        False,
    )
    learned = change_of(replace(resolved(), reading=replace(marked, since_mean=None)), begins, NOW)
    assert learned.reason == "the accepted level is learned"
    assert learned.ended_without_recovery


def test_transitions_count_in_turn() -> None:
    """What is found again, or is not later than what is known, is nothing new; a second alert is another one."""
    twice = replace(resolved(21), reading=replace(READING, tier=Tier.PAGE))
    every = [fired(10), fired(11), resolved(20), twice, fired(20), fired(22), resolved(30)]
    found = changes_of_transitions([], every, NOW)
    assert [(change.change, change.changed_at - START) for change in found] == [
        ("firing", 10 * HOUR), ("resolved", 20 * HOUR), ("firing", 22 * HOUR), ("resolved", 30 * HOUR),
    ]  # fmt: skip
    assert len({change.alert_id for change in found}) == 2
    assert [change.fired_at - START for change in found] == [10 * HOUR, 10 * HOUR, 22 * HOUR, 22 * HOUR]
    for known in range(len(found)):
        assert changes_of_transitions(found[: known + 1], every, NOW) == found[known + 1 :]


@pytest.mark.parametrize(
    ("known", "found", "verdict"),
    [
        (None, "system", "system"),
        ("undecided", "system", "system"),
        ("undecided", "judge", "judge"),
        ("undecided", "both", "both"),
        ("undecided", "undecided", None),
        ("judge", "system", "system"),
        ("judge", "both", "both"),
        ("judge", "judge", None),
        ("judge", "undecided", None),
        ("system", "both", None),
        ("system", "judge", None),
        ("both", "system", None),
    ],
)
def test_a_later_verdict_is_one_that_says_more(known: Any, found: Any, verdict: str | None) -> None:
    """Nothing is taken back but that only the judge has changed."""
    alert = replace(change_of(fired(), None, NOW), verdict=known)
    judgement = Judgement(found, Shift(-0.4, -0.5, -0.3, 200))
    change = with_verdict(alert, judgement, replace(READING, latest=START + 11 * HOUR), NOW + HOUR)
    assert (change and change.verdict) == verdict
    if change is None:
        return
    assert change.change_id == digest(alert.change_id, found)
    assert change.changed_at == START + 11 * HOUR
    assert change.reason.startswith("the judge's anchors say what changed: the ")
    assert ("not the judge" in change.reason, "not the application" in change.reason) == (
        found == "system",
        found == "judge",
    )
    details = change.details
    assert (details.recorded_at, details.fired_at) == (NOW + HOUR, alert.fired_at)
    assert (details.judge_shift, details.judge_shift_lower, details.judge_shift_upper) == (-0.4, -0.5, -0.3)
    for latest in (None, alert.changed_at):
        after = with_verdict(alert, judgement, replace(READING, latest=latest), NOW)
        assert after is not None
        assert after.changed_at == alert.changed_at + MOMENT


def test_a_page_waits_only_while_nothing_is_decided() -> None:
    """One of an earlier version has no verdict. An end, a warning, and a page without a time never wait."""
    page = replace(change_of(replace(fired(), reading=replace(READING, tier=Tier.PAGE)), None, NOW), verdict=None)
    waits = held(page, NOW)
    assert (waits.tier, waits.details.page_due, waits.change_id) == ("warn", NOW, digest(page.change_id, "warn"))
    assert waits.reason == (
        "the evidence of a regression reached the threshold of an urgent alert; until 2026-12-01T00:00:00+00:00 it "
        "waits for the judge's anchors"
    )
    warning = replace(page, details=msgspec.structs.replace(page.details, tier=Tier.WARN))
    for same in (replace(page, verdict=AlertVerdict.SYSTEM), replace(page, change=AlertEvent.RESOLVED), warning):
        assert held(same, NOW) == same
    assert held(page, None) == page
    raised = overdue(waits, None, NOW)
    assert raised is not None
    assert (raised.change_id, raised.changed_at) == (digest(page.alert_id, "firing", "page"), page.changed_at + MOMENT)
    assert raised.reason == (
        "the evidence is that of an urgent alert, and the judge's anchors have not decided so far what changed"
    )
    assert overdue(raised, None, NOW + HOUR) is None
    of_none = with_waiting_pages({KEY: replace(READING, tier=None)}, [waits])
    assert of_none[KEY].tier is None


def test_a_delivery_says_of_which_change_and_until_when() -> None:
    """Each receiver's has an id of its own, and so has each end of a silence."""
    change = replace(change_of(fired(), None, NOW), incident_id="incident")
    told = delivery_of(change, "team", AlertEvent.DELIVERED, "answered 200", NOW)
    assert as_dict(told) == as_dict(
        AlertChange(
            digest(change.change_id, "team"),
            change.alert_id,
            KEY,
            AlertEvent.DELIVERED,
            NOW,
            AlertDetails(receiver="team", fired_at=change.fired_at),
            "answered 200",
            delivery_of=change.change_id,
            incident_id="incident",
        )
    )
    silenced = [delivery_of(change, "team", AlertEvent.SILENCED, "", NOW, NOW + HOUR, before) for before in (0, 1)]
    assert [one.details.until for one in silenced] == [NOW + HOUR] * 2
    assert len({one.change_id for one in (*silenced, told)}) == 3
