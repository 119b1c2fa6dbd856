"""Page of an incident: what it says, in which order, and the same as JSON."""

from __future__ import annotations

from fastapi.testclient import TestClient

from monitor import Monitor
from tests.monitor.pages.incidents.conftest import incident_id


def test_it_says_state_text_sureness_chart_answers_and_log_in_this_order(client: TestClient, monitor: Monitor) -> None:
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    parts = (
        "Open since", "Nobody has acknowledged it", "faithfulness_kprecision of rag-search fell", "The evidence is",
        "How sure: steady quality", "before and since", "The drop began", "Scores before and since",
        "Worst answers since", 'action="/incident/acknowledge"', 'action="/incident/silence"',
        'action="/incident/release"', 'id="log"', "opened", "Earlier incidents", "Open now in other deployments",
    )  # fmt: skip
    places = [page.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
