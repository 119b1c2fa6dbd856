"""Times in which a deployment gave worse answers: what people liked then is no case before a person says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow.dataset as ds

from lake.queries.ground_truth.case_sources import possible_sources
from lake.queries.ground_truth.case_versions import EVALUATOR, newest_versions, next_version
from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent, AlertVerdict, LimitKind
from lake.spec.case_vocabulary import CaseStatus
from lake.spec.metric_names import quoted_name
from lake.tables.table import Table

FALL_COLUMNS = ("alert_id", "incident_id", "metric", "change", "changed_at", "since", "verdict")
"""Columns of `alerts` that falls are read from."""

_NOT_OF_ANSWERS = (LimitKind.JUDGE_DRIFT, LimitKind.UNSCORED, LimitKind.NO_DATA)
"""Limits that say nothing of the answers that were given."""
_COLUMNS = ("case_id", "version", "deployment", "status", "status_by", "doubt", "source_response_id", "source_date",
            "question", "answer")  # fmt: skip
_DOUBT = "its answer was given while an incident was open: {what} got worse, since {since:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True)
class Fall:
    """An incident of a deployment that is about its answers: from the onset on, until its last alert was over.

    `ended_at` is None while one of its alerts fires. `metric` is that of the alert with the earliest onset.
    """

    incident_id: str
    since: datetime
    ended_at: datetime | None
    metric: str

    @property
    def doubt(self) -> str:
        """`ground_truth.doubt` of a case whose answer was given meanwhile."""
        return _DOUBT.format(what=quoted_name(self.metric), since=self.since.astimezone(UTC))


def read_falls(alerts: Table) -> list[Fall]:
    """Read the falls of a deployment, open and over, the earliest first.

    Alerts by which only the judge changed are left out, as are limits that are not about answers.
    """
    if alerts.version() is None:
        return []
    incidents: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in alerts.read(FALL_COLUMNS, ds.field("change").isin(ALERT_STATES)).to_pylist():
        if row["verdict"] != AlertVerdict.JUDGE and row["metric"] not in _NOT_OF_ANSWERS:
            incidents[incident_of(row)].append(row)
    found = [_fall(name, rows) for name, rows in incidents.items()]
    return sorted((one for one in found if one is not None), key=lambda one: one.since)


def incident_of(row: Mapping[str, Any]) -> str:
    """Return the incident of a row of `alerts`; an alert of an older version is one by itself."""
    return str(row["incident_id"] or row["alert_id"])


def _fall(incident_id: str, rows: Sequence[Mapping[str, Any]]) -> Fall | None:
    fired = [row for row in rows if row["change"] == AlertEvent.FIRING]
    if not fired:
        return None
    first = min(fired, key=_onset)
    ended = {row["alert_id"]: row["changed_at"] for row in rows if row["change"] == AlertEvent.RESOLVED}
    is_open = any(row["alert_id"] not in ended for row in fired)
    return Fall(incident_id, _onset(first), None if is_open else max(ended.values()), first["metric"])


def _onset(row: Mapping[str, Any]) -> datetime:
    onset: datetime = row["since"] or row["changed_at"]
    return onset


def doubt_of(falls: Iterable[Fall], at: datetime) -> str | None:
    """Return why an answer that was asked for at this time needs a person's word; None where it needs none."""
    return next((one.doubt for one in falls if one.since <= at and (one.ended_at is None or at < one.ended_at)), None)


def with_doubts(
    truth: Table, logs: Table, falls: Sequence[Fall], changed: Sequence[dict[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    """Return the changed cases, and next versions of those whose answers turn out to be given during one of the falls.

    What a person accepted or rejected stays as it is. A case that signals have withdrawn, or that is stale, may be
    proposed again later: it is doubted too.
    """
    doubts = _new_doubts(truth, logs, falls)
    ours = {case["case_id"] for case in changed}
    added = [{**case, "doubt": doubts.get(case["case_id"], case["doubt"])} for case in changed]
    if others := sorted(doubts.keys() - ours):
        rows = newest_versions(truth.read(where=ds.field("case_id").isin(others))).to_pylist()
        said = ((row, doubts[row["case_id"]]) for row in rows)
        added += [next_version(row, {"doubt": doubt, "note": doubt}, EVALUATOR, now) for row, doubt in said]
    return added


def _new_doubts(truth: Table, logs: Table, falls: Sequence[Fall]) -> dict[str, str]:
    if not falls or truth.version() is None:
        return {}
    first = falls[0].since.astimezone(UTC).date()
    some = [
        case
        for case in newest_versions(truth.read(_COLUMNS)).to_pylist()
        if case["source_response_id"] is not None and (case["source_date"] or first) >= first and _may_be_doubted(case)
    ]
    sources = possible_sources(logs, some) if some else {}
    times = {case_id: min(row["requested_at"] for row in rows) for case_id, rows in sources.items()}
    return {case_id: doubt for case_id, at in times.items() if (doubt := doubt_of(falls, at)) is not None}


def _may_be_doubted(case: Mapping[str, Any]) -> bool:
    is_decided = case["status"] == CaseStatus.REJECTED and case["status_by"] != EVALUATOR
    return case["doubt"] is None and case["status"] != CaseStatus.ACCEPTED and not is_decided
