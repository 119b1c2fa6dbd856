"""Cases of many deployments in one queue, and decisions on many cases at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.queries.ground_truth.case_versions import read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.root_tables import AUDIT
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns
from tests.monitor.pages.ground_truth.test_ground_truth import case

GROUPS: dict[str, Any] = {
    "on-call": {"deployments": ["rag", "hr"], "rights": ["texts", "act"]},
    "readers": {"deployments": ["rag"], "rights": ["texts"]},
    "mixed": {"deployments": ["hr"], "rights": ["texts"]},
}
GROUPS["watchers"] = {"deployments": ["rag"]}


def of(*groups: str) -> dict[str, str]:
    return {"X-Forwarded-User": "ann", "X-Forwarded-Groups": ",".join(groups)}


@pytest.fixture
def client(rows: ScoreColumns, lake: Lake, monitor: Monitor) -> Iterator[TestClient]:
    """Cases a, b and c of rag, of which b is asked most, and h of hr, which is asked twice."""
    for name, question, times in (
        ("rag", "How much leave, b?", 3),
        ("rag", "how MUCH leave c", 1),
        ("hr", "Who, h?", 2),
    ):
        at = [NOW - timedelta(hours=number + 1) for number in range(times)]
        asked = {"question": question, "message_count": 1, "documents": ["files/handbook.pdf"]}
        rows.logs(name, *(asked | {"event_id": f"{question} {one}", "requested_at": one} for one in at))
        rows.scores(name, {"value": 0.5, "reference_match": "exact", "metric": "case_passed", "requested_at": at[0]})
    cases = [case("a"), case("b", confidence=0.8), case("c", confidence=0.7), case("d", status="accepted")]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    lake.table(GROUND_TRUTH, "hr").append(GROUND_TRUTH.rows([case("h", deployment="hr", question="Who, h?")]))
    monitor.refresh()
    app = create_app(
        monitor, MonitorSettings.model_validate({"access": {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}})
    )
    with TestClient(app, client=("10.0.0.7", 5000), follow_redirects=False) as client:
        yield client


def status_of(lake: Lake) -> dict[str, str]:
    return {one["case_id"]: one["status"] for one in read_cases(lake.table(GROUND_TRUTH, "rag"))}


def sent(client: TestClient, act: str, *groups: str, **fields: str) -> Any:
    page = client.get("/ground-truth", params={"deployment": "rag"}, headers=of("on-call")).text
    (token, *_) = re.findall(r'name="form_token" value="([^"]*)"', page)
    data = {"deployment": "rag", "form_token": token} | fields
    return client.post(f"/ground-truth/{act}", data=data, headers=of(*groups or ("on-call",)))


def test_the_question_that_is_asked_most_comes_first(client: TestClient) -> None:
    """In the queue of a deployment and in that of all; of equal ones the surest."""
    found = client.get("/ground-truth.json", params={"deployment": "rag"}, headers=of("on-call")).json()
    assert [(one["case_id"], one["asked"]) for one in found["cases"]] == [("b", 3), ("c", 1), ("a", 0)]
    assert (found["chosen"]["case_id"], found["chosen"]["asked"]) == ("b", 3)
    assert found["chosen"]["metrics"] == ["case_passed"]
    every = client.get("/ground-truth.json", headers=of("on-call")).json()
    listed = [(one["deployment"], one["case_id"], one["asked"]) for one in every["cases"]]
    assert listed == [("rag", "b", 3), ("hr", "h", 2), ("rag", "c", 1), ("rag", "a", 0)]
    assert (every["counts"]["proposed"], every["counts"]["accepted"], every["total"]) == (4, 1, 4)
    page = client.get("/ground-truth", headers=of("on-call")).text
    assert "asked 3 times" in page
    assert "<bdi>hr</bdi>" in page
    (link,) = re.findall(r'<a href="(/ground-truth\?[^"]*case=h)"', page)
    assert "Who, h?" in client.get(link.replace("&amp;", "&"), headers=of("on-call")).text
    shown = client.get("/ground-truth", params={"deployment": "rag"}, headers=of("on-call")).text
    assert "3 answers of the last 7 days were to this question" in shown
    assert "by “cases passed”" in shown


def test_the_queue_of_all_shows_what_one_may_see(client: TestClient, monitor: Monitor, lake: Lake) -> None:
    """Texts of hr alone, and none of who has no right to any; each read is noted with its deployment."""
    assert [one["case_id"] for one in client.get("/ground-truth.json", headers=of("readers")).json()["cases"]] == [
        "b", "c", "a",
    ]  # fmt: skip
    found = client.get("/ground-truth.json", headers=of("mixed", "watchers")).json()["cases"]
    assert {one["case_id"]: one["question"] for one in found} == {"b": None, "h": "Who, h?", "c": None, "a": None}
    monitor.audit.write()
    read = [(row["deployment"], row["detail"]) for row in lake.table(AUDIT).read().to_pylist()]
    assert read == [("rag", "3 cases of ground truth"), ("hr", "1 cases of ground truth")]


def test_the_surest_are_accepted_together_after_a_question(client: TestClient, monitor: Monitor, lake: Lake) -> None:
    """Once, and taken back together, but for those that somebody has changed since."""
    asked = client.get("/ground-truth", params={"deployment": "rag", "least": "0.8"}, headers=of("on-call")).text
    assert "Accept 2 proposed cases of confidence 0.8 or more?" in asked
    assert status_of(lake)["a"] == "proposed"
    answer = sent(client, "accept-surest", least="0.8", count="2")
    assert answer.status_code == 303
    assert status_of(lake) == {"a": "accepted", "b": "accepted", "c": "proposed", "d": "accepted"}
    assert sent(client, "accept-surest", least="0.8", count="2").status_code == 409
    page = client.get(answer.headers["location"], headers=of("on-call")).text
    (together,) = re.findall(r'name="together" value="(\w+)"', page)
    assert sent(client, "decide", case="b", version="2", status="rejected").status_code == 303
    assert sent(client, "undo-together", together=together).status_code == 303
    assert status_of(lake) == {"a": "proposed", "b": "rejected", "c": "proposed", "d": "accepted"}
    assert sent(client, "undo-together", together="").status_code == 404
    monitor.audit.write()
    rows = [row for row in lake.table(AUDIT).read().to_pylist() if row["action"] == "change_case"]
    assert [row["detail"].split(",")[0] for row in rows] == [
        "accepted 2 cases of confidence 0.8 or more", "case b version 3: rejected", "made 1 cases proposed again",
    ]  # fmt: skip


def test_cases_that_contradict_each_other_are_not_accepted_together(client: TestClient, lake: Lake) -> None:
    again = case("e", question="How much leave, a?", answer="12 days.")
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([again]))
    assert sent(client, "accept-surest", least="0.8", count="1").status_code == 303
    assert status_of(lake) == {"a": "proposed", "b": "accepted", "c": "proposed", "d": "accepted", "e": "proposed"}


def test_accepted_cases_that_another_one_contradicts_come_first(client: TestClient, lake: Lake) -> None:
    """The page of another status names them, since answers are compared with them."""
    address, warning = {"deployment": "rag"}, "1 accepted case is contradicted by another case"
    assert "contradicted by another case" not in client.get("/ground-truth", params=address, headers=of("on-call")).text
    (known,) = [row for row in lake.table(GROUND_TRUTH, "rag").read().to_pylist() if row["case_id"] == "d"]
    others = [case("0", status="accepted", question="Is it first?", answer="By its id."),
              case("z", question=known["question"], answer="Something else, 17 days.")]  # fmt: skip
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(others))
    page = client.get("/ground-truth", params=address, headers=of("on-call")).text
    assert warning in page
    assert 'href="/ground-truth?deployment=rag&amp;status=accepted">the accepted cases, these first' in page
    accepted = client.get("/ground-truth", params=address | {"status": "accepted"}, headers=of("on-call")).text
    assert warning not in accepted
    assert re.findall(r'<h2 id="case">Case (\w)', accepted) == ["d"]


def test_in_the_queue_of_all_those_that_another_one_contradicts_come_first(client: TestClient, lake: Lake) -> None:
    """Before questions that are asked often; the reason stands beside them."""
    again = case("z", question="How much leave, a?", answer="12 days.", confidence=0.1)
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([again]))
    found = client.get("/ground-truth.json", headers=of("on-call")).json()
    assert [one["case_id"] for one in found["cases"]] == ["a", "z", "b", "h", "c"]
    page = client.get("/ground-truth", headers=of("on-call")).text
    assert page.count("another case gives another answer") == 2
    assert "contradicted by another case" not in page
    accepted = case("y", status="accepted", question="Who, h?", answer="Nobody.")
    lake.table(GROUND_TRUTH, "hr").append(GROUND_TRUTH.rows([accepted]))
    page = client.get("/ground-truth", headers=of("on-call")).text
    assert "1 accepted case is contradicted by another case" in page
    first = client.get("/ground-truth.json", params={"status": "accepted"}, headers=of("on-call")).json()["cases"]
    assert [(one["case_id"], one["contradicts"]) for one in first] == [("y", ["h"]), ("d", [])]


@pytest.mark.parametrize(("least", "status"), [("", 422), ("high", 422), ("1.1", 422), ("nan", 422), ("0.99", 409)])
def test_a_confidence_that_cannot_be_used_accepts_nothing(
    client: TestClient, lake: Lake, least: str, status: int
) -> None:
    assert sent(client, "accept-surest", least=least, count="2").status_code == status
    assert status_of(lake)["a"] == "proposed"


@pytest.mark.parametrize("act", ["accept-surest", "undo-together"])
def test_only_who_may_act_and_read_texts_decides_on_many(client: TestClient, lake: Lake, act: str) -> None:
    for group, status in (("readers", 403), ("watchers", 403), ("mixed", 404)):
        assert sent(client, act, group, least="0.8", count="2", together="x").status_code == status
    page = client.get("/ground-truth", params={"deployment": "rag", "least": "0.8"}, headers=of("readers")).text
    assert "accept-surest" not in page
    assert status_of(lake)["a"] == "proposed"


def test_doubted_cases_are_not_accepted_together(client: TestClient, lake: Lake) -> None:
    """The page says how many they are and why, and one of them is accepted by itself."""
    doubt = "its answer was given while an incident was open: “facts found” got worse, since 2026-11-20 12:10 UTC"
    doubted = [case(name, doubt=doubt) for name in ("e", "f")]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([*doubted, case("g", doubt=doubt, status="accepted")]))
    asked = client.get("/ground-truth", params={"deployment": "rag", "least": "0.8"}, headers=of("on-call")).text
    assert "Accept 2 proposed cases of confidence 0.8 or more?" in asked
    said = "So are 2 of this confidence whose answers were given while an incident was open: decide on each by itself."
    assert said in asked
    assert sent(client, "accept-surest", least="0.8", count="2").status_code == 303
    assert {name: status_of(lake)[name] for name in "abef"} == {
        "a": "accepted", "b": "accepted", "e": "proposed", "f": "proposed",
    }  # fmt: skip
    left = client.get("/ground-truth", params={"deployment": "rag", "least": "0.8"}, headers=of("on-call")).text
    assert f"There is none. {said}" in left
    assert left.count("proposed, given while an incident was open, ") == 2
    page = client.get("/ground-truth", params={"deployment": "rag", "case": "e"}, headers=of("on-call")).text
    assert f"Look at it closely:</strong> {doubt.replace('2026-11-20 12:10 UTC', '')}" in page
    known = {"deployment": "rag", "case": "e"}
    assert client.get("/ground-truth.json", params=known, headers=of("on-call")).json()["chosen"]["doubt"] == doubt
    assert sent(client, "decide", case="e", version="1", status="accepted").status_code == 303
    assert status_of(lake)["e"] == "accepted"
    accepted = client.get("/ground-truth", params=known | {"status": "accepted"}, headers=of("on-call")).text
    assert "Look at it closely" not in accepted
