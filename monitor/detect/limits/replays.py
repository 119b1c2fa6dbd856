"""Replays as a floor: an alert from a run that found cases answered worse, to one that shows that this is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from lake.spec.case_vocabulary import ReplayVerdict
from lake.spec.vocabulary import AlertEvent, Floor
from monitor.detect.limits.results import FloorChange, FloorDetails
from monitor.detect.stats.replays import ReplayStats

_SAY_NOTHING = (None, ReplayVerdict.INCOMPLETE, ReplayVerdict.TOO_FEW, ReplayVerdict.SUSPECTED)
_WORSE = "accepted cases that were asked again are answered worse than before"
_WELL = "accepted cases that were asked again are answered as well as before"
_ACCEPTED = "a person accepted the answers of this run"


def changes_of_replays(
    latest: Mapping[str, ReplayStats], last: Mapping[tuple[str, Floor], tuple[bool, datetime]]
) -> Iterator[FloorChange]:
    """Give the alerts that begin or end with the latest run of each deployment.

    A run that is too small says nothing, nor does one that only makes suspicious.

    `last` has of each floor whether its alert is open, and when that changed.
    """
    for name, run in latest.items():
        is_open, _ = last.get((name, Floor.REPLAY), (False, None))
        if run.started_at is None or run.verdict in _SAY_NOTHING:
            continue
        is_worse = run.verdict == ReplayVerdict.REGRESSION and not run.is_baseline
        if is_worse and not is_open:
            yield FloorChange(
                name, Floor.REPLAY, AlertEvent.FIRING, run.started_at, _WORSE, run.started_at, _details(run)
            )
        elif is_open and not is_worse:
            reason = _ACCEPTED if run.verdict == ReplayVerdict.REGRESSION else _WELL
            yield FloorChange(name, Floor.REPLAY, AlertEvent.RESOLVED, run.started_at, reason, details=_details(run))


def _details(run: ReplayStats) -> FloorDetails:
    share = run.pass_share
    return FloorDetails(
        share=None if share is None else 1 - share,
        requests=run.scored,
        bad=run.scored - run.passed,
        mostly=run.failed_part,
    )
