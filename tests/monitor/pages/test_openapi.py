"""The description of the addresses that give JSON, compared with what these answer on a lake with rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from monitor.pages.app import create_app
from monitor.pages.json_answers import json_answer
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns

TODAY = NOW.date().isoformat()
TOKEN = "correct horse battery staple"
MACHINES = {"/metrics", "/healthz", "/readyz"}
VALUES = {"name": "rag", "deployment": "rag", "date": TODAY, "event_id": "e1"}
"""Values of the parameters that routes need; add those of a new route."""


@pytest.fixture
def lake_with_rows(rows: ScoreColumns) -> None:
    """Two deployments with an answer that has all that there can be, an alert, and failures."""
    contexts = [{"text": "A chunk.", "title": "a.pdf", "url": None, "page": 3}]
    call = {"trace_id": "a" * 32, "contexts": contexts, "contexts_origin": "retrieval_response", "price": 0.5}
    log = {"event_id": "e1", "response_id": "r1", "span_id": "1" * 16, "question": "Why?", "chat_id": "c"} | call
    rows.logs("rag", log, {"event_id": "e2", "status": 500, "response_id": "r2"})
    before = {"event_id": "e0", "requested_at": NOW - timedelta(minutes=5), "chat_id": "c", "question": "So?"}
    rows.logs("rag", before)
    rows.logs("gpt-4o", log | {"event_id": "e3", "span_id": "2" * 16, "parent_span_id": "1" * 16, "is_entry": False})
    score = {"event_id": "e1", "score_id": "s1", "value": 0.5, "details": '{"unsupported": [[0, 2]], "n": 1e999}'}
    rows.scores("rag", score, {"event_id": "e1", "score_id": "s2", "metric": "toxicity", "reason": "no_answer"})
    rows.signals("rag", "dislike", "like")
    rows.hours("search", 48, lambda left: 0.9 if left > 10 else 0.3, "faithfulness_kprecision")


@pytest.fixture
def client(monitor: Monitor, lake_with_rows: None) -> TestClient:
    monitor.refresh()
    client = TestClient(create_app(monitor))
    VALUES["id"] = client.get("/incidents.json").json()["incidents"][0]["incident_id"]
    return client


def paths_of(app: Any) -> set[str]:
    """All paths that give JSON."""
    return {path for path in app.openapi()["paths"] if path.endswith(".json")}


def resolved(document: Any, schema: dict[str, Any]) -> Any:
    """A validator that takes no member that is not described."""
    strict = {
        name: one | ({"additionalProperties": False} if "properties" in one else {})
        for name, one in document["components"]["schemas"].items()
    }
    whole = schema | {"components": {"schemas": strict}}
    return Draft202012Validator(whole, format_checker=validator_for(whole).FORMAT_CHECKER)


def query_of(operation: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: VALUES[one["name"]] for one in operation.get("parameters", []) if one["required"]}


def schema_of(operation: dict[str, Any], status: int) -> Any:
    return operation["responses"][str(status)]["content"]["application/json"]["schema"]


def test_every_address_that_gives_json_is_described(client: TestClient) -> None:
    """With the form of what it gives, not merely by its name; and so are those for programs."""
    described = client.get("/openapi.json").json()["paths"]
    paths = paths_of(client.app)
    assert {"/overview.json", "/answers.json", "/answer.json", "/deployment.json", "/incident.json"} <= paths
    assert set(described) == paths | MACHINES
    for path in paths | {"/healthz", "/readyz"}:
        assert schema_of(described[path]["get"], 200).get("$ref"), path
        assert described[path]["get"]["summary"][-5:] != " Json", f"{path} needs a summary: `described` takes it"


def test_what_is_described_is_what_is_given(client: TestClient) -> None:
    """Each address, asked with the parameters that it says it needs: no member is missing, none is not described."""
    document = client.get("/openapi.json").json()
    Draft202012Validator.check_schema({"components": document["components"]})
    for path, item in document["paths"].items():
        operation = item["get"]
        answer = client.get(path, params=query_of(operation))
        assert answer.status_code == 200, f"{path}: {answer.text}"
        if path == "/metrics":
            assert list(operation["responses"]["200"]["content"]) == ["text/plain"]
            continue
        resolved(document, schema_of(operation, 200)).validate(answer.json())


def test_the_schema_is_compared_with_rows(client: TestClient) -> None:
    """The comparison is not one of empty lists; and it finds a member of another type, and one too many."""
    document = client.get("/openapi.json").json()
    overview, answer = client.get("/overview.json").json(), client.get("/answer.json", params=VALUES).json()
    assert [row["worst"] is not None for row in overview["rows"]] == [True, False, False]
    assert all(answer[part] for part in ("contexts", "before", "scores", "calls", "row"))
    assert client.get("/answers.json?deployment=rag").json()["total"] == 3
    validator = resolved(document, schema_of(document["paths"]["/overview.json"]["get"], 200))
    for wrong in ({"requests": "many"}, {"more": 1}):
        row = overview["rows"][0] | wrong
        assert not validator.is_valid(overview | {"rows": [row]})
    assert validator.is_valid(overview | {"rows": overview["rows"][:1]})


def test_what_a_parameter_takes_is_described(client: TestClient) -> None:
    """Each one that an address must have: without it the answer is 422 and says so; words are listed."""
    document = client.get("/openapi.json").json()
    for path, item in document["paths"].items():
        operation, query = item["get"], query_of(item["get"])
        for name in query:
            answer = client.get(path, params={one: value for one, value in query.items() if one != name})
            resolved(document, schema_of(operation, 422)).validate(answer.json())
            assert answer.json()["status"] == answer.status_code == 422
            assert name in answer.json()["message"], path
    search = {one["name"]: one for one in document["paths"]["/answers.json"]["get"]["parameters"]}
    assert {"type": "null"} in search["rating"]["schema"]["anyOf"]
    assert search["rating"]["schema"]["anyOf"][0]["enum"] == ["liked", "disliked", "none"]
    assert "UTC" in search["since"]["description"]
    assert {one["name"] for one in document["paths"]["/answer.json"]["get"]["parameters"]} == {
        "deployment", "date", "event_id",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/nothing.json", 404, "There is no page /nothing.json"),
        (f"/answer.json?deployment=rag&date={TODAY}&event_id=none", 404, "There is no such answer"),
        (f"/answer.json?deployment=none&date={TODAY}&event_id=e1", 404, "There is no such answer"),
        ("/answer.json?deployment=rag&date=today&event_id=e1", 422, "A date is written as 2026-11-20"),
        ("/answers.json?deployment=rag&below=x", 422, "The limit of a score is a number, such as 0.5"),
        ("/overview.json?days=2", 422, "The address /overview.json lacks a usable days"),
    ],
)
def test_errors_are_json(client: TestClient, address: str, status: int, said: str) -> None:
    """With the status and what was wrong, as they are described; for a browser, too."""
    answer = client.get(address, headers={"Accept": "text/html"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"status": answer.status_code, "message": said} == {"status": status, "message": said}
    document = client.get("/openapi.json").json()
    parts = urlsplit(address)
    if parts.path in document["paths"]:
        schema = schema_of(document["paths"][parts.path]["get"], status)
        resolved(document, schema).validate(answer.json())
    assert client.post("/overview.json").json() == {"status": 405, "message": "/overview.json does not take POST"}


def test_an_error_of_ours_is_json_without_its_words(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 with a hint at the log: the words of an exception may quote what was read."""
    monkeypatch.setattr(Monitor, "health", lambda self: 1 / 0)
    client = TestClient(create_app(monitor), raise_server_exceptions=False)
    answer, page = client.get("/overview.json"), client.get("/")
    assert (answer.status_code, answer.json()["status"]) == (500, 500)
    assert "log" in answer.json()["message"]
    assert "division" not in answer.text + page.text
    assert (page.status_code, page.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_with_access_it_needs_a_sign_in(monitor: Monitor) -> None:
    """The description too; it then says how a program signs in, and at which address the pages are."""
    settings = {"access": {"token": TOKEN}, "external_url": "https://dialwatch.example.com/"}
    client = TestClient(create_app(monitor, MonitorSettings.model_validate(settings)), follow_redirects=False)
    for path in ("/openapi.json", "/overview.json", "/nothing.json"):
        refused = client.get(path, headers={"Accept": "text/html"})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert refused.json()["status"] == 401
    document = client.get("/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    assert document["servers"] == [{"url": "https://dialwatch.example.com"}]
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert document["paths"]["/answer.json"]["get"]["security"] == [{"token": []}]
    assert "401" in document["paths"]["/answer.json"]["get"]["responses"]
    assert "security" not in document["paths"]["/healthz"]["get"]
    assert "securitySchemes" not in TestClient(create_app(monitor)).get("/openapi.json").json()["components"]


def test_a_group_without_deployments_is_refused_in_json(monitor: Monitor) -> None:
    """403, and 401 from elsewhere than the proxy."""
    proxy = {"addresses": ["10.0.0.7"], "groups": {"search": {"deployments": ["rag"]}}}
    app = create_app(monitor, MonitorSettings.model_validate({"access": {"proxy": proxy}}))
    headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "others", "Accept": "text/html"}
    for peer, status in (("10.0.0.7", 403), ("10.0.0.8", 401)):
        answer = TestClient(app, client=(peer, 5000)).get("/overview.json", headers=headers)
        assert (answer.status_code, answer.json()["status"]) == (status, status)


def test_numbers_that_json_does_not_have_are_null() -> None:
    """Python would write NaN, which no other reader takes."""
    assert json_answer({"a": [float("nan"), {"b": float("inf")}], "c": 10**30}).body == (
        b'{"a": [null, {"b": null}], "c": 1000000000000000000000000000000}'
    )
