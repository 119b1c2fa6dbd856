"""How sure an alert is: its evidence is compared with what an alert of its tier needs, where that is known."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import pytest
from fastapi.testclient import TestClient

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, Tier
from monitor.detect.regression import Status
from monitor.pages.incidents.alert_view import AlertView
from monitor.service.monitor import Monitor
from tests.monitor.alerting.alerts.test_alerts import READING
from tests.monitor.alerting.incidents.test_states import change
from tests.monitor.pages.incidents.conftest import incident_id

WARNING, URGENT = 6.0, 13.1
"""Logarithms of the evidence that is needed."""


@pytest.mark.parametrize(
    ("tier", "evidence", "said"),
    [
        (Tier.PAGE, URGENT, "is just what an urgent alert needs"),
        (Tier.PAGE, URGENT + math.log(40), "is 40 times what an urgent alert needs"),
        (Tier.PAGE, WARNING + math.log(2), "is 2 times what a warning needs"),
        (Tier.WARN, URGENT, "is 1,212 times what a warning needs"),
        (Tier.WARN, WARNING - 1, None),
    ],
)
def test_evidence_is_compared_with_what_its_tier_needs(tier: Tier, evidence: float, said: str | None) -> None:
    """One that falls below what an urgent alert needs, or whose need is not known any more, with that of a warning."""
    fired = replace(
        change("a", AlertEvent.FIRING, 0, tier=tier, verdict=AlertVerdict.SYSTEM),
        log_evidence=WARNING + math.log(3),
        log_threshold=WARNING,
    )
    thresholds = {"log_evidence": evidence, "log_threshold": WARNING, "log_page_threshold": URGENT}
    reading = replace(READING, status=Status.REGRESSED, **thresholds)  # type: ignore[arg-type]
    found = AlertView(fired, None, reading).sureness
    assert found == (f"The evidence {said}." if said else "")
    ended = AlertView(fired, replace(fired, change=AlertEvent.RESOLVED), reading)
    assert ended.sureness == "The evidence was 3 times what a warning needs."
    assert AlertView(fired, None, None).sureness == "The evidence is 3 times what a warning needs."


@pytest.mark.parametrize(
    ("known", "said"), [(URGENT, "just what an urgent alert"), (None, "1,212 times what a warning")]
)
def test_the_evidence_of_an_ended_urgent_alert_is_compared_with_what_that_needed(
    known: float | None, said: str
) -> None:
    """Rows of earlier versions do not have it."""
    fired = replace(
        change("a", AlertEvent.FIRING, 0, tier=Tier.PAGE, verdict=AlertVerdict.SYSTEM),
        log_evidence=URGENT,
        log_threshold=WARNING,
    )
    fired = replace(fired, details=msgspec.structs.replace(fired.details, log_page_threshold=known))
    ended = AlertView(fired, replace(fired, change=AlertEvent.RESOLVED), None)
    assert ended.sureness == f"The evidence was {said} needs."


def test_the_page_of_an_urgent_incident_says_it(client: TestClient, monitor: Monitor) -> None:
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert "what an urgent alert needs." in page
    assert monitor.snapshot is not None
    urgent = [one for one in monitor.snapshot.deployments["rag-search"].changes if one.tier == Tier.PAGE]
    assert urgent
    assert all((one.details.log_page_threshold or 0.0) > (one.log_threshold or math.inf) for one in urgent)
