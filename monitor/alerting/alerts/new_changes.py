"""New changes of alerts, made from transitions, judgements and deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent, AlertVerdict, Tier
from monitor.alerting.alerts.change import AlertChange, AlertDetails, WorstAnswer, digest
from monitor.alerting.alerts.judge_wait import decided, held
from monitor.detect.causes import AffectedCounts
from monitor.detect.regression import Judgement, Reading, Transition

_MOMENT = timedelta(microseconds=1)
_PROPOSED = ", by cases of ground truth that were only proposed then, which never become urgent"
_FELL_WHILE_LEARNING = "it fell while its reference was learned: what came later is worse than what came first"
_TOLD_LONG_ENOUGH = "its fall while the reference was learned was told for seven days, and is a part of the reference"
_WAS_OUTAGE = "nearly all answers were bad for a short time, and are as good as before: no change of quality"
_TIERS = {Tier.WARN: "a warning", Tier.PAGE: "an urgent alert"}
_CHANGED: Mapping[AlertVerdict, str] = {
    AlertVerdict.SYSTEM: "the application, its documents or the questions, not the judge",
    AlertVerdict.JUDGE: "the judge, not the application",
    AlertVerdict.BOTH: "the judge, and the application, its documents or the questions",
}
_LATER_VERDICTS: Mapping[AlertVerdict, tuple[AlertVerdict, ...]] = {
    AlertVerdict.UNDECIDED: (AlertVerdict.SYSTEM, AlertVerdict.JUDGE, AlertVerdict.BOTH),
    AlertVerdict.JUDGE: (AlertVerdict.SYSTEM, AlertVerdict.BOTH),
}
"""The verdicts that may follow a verdict of an open alert."""


def changes_of_transitions(
    known: Sequence[AlertChange], transitions: Sequence[Transition], now: datetime
) -> list[AlertChange]:
    """Return the changes of the transitions that are new after those that are known.

    A stream fires where it does not fire already, or where its alert reaches the tier `page`, and is resolved only
    where it fires; nothing older than its last change is new.
    """
    last = {change.key: change for change in known if change.change in ALERT_STATES}
    found: list[AlertChange] = []
    for transition in transitions:
        before = last.get(transition.key)
        is_open = before is not None and before.change == AlertEvent.FIRING
        # A page that waits is raised already.
        is_raised = (
            before is not None
            and (before.tier, transition.reading.tier) == (Tier.WARN, Tier.PAGE)
            and before.details.page_due is None
        )
        if is_open is (transition.change == AlertEvent.FIRING) and not (is_open and is_raised):
            continue
        if before and transition.at <= before.changed_at:
            continue
        change = held(change_of(transition, before if is_open else None, now), transition.page_due)
        last[transition.key] = change
        found.append(change)
    return found


def not_recorded(known: Sequence[AlertChange], changes: Sequence[AlertChange]) -> list[AlertChange]:
    """Return the changes whose ids are not known."""
    ids = {old.change_id for old in known}
    return [change for change in changes if change.change_id not in ids]


def delivery_of(
    change: AlertChange,
    receiver: str,
    outcome: AlertEvent,
    reason: str,
    at: datetime,
    until: datetime | None = None,
    rows_before: int = 0,
) -> AlertChange:
    """Return the change that says what came of sending `change` to a receiver; `until` is the end of a silence.

    A silence may be extended: then `rows_before`, the number of rows that say so already, keeps the ids apart.
    """
    return AlertChange(
        change_id=digest(change.change_id, receiver, *([until.isoformat(), str(rows_before)] if until else [])),
        alert_id=change.alert_id,
        key=change.key,
        change=outcome,
        changed_at=at,
        details=AlertDetails(receiver=receiver, fired_at=change.details.fired_at, until=until),
        reason=reason,
        delivery_of=change.change_id,
        incident_id=change.incident_id,
    )


def change_of(transition: Transition, opened: AlertChange | None, now: datetime) -> AlertChange:
    """Return the change of a transition; `opened` is the last `firing` change of the alert, None where it begins."""
    key, reading = transition.key, transition.reading
    fired_at = opened.fired_at if opened else transition.at
    alert_id = (
        opened.alert_id
        if opened
        else digest(key.deployment, key.metric, key.metric_version, transition.at.astimezone(UTC).isoformat())
    )
    told_enough = reading.new_class is not None or reading.while_learning or reading.since_mean is None
    is_learned = told_enough and transition.change == AlertEvent.RESOLVED
    again = [Tier.PAGE] if opened and transition.change == AlertEvent.FIRING else []
    return AlertChange(
        change_id=digest(alert_id, transition.change, *again),
        alert_id=alert_id,
        key=key,
        change=transition.change,
        changed_at=transition.at,
        since=reading.since,
        reference_mean=reading.reference_mean,
        current_mean=None if is_learned else reading.since_mean,
        current_lower=reading.since_lower,
        current_upper=reading.since_upper,
        log_evidence=reading.log_evidence,
        log_threshold=reading.log_threshold,
        verdict=_verdict(transition, opened),
        reason=_reason(transition),
        details=AlertDetails(
            fired_at=fired_at,
            tier=reading.tier or (opened.tier if opened else None),
            log_page_threshold=reading.log_page_threshold if reading.tier == Tier.PAGE else None,
            recorded_at=now,
            since_earliest=reading.since_earliest,
            since_latest=reading.since_latest,
            onset=reading.onset,
            onset_hours=reading.onset_hours,
            older_version=reading.older_version,
            drop=reading.drop,
            drop_lower=reading.drop_lower,
            drop_upper=reading.drop_upper,
            false_alarm_every_seconds=reading.false_alarm_every.total_seconds(),
            lower_is_better=reading.lower_is_better,
            observations=reading.observations,
            since_observations=reading.since_observations or None,
            reference_observations=reading.reference_observations or None,
            within=reading.within,
            mix=reading.mix,
            segments=reading.segments,
            most_worsened=reading.most_worsened,
            marked_release=reading.marked_release,
            while_learning=reading.while_learning,
            back_since=None if transition.change == AlertEvent.FIRING else reading.recovering_since,
            outage_seconds=reading.outage_lasted.total_seconds() if reading.outage_lasted is not None else None,
            new_class=reading.new_class,
            **_shift_of(transition.judgement),
            worst=tuple(WorstAnswer(*answer) for answer in transition.worst) or _worst_known(transition, opened),
            around_onset=transition.around_onset or (opened.details.around_onset if opened else None),
            affected=transition.affected or _affected_known(transition, opened),
            failed_parts={part: count for part, count in transition.failed_parts.items() if count},
        ),
    )


def _affected_known(transition: Transition, opened: AlertChange | None) -> AffectedCounts | None:
    """Return those of the warning where its page was not counted; an end is of a longer time."""
    return opened.details.affected if opened and transition.change == AlertEvent.FIRING else None


def _worst_known(transition: Transition, opened: AlertChange | None) -> tuple[WorstAnswer, ...]:
    """Return those of the warning where its page comes later, by the clock alone."""
    return opened.details.worst if opened and transition.change == AlertEvent.FIRING else ()


def _reason(transition: Transition) -> str:
    reading, is_firing = transition.reading, transition.change == AlertEvent.FIRING
    if reading.new_class is not None:
        told = "is worse than what the reference has" if is_firing else "was learned and has a reference of its own"
        return f"the new class of traffic {reading.new_class.name} {told}"
    if reading.outage_lasted is not None:
        return _WAS_OUTAGE
    if reading.while_learning:
        return _FELL_WHILE_LEARNING if is_firing else _TOLD_LONG_ENOUGH
    if reading.marked_release is not None and is_firing:
        return "it is worse than before a new level was accepted"
    if reading.marked_release is not None and reading.since_mean is None:
        return "the accepted level is learned"
    if not is_firing:
        return "the evidence that quality is back reached the threshold"
    reached = f"the evidence of a regression reached the threshold of {_TIERS[reading.tier or Tier.WARN]}"
    return f"{reached}{_PROPOSED if reading.by_proposed else ''}"


def _verdict(transition: Transition, opened: AlertChange | None) -> AlertVerdict:
    """Return the verdict: the one known before where none is known now, and where the alert is over."""
    found = transition.judgement.verdict
    known = opened.verdict if opened else None
    return known if known and (found == AlertVerdict.UNDECIDED or transition.change == AlertEvent.RESOLVED) else found


def with_verdict(alert: AlertChange, judgement: Judgement, reading: Reading, now: datetime) -> AlertChange | None:
    """Return one more `firing` change of an open alert where the judgement says more than its verdict; else None."""
    if judgement.verdict not in _LATER_VERDICTS.get(alert.verdict or AlertVerdict.UNDECIDED, ()):
        return None
    change = replace(
        alert,
        # An alert may turn out to be the same again, after its next tier said otherwise.
        change_id=digest(alert.change_id, judgement.verdict),
        # After the change that it adds to, and before the end of the next batch.
        changed_at=max(alert.changed_at + _MOMENT, reading.latest or alert.changed_at),
        verdict=judgement.verdict,
        reason=f"the judge's anchors say what changed: {_CHANGED[judgement.verdict]}",
        details=msgspec.structs.replace(alert.details, recorded_at=now, **_shift_of(judgement)),
    )
    return decided(change)


def _shift_of(judgement: Judgement) -> dict[str, Any]:
    shift = judgement.shift
    ends = (shift.mean, shift.lower, shift.upper) if shift else (None, None, None)
    names = ("judge_shift", "judge_shift_lower", "judge_shift_upper")
    return {"can_drift": judgement.can_drift} | dict(zip(names, ends, strict=True))
