"""The worst answers of an incident: of each kind some."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from lake.queries.metric_scores import metric_scores
from lake.tables.lake import Lake
from monitor.pages.incidents.worst_answers import WrongAnswers, worst_of_each_kind
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, ScoreColumns
from tests.monitor.pages.incidents.conftest import BAD, dislike, incident_id, of


@pytest.mark.parametrize("refusals", [0, 400])
def test_refusals_leave_place_for_made_up_answers(
    refusals: int, rows: ScoreColumns, client: TestClient, monitor: Monitor
) -> None:
    """In turn, although refusals have the worst scores, however many these are; each says that it is one."""
    at = NOW - timedelta(hours=1)
    made_up = [{"event_id": f"made-{n}", "requested_at": at, "date": at.date()} for n in range(30)]
    rows.logs(
        "rag-search", *(one | {"question": f"Who is number {n}?", "answer": "Bob."} for n, one in enumerate(made_up))
    )
    rows.scores("rag-search", *(one | {"value": 0.5} for one in made_up))
    more = [{"event_id": f"none-{n}", "requested_at": at, "date": at.date()} for n in range(refusals)]
    if more:
        rows.logs("rag-search", *(one | {"question": f"Why {n}?", "answer": BAD} for n, one in enumerate(more)))
        unsupported = json.dumps({"unsupported": [[0, 13]]})
        rows.scores("rag-search", *(one | {"value": 0.0, "details": unsupported} for one in more))
    found = client.get(f"/incident.json?id={incident_id(monitor)}").json()["evidence"]["worst"]
    assert [pair["worst"]["refuses"] for pair in found] == [False, True] * 5
    assert all(pair["worst"]["reasons"] == [] for pair in found)
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert page.count("<strong>Bad: a refusal</strong>") == 5
    # The page begins with a refusal, which is understood at once.
    listed = page[page.index('<ol class="pairs">') : page.index("7 more of the worst answers")].split("<li>")
    assert ["Bad: a refusal" in one for one in listed[1:]] == [True, False, True]


def test_well_scored_answers_that_are_wrong_are_among_the_worst(
    rows: ScoreColumns, client: TestClient, proxied: TestClient, monitor: Monitor
) -> None:
    """What people disliked, and what fails its case: made of other documents, it stands in them word by word.

    The comment is a text.
    """
    at = NOW - timedelta(hours=1)
    ids = ("disliked", "fails", "right")
    made_up = [{"event_id": one, "response_id": one, "requested_at": at, "date": at.date()} for one in ids]
    rows.logs("rag-search", *(one | {"question": f"Who is {one['event_id']}?", "answer": "Bob."} for one in made_up))
    rows.scores("rag-search", *(one | {"value": 1.0} for one in made_up))
    passed = {"metric": "case_passed", "judge": None}
    rows.scores("rag-search", *(one | passed | {"value": n - 1.0} for n, one in enumerate(made_up) if n))
    dislike(monitor, 1, "made up", response_id="disliked", origin="explicit")
    monitor.refresh()
    found = client.get(f"/incident.json?id={incident_id(monitor)}").json()["evidence"]["worst"]
    kinds = ("event_id", "refuses", "is_disliked", "fails_case")
    wrong = [tuple(one["worst"][name] for name in kinds) for one in found if not one["worst"]["refuses"]]
    assert sorted(wrong) == [("disliked", False, True, False), ("fails", False, False, True)]
    assert [one["worst"]["refuses"] for one in found] == [True, False] * 2 + [True] * 6
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert "<strong>Bad: disliked, “<bdi>made up</bdi>”</strong>" in page
    assert "<strong>Bad: not the known right answer</strong>" in page
    assert [one["worst"]["is_good"] for one in found] == [not one["worst"]["refuses"] for one in found]
    assert "</span>, as good as usual" not in page
    for groups, said in (("on-call", {"made up", None}), ("watchers", {None})):
        path = f"/incident.json?id={incident_id(monitor)}"
        worst = proxied.get(path, headers=of(groups)).json()["evidence"]["worst"]
        assert {one["worst"]["comment"] for one in worst} == said


def test_a_refusal_with_a_good_score_comes_last(rows: ScoreColumns, lake: Lake) -> None:
    """It is no bad answer by this metric."""
    at = NOW - timedelta(hours=1)
    texts = {"slow": ("Bob.", 40.0), "refuses": (BAD, 0.5), "slowly": (BAD, 30.0), "well": ("Ann.", 1.0)}
    for name, (answer, value) in texts.items():
        row = {"event_id": name, "requested_at": at, "date": at.date()}
        rows.logs("rag", row | {"question": f"Who is {name}?", "answer": answer})
        rows.scores("rag", row | {"metric": "latency", "value": value})
    scored = metric_scores(lake, "rag", "latency", "1", NOW - timedelta(days=1), NOW, 100)
    found = worst_of_each_kind(lake, "rag", scored, 5.0, WrongAnswers(), lowest=False)
    assert found.rows["event_id"].to_pylist() == ["slow", "slowly", "well", "refuses"]
    assert found.refusing == {"refuses", "slowly"}
    assert found.good == {"well", "refuses"}
    unknown = worst_of_each_kind(lake, "rag", scored, None, WrongAnswers(), lowest=False)
    assert unknown.good == frozenset()


def test_the_page_of_an_answer_leads_to_the_open_incident_of_its_time(client: TestClient, monitor: Monitor) -> None:
    """Not that of one from before it."""
    incident = f"/incident?id={incident_id(monitor)}"
    pairs = client.get(incident.replace("?", ".json?")).json()["evidence"]["worst"]
    pair = next(one for one in pairs if one["earlier"])
    said, link = {}, f'It came during an <a href="{incident}">open incident</a>, which is bad since 20 Nov, '
    for side in ("worst", "earlier"):
        address = f"/answer?deployment=rag-search&date={pair[side]['date']}&event_id={pair[side]['event_id']}"
        said[side] = link in client.get(address).text
    assert said == {"worst": True, "earlier": False}
