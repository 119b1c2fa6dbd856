"""Checks of the demo: each stage did its work, and just the planted drop was found, with the part that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from collector.commit.batch import Counts
from dialwatch.demo.agent import AGENT, GET_ORDER, ORDERS, Outage
from dialwatch.demo.receiver import Delivery
from dialwatch.demo.traffic import Plan
from lake.queries.ground_truth.case_versions import newest_versions
from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent, LimitKind
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import FAILED_PART_MEANING, FailedPart
from lake.spec.schemas import ALERTS, SCORES
from lake.tables.lake import Lake

METRIC = "faithfulness_kprecision"
RETRIEVAL_METRIC = "facts_recall"
TOOL_METRIC = "tool_error_share"
"""Of the agent, whose answers have no contexts to keep to."""
_OF_AGENT = (AGENT, ORDERS)
_TOOL_ALERTS = (TOOL_METRIC, LimitKind.TOOL_ERRORS, LimitKind.ERRORS)
LOCATED_WITHIN = timedelta(hours=1)


@dataclass(frozen=True)
class Check:
    """One check of the demo: what it promises, what was found, and whether it passed."""

    promise: str
    found: str
    passed: bool


class ScoredAnswers:
    """Counts the answers that have a row of METRIC, or of TOOL_METRIC, with a value or without."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._versions: dict[str | None, int | None] = {}
        self._count = 0

    def count(self) -> int:
        """Return their number; reads only what is new since the last call."""
        for deployment in self._lake.deployments():
            change = self._lake.table(SCORES, deployment).read_since(self._versions.get(deployment), ["metric"])
            self._versions[deployment] = change.version
            self._count += sum(metric in (METRIC, TOOL_METRIC) for metric in change.rows["metric"].to_pylist())
        return self._count


def check_all(plan: Plan, counts: Counts, lake: Lake, deliveries: Sequence[Delivery]) -> list[Check]:
    """Compare the lake and what the receiver got with the plan of the traffic."""
    return [
        _lines(plan, counts),
        _signals(plan, counts),
        _scores(plan, lake),
        _ground_truth(lake),
        *_regression(plan, lake, deliveries),
        _failed_part(plan, lake, deliveries),
    ]


def _lines(plan: Plan, counts: Counts) -> Check:
    found = f"{counts.lines} lines: {counts.stored} rows, {counts.signals} signals, {counts.rejected} rejected"
    return Check(f"all {plan.entries} lines are accounted for", found, counts.lines == plan.entries and counts.add_up())


def _signals(plan: Plan, counts: Counts) -> Check:
    expected = plan.likes + plan.dislikes
    return Check(f"all {expected} ratings are signals", f"{counts.signals}", counts.signals == expected)


def _scores(plan: Plan, lake: Lake) -> Check:
    scored = ScoredAnswers(lake).count()
    # An answer on a malformed line may be readable too, so there can be a few more than were planned.
    most = plan.answers + sum(plan.malformed.values()) * 2
    found = f"{plan.answers} and {scored - plan.answers} on malformed lines that could be read"
    if scored < plan.answers:
        found = f"{scored}"
    return Check(f"all {plan.answers} answers are scored", found, plan.answers <= scored <= most)


def _ground_truth(lake: Lake) -> Check:
    cases = compared = 0
    for deployment in lake.deployments():
        cases += newest_versions(lake.table(GROUND_TRUTH, deployment).read(["case_id", "version"])).num_rows
        scores = lake.table(SCORES, deployment).read(["metric", "value"]).to_pylist()
        compared += sum(row["metric"] == RETRIEVAL_METRIC and row["value"] is not None for row in scores)
    found = f"{cases} cases, {compared} later answers compared with one"
    return Check("liked answers become ground truth for later ones", found, cases > 0 and compared > 0)


def _alerts(lake: Lake) -> list[dict[str, Any]]:
    return [row for deployment in lake.deployments() for row in lake.table(ALERTS, deployment).read().to_pylist()]


def _state_changes(alerts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in alerts if row["change"] in ALERT_STATES]


def all_told(lake: Lake) -> bool:
    """Whether there is a regression, and the receiver knows of each change of it.

    One message may hold several changes, and one that says nothing new of its incident gets no message of its own.
    """
    return _are_told(_alerts(lake))


def _are_told(alerts: Sequence[Mapping[str, Any]]) -> bool:
    changes = {row["change_id"] for row in _state_changes(alerts)}
    told = {row["delivery_of"] for row in alerts if row["change"] in (AlertEvent.DELIVERED, AlertEvent.GROUPED)}
    return bool(changes) and changes <= told


def _regression(plan: Plan, lake: Lake, deliveries: Sequence[Delivery]) -> list[Check]:
    rows = [row for row in _alerts(lake) if row["deployment"] not in _OF_AGENT]
    alerts = _state_changes(rows)
    # An alert that becomes a page fires again.
    names = dict.fromkeys(f"{row['metric']} of {row['deployment']} {row['change']}" for row in alerts)
    changes = {(row["deployment"], row["change"]) for row in alerts}
    is_one = len({row["incident_id"] for row in alerts}) == 1
    since = {row["metric"]: row["since"] for row in alerts}
    passed = changes == {(plan.degraded_deployment, AlertEvent.FIRING)} and is_one
    passed = passed and {METRIC, RETRIEVAL_METRIC} <= since.keys()
    located = passed and all(
        abs(since[metric] - plan.drop_at) <= LOCATED_WITHIN for metric in (METRIC, RETRIEVAL_METRIC)
    )
    verified = sum(delivery.verified for delivery in deliveries)
    return [
        Check("just the planted regression is found, as one incident", ", ".join(names) or "none", passed),
        Check(
            f"it is located at {plan.drop_at:%H:%M}, give or take an hour",
            ", ".join(f"{metric} {moment:%H:%M}" for metric, moment in since.items()) or "not located",
            located,
        ),
        Check(
            "its webhook arrives, signed",
            f"{verified} of {len(deliveries)} verified",
            _are_told(rows) and 0 < verified == len(deliveries),
        ),
    ]


def check_tool(outage: Outage, lake: Lake, deliveries: Sequence[Delivery]) -> Check:
    """Look whether the agent's broken tool is found when it broke, and named, and nothing else of the agent."""
    alerts = [row for row in _state_changes(_alerts(lake)) if row["deployment"] in _OF_AGENT]
    since = {row["since"] for row in alerts if (row["deployment"], row["metric"]) == (AGENT, TOOL_METRIC)}
    located = bool(since) and all(abs(moment - outage.begins) <= LOCATED_WITHIN for moment in since)
    others = {row["metric"] for row in alerts} - set(_TOOL_ALERTS)
    # The message of what all callers of a toolset share names the toolset.
    named = any(name in str(delivery.body) for delivery in deliveries for name in (GET_ORDER, ORDERS))
    names = ", ".join(dict.fromkeys(f"{row['metric']} of {row['deployment']} {row['change']}" for row in alerts))
    found = f"{names or 'nothing'}{'' if named else ', and no webhook names it'}"
    promise = f"the tool that broke at {outage.begins:%H:%M} is found, and named"
    return Check(promise, found, located and named and not others)


def _failed_part(plan: Plan, lake: Lake, deliveries: Sequence[Delivery]) -> Check:
    rows = lake.table(SCORES, plan.degraded_deployment).read(["failed_part", "requested_at"]).to_pylist()
    parts = Counter(row["failed_part"] for row in rows if row["failed_part"] and row["requested_at"] >= plan.drop_at)
    retrieval = parts[FailedPart.RETRIEVAL]
    meaning = FAILED_PART_MEANING[FailedPart.RETRIEVAL]
    named = any(meaning in str(delivery.body) for delivery in deliveries)
    found = f"{retrieval} of {parts.total()} answers that fail their case"
    passed = named and 2 * retrieval > parts.total()
    return Check("retrieval is named as what failed", f"{found}{'' if named else ', and no webhook says so'}", passed)
