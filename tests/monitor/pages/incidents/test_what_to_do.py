"""What to look at, and what else to do: the same on the page of an incident and in its JSON."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from msgspec import structs

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import to_row
from monitor.pages.app import create_app
from monitor.pages.incidents.view import looks_once
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, ScoreColumns
from tests.monitor.notify.texts.test_whole_texts import kind, share
from tests.monitor.pages.incidents.conftest import incident_id

REPLAY = (
    "dialwatch ground-truth replay --deployment rag asks them again and shows the worst with both answers. If the "
    "answers changed on purpose, add --accept."
)
JUDGE = (
    "Its model, or who serves it, was changed. Its scores of before and after cannot be compared. Name the model's "
    "exact version, or give the judge another model or prompt: that is a new version of the metric, which learns what "
    "is usual anew. This warning never becomes urgent."
)
LOGS = (
    "the logs of the deployment and of the models that it calls; status 429 means a rate limit, 401 and 403 mean a "
    "problem with a key."
)


@pytest.mark.parametrize(
    ("name", "numbers", "look", "do"),
    [
        ("errors", share(), [LOGS], []),
        ("replay", {"requests": 12, "bad": 5}, ["the cases that are worse."], [REPLAY]),
        ("judge_drift", {}, ["the judge's model and version."], [JUDGE]),
    ],
)
def test_only_a_place_is_looked_at_first_and_all_else_is_said_as_the_message_does(
    rows: ScoreColumns,
    make_monitor: Callable[[], Monitor],
    lake: Lake,
    name: str,
    numbers: dict[str, object],
    look: list[str],
    do: list[str],
) -> None:
    """A command stays one that can be copied."""
    rows.logs("rag", {})
    fired = kind(name, **numbers)
    details = structs.replace(fired.details, fired_at=NOW, recorded_at=NOW)
    fired = replace(fired, incident_id="1f", changed_at=NOW, details=details)
    lake.table(ALERTS, "rag").append(ALERTS.rows([to_row(fired)]))
    monitor = make_monitor()
    monitor.refresh()
    client = TestClient(create_app(monitor))
    path = f"id={incident_id(monitor, 'rag')}"
    (alert,) = client.get(f"/incident.json?{path}").json()["alerts"]
    look = [one[0].upper() + one[1:] for one in look]
    assert (alert["look_first"], alert["what_to_do"]) == (look, do)
    page = html.unescape(client.get(f"/incident?{path}").text)
    shown = re.findall("<dt>(Look first at|What to do)</dt><dd[^>]*>(.*?)</dd>", page)
    assert shown == [("Look first at", one) for one in look] + [("What to do", one) for one in do]
    assert not any(one.startswith(("Look first at", "What to do")) for one in alert["lines"])


def test_a_place_that_two_alerts_name_stands_once() -> None:
    """Also where one of them says it behind the part that failed."""
    looks = ["The prompt.", "Retrieval failed: the index.", "The index.", "The prompt.", "The model."]
    assert looks_once(looks) == (*looks[:2], "The model.")
