"""What changed, where a tool alone is broken: it is named."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from lake.spec.alert_vocabulary import AlertVerdict, LimitKind
from lake.spec.case_vocabulary import FailedPart
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import incidents_of
from monitor.detect.limits import FailedTool, LimitDetails
from monitor.detect.regression import Judgement
from monitor.notify.texts.alert import description
from monitor.pages.incidents.log_rows import log_of
from monitor.pages.news import worse_deployments
from monitor.service.snapshot import DeploymentState
from tests.monitor.alerting.alerts.test_alerts import READING
from tests.monitor.alerting.incidents.test_states import ENDS, FIRES, MINUTE, NOW, change

APPLICATION = "the application, its documents or the questions changed"


def tools(tool: str, failed: int, bad: int, *, minute: int = 0, alone: bool = False) -> AlertChange:
    """The alert of a limit on calls of tools: `failed` of all `bad` ones are of the tool."""
    made = change(f"tools {tool} {minute}", FIRES, minute, kind=LimitKind.TOOL_ERRORS)
    exceeded = LimitDetails(bad=bad, requests=bad, tool=FailedTool(tool, failed, failed), of_tool_alone=alone)
    return replace(made, details=msgspec.structs.replace(made.details, exceeded=exceeded))


def fall(minute: int, metric: str = "m", since: int | None = None, **failed: int) -> AlertChange:
    """The alert of a metric without a judge."""
    made = change(f"{metric} {minute}", FIRES, minute, verdict=AlertVerdict.SYSTEM)
    parts = {FailedPart(part): count for part, count in failed.items()}
    details = msgspec.structs.replace(made.details, failed_parts=parts, can_drift=False)
    began = None if since is None else NOW + since * MINUTE
    return replace(made, key=replace(made.key, metric=metric), details=details, since=began)


def ended(fired: AlertChange, minute: int) -> AlertChange:
    at = NOW + minute * MINUTE
    details = msgspec.structs.replace(fired.details, fired_at=fired.fired_at)
    return replace(fired, change_id=f"{fired.alert_id} ends", change=ENDS, changed_at=at, details=details)


def said(*changes: AlertChange) -> str:
    """What the incident of these alerts says."""
    (incident,) = incidents_of([replace(one, incident_id="i") for one in changes])
    return incident.what_changed


@pytest.mark.parametrize(
    ("alerts", "what"),
    [
        ([fall(0, "tool_error_share")], "a tool failed"),
        ([fall(0, tool=4, retrieval=1)], "a tool failed"),
        ([fall(0, tool=3, retrieval=1)], None),
        ([fall(0, tool=3), fall(1, "n", tool=3)], None),
        ([fall(0, tool=2, retrieval=1, generation=2)], None),
        ([fall(0, wrong_tool=5)], "a needed tool was not called"),
        ([tools("get_order", 9, 9), fall(1)], "the tool get_order failed"),
        ([tools("get_order", 9, 10), fall(1, retrieval=1)], "the tool get_order failed"),
        ([tools("get_order", 9, 9, alone=True), fall(1, tool=5)], "the tool get_order failed"),
        ([tools("get_order", 9, 9), fall(1, retrieval=5)], None),
        ([fall(0)], None),
    ],
)
def test_where_a_tool_alone_broke_it_is_named(alerts: list[AlertChange], what: str | None) -> None:
    """In place of the application; not by a few cases, and not where most cases failed by another part."""
    assert said(*alerts) == (what or APPLICATION)
    falls = [one for one in alerts if not one.is_limit]
    judged = replace(falls[0], details=msgspec.structs.replace(falls[0].details, can_drift=True))
    with_judge = said(*(judged if one is falls[0] else one for one in alerts))
    assert with_judge == f"{what or APPLICATION}, not the judge"
    if what is None or len(falls) == len(alerts):
        assert (APPLICATION in description(falls[0], "")) is (what is None)


def test_a_tool_is_not_the_cause_of_what_fell_before_it_failed_or_after_it_was_well_again() -> None:
    """One that failed first still is once its alert is over."""
    named, other = "the tool search failed", f"{APPLICATION}"
    late = tools("search", 9, 9, minute=180, alone=True)
    assert said(fall(0), late, ended(late, 190)) == other
    early = tools("search", 9, 9, alone=True)
    assert said(early, fall(20, since=0), ended(early, 30)) == named
    assert said(early, fall(20, since=0), ended(early, 30), fall(60, "n", since=40)) == other


def test_of_tools_that_all_fail_none_is_named() -> None:
    """And a failing deployment is not put on its tools at all."""
    assert said(tools("search", 30, 360)) == "a limit was exceeded, as several tools failed"
    assert said(tools("search", 30, 360), fall(1)) == "several tools failed"
    assert said(tools("search", 9, 9), tools("order", 9, 9, minute=1), fall(2)) == "several tools failed"
    errors = change("errors", FIRES, 3, kind=LimitKind.ERRORS)
    alone = tools("search", 30, 30, alone=True)
    assert said(alone) == "a limit was exceeded, as the tool search failed"
    assert said(alone, errors) == "a limit was exceeded"
    assert said(alone, fall(1), errors) == f"{APPLICATION}"


def test_a_row_of_the_log_and_a_line_of_a_metric_name_no_tool_of_another_alert() -> None:
    """What joins later does not change what was said before."""
    first, raised = tools("search", 9, 9), fall(5)
    changes = [replace(one, incident_id="i") for one in (first, replace(raised, verdict=AlertVerdict.UNDECIDED))]
    later = replace(raised, change_id="later", changed_at=NOW + 9 * MINUTE, verdict=AlertVerdict.SYSTEM)
    details = msgspec.structs.replace(later.details, fired_at=raised.fired_at, recorded_at=later.changed_at)
    changes.append(replace(later, incident_id="i", details=details))
    (incident,) = incidents_of(changes)
    assert incident.what_changed == "the tool search failed"
    rows = [row.text for row in log_of(incident, changes, ()) if row.event == "verdict changed"]
    assert rows == [f"{APPLICATION}; by the alert on"]
    judgements = {"m": Judgement(AlertVerdict.SYSTEM)}
    state = DeploymentState(readings={"m": READING}, judgements=judgements, incidents=(incident,))
    (worse,) = worse_deployments("rag", state)
    assert [one.what_changed for one in worse.regressions] == [APPLICATION]
