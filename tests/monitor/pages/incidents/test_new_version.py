"""The page of an incident of a new version: earlier answers are of the older one, for who may see it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.spec.root_tables import AUDIT
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import BAD, GOOD, incident_id

OLDER, NEWER = "applications/public/help__1.0.0", "applications/public/help__1.1.0"
GROUPS = {
    "both": {"deployments": ["*"], "rights": ["texts"]},
    "newer": {"deployments": [NEWER], "rights": ["texts"]},
    "scores": {"deployments": ["*"]},
}
ACCESS = {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}


@pytest.fixture
def client(monitor: Monitor, rows: ScoreColumns) -> TestClient:
    """Pages of three days of an older version and ten hours of a newer one, which answers worse."""
    for name, hours, value, answer in ((OLDER, range(72, 10, -1), 0.9, GOOD), (NEWER, range(10, 0, -1), 0.3, BAD)):
        scored, logs = [], []
        for left in hours:
            for number in range(10):
                at = NOW - timedelta(hours=left) + timedelta(minutes=6 * number)
                event = f"event-{left}-{number}"
                place = {"event_id": event, "response_id": event, "requested_at": at, "date": at.date()}
                scored.append(place | {"value": value + 0.01 * number, "score_id": event})
                logs.append(place | {"question": f"How many days of leave has team {number}?", "answer": answer})
        rows.scores(name, *scored)
        rows.logs(name, *logs)
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": ACCESS}))
    return TestClient(app, client=("10.0.0.7", 5000))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("is_rolled_back", [True, False])
def test_an_incident_of_a_version_that_was_rolled_back_ends_after_three_days(
    monitor: Monitor, rows: ScoreColumns, clock: Clock, is_rolled_back: bool
) -> None:
    """A version that nobody asks for any more is watched no longer; an application that nobody asks for is."""
    for hours in (70, 4):
        clock.advance(hours=hours)
        if is_rolled_back:
            rows.logs(OLDER, {"requested_at": clock(), "date": clock().date()})
        monitor.refresh()
        assert monitor.snapshot is not None
        state = monitor.snapshot.deployments[NEWER]
        is_over = is_rolled_back and hours == 4
        assert bool(state.readings) is not is_over
        assert (state.incidents[0].ended_at is not None) is is_over
    reason = state.changes[0].reason or ""
    assert reason.endswith(f"requests go to {OLDER}") is is_rolled_back


@pytest.mark.parametrize(
    ("group", "earlier", "before"),
    [("both", {(OLDER, GOOD)}, 620), ("newer", set(), 0), ("scores", set(), 620), ("newer,scores", set(), 0)],
)
def test_earlier_answers_are_of_the_older_version_for_who_may_see_it(
    client: TestClient, monitor: Monitor, group: str, earlier: set[Any], before: int
) -> None:
    headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": group}
    found = client.get(f"/incident.json?id={incident_id(monitor, NEWER)}", headers=headers).json()["evidence"]
    pairs = [pair["earlier"] for pair in found["worst"]]
    assert {(one["deployment"], one["answer"]) for one in pairs if one} == earlier
    assert found["before"]["scores"] == before
    assert (GOOD in str(found)) is (group == "both")
    page = client.get(f"/incident?id={incident_id(monitor, NEWER)}", headers=headers).text
    assert (f">{OLDER}</a> answered before." in page) is bool(before)
    assert (f"by <bdi>{OLDER}</bdi>" in page) is bool(before)
    monitor.audit.write()
    noted = {row["deployment"] for row in monitor.lake.table(AUDIT).read().to_pylist()}
    assert noted == {"both": {OLDER, NEWER}, "scores": set()}.get(group, {NEWER})
