"""Which incident the alert of a changed judge belongs to."""

from datetime import timedelta

import pytest

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, LimitKind, Tier
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.alerting.alerts.incident_ids import with_incident_ids
from monitor.detect.regression import StreamKey
from tests.monitor.alerting.alerts.test_alerts import START


def alert(metric: str, hour: int, verdict: AlertVerdict | None = None) -> AlertChange:
    at = START + timedelta(hours=hour)
    version = LIMIT_VERSION if metric in tuple(LimitKind) else "1"
    details = AlertDetails(tier=Tier.WARN, recorded_at=at)
    change = AlertEvent.FIRING
    key = StreamKey("rag", metric, version)
    return AlertChange(f"{metric} {hour}", metric, key, change, at, details, verdict=verdict)


DRIFT = alert(LimitKind.JUDGE_DRIFT, 5, AlertVerdict.JUDGE)


@pytest.mark.parametrize(
    ("before", "after", "incidents"),
    [
        ([("faithfulness", "judge")], [], 1),
        ([("faithfulness", "both")], [], 1),
        ([("faithfulness", "undecided")], [], 2),
        ([("errors", None)], [], 2),
        ([("errors", None), ("faithfulness", "judge")], [], 1),
        ([], [("faithfulness", "judge")], 1),
        ([], [("faithfulness", "undecided")], 2),
        ([], [("errors", None), ("faithfulness", "system")], 2),
        ([], [("faithfulness", "judge"), ("relevancy", "undecided")], 1),
    ],
)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_changed_judge_is_an_incident_with_what_it_explains_alone(
    before: list[tuple[str, AlertVerdict]], after: list[tuple[str, AlertVerdict]], incidents: int, at_once: bool
) -> None:
    """What else gets worse is told apart from it, whether all is known at once or one by one."""
    new = [alert(metric, hour, verdict) for hour, (metric, verdict) in enumerate(before)]
    new += [DRIFT, *(alert(metric, 6 + hour, verdict) for hour, (metric, verdict) in enumerate(after))]
    if at_once:
        found = with_incident_ids([], new)
    else:
        found = []
        for change in new:
            found += with_incident_ids(found, [change])
    assert len({change.incident_id for change in found}) == incidents
