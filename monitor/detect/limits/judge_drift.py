"""Judges that changed, as a floor: an alert from when a judge scores its anchors otherwise until it no longer does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from lake.spec.vocabulary import AlertEvent, Floor
from monitor.detect.limits.results import ChangedJudge, FloorChange, FloorDetails
from monitor.detect.regression import JudgeReading

_CHANGED = "a judge scores answers otherwise than it scored the same answers at first"
_OVER = "the judge scores the same answers as at first again, or its metric has a new version or no scores"


def changes_of_judges(
    readings: Mapping[str, Mapping[str, JudgeReading]], last: Mapping[tuple[str, Floor], tuple[bool, datetime]]
) -> Iterator[FloorChange]:
    """Give the alerts that begin or end with the readings of all judges of each deployment, by metric.

    `last` has of each floor whether its alert is open, and when that changed.
    """
    for name, judges in readings.items():
        is_open, changed_at = last.get((name, Floor.JUDGE_DRIFT), (False, None))
        changed = {metric: one for metric, one in judges.items() if one.active}
        scored = [one.last_scored_at for one in (changed or judges).values() if one.last_scored_at is not None]
        if not scored or bool(changed) is is_open or (changed_at is not None and max(scored) <= changed_at):
            continue
        if is_open:
            yield FloorChange(name, Floor.JUDGE_DRIFT, AlertEvent.RESOLVED, max(scored), _OVER)
            continue
        since = min((one.since for one in changed.values() if one.since is not None), default=None)
        shifts = [(metric, changed[metric].shift) for metric in sorted(changed)]
        details = FloorDetails(
            judges=tuple(ChangedJudge(m, s.mean, s.lower, s.upper, s.answers) for m, s in shifts if s)
        )
        yield FloorChange(name, Floor.JUDGE_DRIFT, AlertEvent.FIRING, max(scored), _CHANGED, since, details)
