"""Limits on verdicts that are reached elsewhere: judges that changed, means beyond a limit, and replays that are worse.

An alert lasts until the judge scores its anchors as at first again, the evidence says that no mean is beyond its limit,
or a run shows that the cases are answered as well as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from lake.spec.alert_vocabulary import AlertEvent, LimitKind
from lake.spec.case_vocabulary import ReplayVerdict
from monitor.detect.limits.results import ChangedJudge, LastChange, LimitChange, LimitDetails, MeanBeyondLimit
from monitor.detect.regression import JudgeReading, LowMean
from monitor.detect.stats.replays import ReplayStats

_CHANGED = "a judge scores answers otherwise than it scored the same answers at first"
_OVER = "the judge scores the same answers as at first again, or its metric has a new version or no scores"
_BEYOND = "a mean is worse than the limit that was set for it"
_MORE_BEYOND = "one more mean is worse than the limit that was set for it"
_WITHIN = "the evidence that no mean is worse than its limit reached the threshold, or a limit was taken away"
_UNWATCHED = "no metric with a limit has scores any more"
_SAY_NOTHING = (None, ReplayVerdict.INCOMPLETE, ReplayVerdict.TOO_FEW, ReplayVerdict.SUSPECTED)
_WORSE = "accepted cases that were asked again are answered worse than before"
_WELL = "accepted cases that were asked again are answered as well as before"
_ACCEPTED = "a person accepted the answers of this run"


def changes_of_judges(
    readings: Mapping[str, Mapping[str, JudgeReading]], last: Mapping[tuple[str, LimitKind], LastChange]
) -> Iterator[LimitChange]:
    """Yield the alerts that begin or end with the readings of all judges of each deployment, by metric.

    `last` has of each limit whether its alert is open, and when that changed.
    """
    for name, judges in readings.items():
        is_open, changed_at = _open_and_changed(last, name, LimitKind.JUDGE_DRIFT)
        changed = {metric: one for metric, one in judges.items() if one.active}
        scored = [one.last_scored_at for one in (changed or judges).values() if one.last_scored_at is not None]
        if not scored or bool(changed) is is_open or (changed_at is not None and max(scored) <= changed_at):
            continue
        if is_open:
            at = max(scored)
            yield LimitChange(name, LimitKind.JUDGE_DRIFT, AlertEvent.RESOLVED, at, _OVER, back_at=at)
            continue
        since = min((one.since for one in changed.values() if one.since is not None), default=None)
        shifts = [(metric, changed[metric].shift) for metric in sorted(changed)]
        details = LimitDetails(
            judges=tuple(ChangedJudge(m, s.mean, s.lower, s.upper, s.answers) for m, s in shifts if s)
        )
        yield LimitChange(name, LimitKind.JUDGE_DRIFT, AlertEvent.FIRING, max(scored), _CHANGED, since, details)


def changes_of_means(
    readings: Mapping[str, Mapping[str, LowMean]],
    last: Mapping[tuple[str, LimitKind], LastChange],
    now: datetime,
) -> Iterator[LimitChange]:
    """Yield the alerts that begin, go on or end with all means of each deployment that have a limit, by metric.

    Of one that goes on all means beyond their limits are given: who records it knows which it has named. A deployment
    without a mean has no limit any more. Evidence that was begun anew, as after a start without the monitor's state,
    ends no alert while a mean is beyond its limit. `last` has of each limit whether its alert is open,
    and when that changed.
    """
    for name, means in readings.items():
        is_open, changed_at = _open_and_changed(last, name, LimitKind.AT_LEAST)
        if not means:
            if is_open:
                yield LimitChange(name, LimitKind.AT_LEAST, AlertEvent.RESOLVED, now, _UNWATCHED)
            continue
        beyond = {metric: one for metric, one in sorted(means.items()) if one.is_on}
        latest = max(one.latest for one in (beyond or means).values())
        if (not beyond and not is_open) or (changed_at is not None and latest <= changed_at):
            continue
        if not beyond:
            if not any(one.is_surely_beyond for one in means.values()):
                yield LimitChange(name, LimitKind.AT_LEAST, AlertEvent.RESOLVED, latest, _WITHIN, back_at=latest)
            continue
        since = min((one.since for one in beyond.values() if one.since is not None), default=None)
        found = tuple(
            MeanBeyondLimit(metric, one.mean, one.lower, one.upper, one.limit, one.conversations, one.lower_is_better)
            for metric, one in beyond.items()
        )
        reason = _MORE_BEYOND if is_open else _BEYOND
        yield LimitChange(name, LimitKind.AT_LEAST, AlertEvent.FIRING, latest, reason, since, LimitDetails(means=found))


def changes_of_replays(
    latest: Mapping[str, ReplayStats], last: Mapping[tuple[str, LimitKind], LastChange]
) -> Iterator[LimitChange]:
    """Yield the alerts that begin or end with the latest run of each deployment.

    A run that is too small says nothing, nor does one that only makes suspicious.

    `last` has of each limit whether its alert is open, and when that changed.
    """
    for name, run in latest.items():
        is_open, _ = _open_and_changed(last, name, LimitKind.REPLAY)
        if run.started_at is None or run.verdict in _SAY_NOTHING:
            continue
        is_worse = run.verdict == ReplayVerdict.REGRESSION and not run.is_baseline
        if is_worse and not is_open:
            yield LimitChange(
                name, LimitKind.REPLAY, AlertEvent.FIRING, run.started_at, _WORSE, run.started_at, _details(run)
            )
        elif is_open and not is_worse:
            is_accepted = run.verdict == ReplayVerdict.REGRESSION
            yield LimitChange(
                name,
                LimitKind.REPLAY,
                AlertEvent.RESOLVED,
                run.started_at,
                _ACCEPTED if is_accepted else _WELL,
                details=_details(run),
                back_at=None if is_accepted else run.started_at,
            )


def _open_and_changed(
    last: Mapping[tuple[str, LimitKind], LastChange], deployment: str, kind: LimitKind
) -> tuple[bool, datetime | None]:
    change = last.get((deployment, kind))
    return (change.is_open, change.at) if change else (False, None)


def _details(run: ReplayStats) -> LimitDetails:
    share = run.pass_share
    return LimitDetails(
        share=None if share is None else 1 - share,
        requests=run.scored,
        bad=run.scored - run.passed,
        mostly=run.failed_part,
    )
