"""What changed, where a tool alone is broken: it is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertVerdict, LimitKind
from lake.spec.case_vocabulary import FailedPart
from monitor.alerting.alerts.broken_tool import broken_tool, what_changed
from monitor.alerting.incidents.incident import incidents_of
from monitor.detect.limits import FailedTool, LimitDetails
from monitor.notify.alert_text import description
from tests.monitor.alerting.incidents.test_states import FIRES, change


@pytest.mark.parametrize(
    ("alerts", "said"),
    [
        ([("tool_error_share", {}, None)], "a tool failed"),
        ([("m", {FailedPart.TOOL: 3, FailedPart.RETRIEVAL: 1}, None)], "a tool failed"),
        ([("m", {FailedPart.WRONG_TOOL: 3}, None)], "a needed tool was not called"),
        ([("m", {}, None), (LimitKind.TOOL_ERRORS, {}, "get_order")], "the tool get_order failed"),
        ([("m", {FailedPart.TOOL: 1}, None), (LimitKind.TOOL_ERRORS, {}, "get_order")], "the tool get_order failed"),
        ([("m", {}, None)], None),
        ([("m", {FailedPart.RETRIEVAL: 2}, None), (LimitKind.TOOL_ERRORS, {}, "get_order")], None),
    ],
)
def test_where_a_tool_alone_broke_it_is_named(alerts: list[tuple[str, Any, str | None]], said: str | None) -> None:
    """In place of the application, also once the alert is over; not where most cases failed by another part."""
    fired = []
    for number, (metric, parts, tool) in enumerate(alerts):
        exceeded = LimitDetails(tool=FailedTool(tool, 9, 9)) if tool else None
        made = change(str(number), FIRES, number, verdict=AlertVerdict.SYSTEM)
        details = msgspec.structs.replace(made.details, failed_parts=parts, exceeded=exceeded, can_drift=False)
        version = LIMIT_VERSION if tool else "1"
        fired.append(replace(made, key=replace(made.key, metric=metric, metric_version=version), details=details))
    what = said or "the application, its documents or the questions changed"
    assert what_changed(AlertVerdict.SYSTEM, fired) == f"{what}, not the judge"
    (incident,) = incidents_of([replace(one, incident_id="i") for one in fired])
    assert incident.what_changed == f"{what}, not the judge"
    is_named_alone = broken_tool(fired[:1]) is not None
    assert ("the application, its documents" in description(fired[0], "")) is not is_named_alone
