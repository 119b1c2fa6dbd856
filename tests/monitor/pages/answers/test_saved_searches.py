"""Saved searches: who finds them, who may save and remove them, and what is noted."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from lake.spec.root_tables import AUDIT, SAVED_SEARCHES
from lake.tables.lake import Lake
from monitor.pages.answers import handlers, saved_search_pages
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock

GROUPS = {
    "watchers": {"deployments": ["rag"]},
    "readers": {"deployments": ["rag"], "rights": ["texts"]},
    "doers": {"deployments": ["rag"], "rights": ["texts", "act"]},
    "others": {"deployments": ["other-*"], "rights": ["texts", "act"]},
}
ACCESS = {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}
TODAY = NOW.date()
BAD = "deployment=rag&rating=disliked&comment=gold&columns=rating%2Cuser"


@pytest.fixture
def client(monitor: Monitor, one_answer: str) -> Iterator[TestClient]:
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": ACCESS}))
    with TestClient(app, client=("10.0.0.7", 5000), follow_redirects=False) as client:
        yield client


def of(*groups: str) -> dict[str, str]:
    return {"X-Forwarded-User": "ann", "X-Forwarded-Groups": ",".join(groups)}


def send(client: TestClient, name: str, list_: str = BAD, path: str = "/answers/save", group: str = "doers") -> int:
    page = client.get("/answers?deployment=rag", headers=of("doers")).text
    token = re.findall('name="form_token" value="([^"]*)"', page)[0]
    form = {"form_token": token, "list": list_, "name": name}
    return client.post(path, data=form, headers=of(group)).status_code


def names(client: TestClient, group: str) -> list[str]:
    found = client.get("/answers/saved.json", headers=of(group)).json()["searches"]
    return [one["name"] for one in found]


def test_a_saved_search_leads_to_its_list_with_the_days_up_to_today(
    client: TestClient, monitor: Monitor, clock: Clock
) -> None:
    """Three days later it ends three days later; all else is as it was saved."""
    first = TODAY - timedelta(days=2)
    assert send(client, " Gold \x00 complaints", f"{BAD}&since={first}&until={TODAY}&page=7") == 303
    clock.advance(days=3)
    monitor.refresh()
    page = client.get("/answers", headers=of("readers")).text
    address = html.unescape(re.findall('<a href="(/answers[^"]*comment=[^"]*)">', page)[0])
    assert (
        f"since={first + timedelta(days=3)}&until={TODAY + timedelta(days=3)}&rating=disliked&comment=gold" in address
    )
    assert "columns=rating%2Cuser" in address
    assert "page=" not in address
    one = client.get("/answers/saved.json?deployment=rag", headers=of("readers")).json()["searches"][0]
    assert one == {"deployment": "rag", "name": "Gold [U+0000] complaints", "days": 3, "address": address}


def test_only_who_may_search_so_finds_it(client: TestClient) -> None:
    """A search for words is not shown to who may not search for words; nor one of a deployment that one cannot see."""
    assert send(client, "words") == 303
    assert send(client, "failed", "deployment=rag&status=failed") == 303
    assert names(client, "readers") == ["failed", "words"]
    assert names(client, "watchers") == ["failed"]
    assert names(client, "others") == []
    assert "gold" not in client.get("/answers?deployment=rag", headers=of("watchers")).text


def test_a_name_is_replaced_and_removed_by_who_may_act(client: TestClient, monitor: Monitor, lake: Lake) -> None:
    """Each change is a row, and a row of the audit that quotes nothing."""
    assert send(client, "mine") == 303
    assert send(client, "mine", "deployment=rag&status=failed") == 303
    assert send(client, "mine", path="/answers/remove", group="readers") == 403
    assert names(client, "watchers") == ["mine"]
    assert send(client, "mine", path="/answers/remove") == 303
    assert names(client, "doers") == []
    monitor.audit.write()
    noted = lake.table(AUDIT).read(["action", "who", "deployment", "detail"]).to_pylist()
    saved = [tuple(row.values())[1:] for row in noted if row["action"] == "save_search"]
    assert saved == [("ann", "rag", f"{what} search {number}") for what, number in
                     (("saved", 1), ("saved", 2), ("removed", 3))]  # fmt: skip
    rows = lake.table(SAVED_SEARCHES).read(["change", "who", "name"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [("removed", "ann", "mine")] + [("saved", "ann", "mine")] * 2


@pytest.mark.parametrize(
    ("name", "list_", "group", "status"),
    [
        ("n", BAD, "readers", 403),
        ("n", BAD, "watchers", 422),
        ("n", "deployment=rag", "watchers", 403),
        ("n", BAD, "others", 422),
        ("n", "status=ok", "doers", 422),
        ("n", "deployment=rag&since=x", "doers", 422),
        (" ", BAD, "doers", 422),
        ("n" * 101, BAD, "doers", 422),
    ],
)
def test_what_cannot_be_saved_says_why(client: TestClient, name: str, list_: str, group: str, status: int) -> None:
    """Without the right, without a deployment, with a field that cannot be used, and without a usable name."""
    assert send(client, name, list_, group=group) == status
    assert names(client, "doers") == []


def test_a_form_that_is_not_ours_saves_nothing(client: TestClient) -> None:
    form = {"form_token": "", "list": BAD, "name": "n"}
    assert client.post("/answers/save", data=form, headers=of("doers")).status_code == 403
    assert client.post("/answers/remove", data=form, headers=of("doers")).status_code == 403


def test_a_deployment_has_so_many_at_most(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is there may be replaced."""
    monkeypatch.setattr(saved_search_pages, "MOST_SEARCHES", 1)
    assert send(client, "a") == 303
    assert send(client, "b") == 409
    assert send(client, "a") == 303


def test_a_row_that_cannot_be_read_hides_no_other(client: TestClient, lake: Lake) -> None:
    """Of another version, or after an erasure."""
    said = {"change": "saved", "deployment": "rag", "changed_at": NOW, "days": 7, "search": '{"deployment": "rag"}'}
    others = [{"search": "[]"}, {"search": None}, {"search": '{"deployment": "rag", "rating": "odd"}'}, {"name": None}]
    rows = [{"search_id": 9, "name": "good"}] + [
        {"name": str(n)} | one | {"search_id": n} for n, one in enumerate(others)
    ]
    lake.table(SAVED_SEARCHES).append(SAVED_SEARCHES.rows([said | row for row in rows]))
    assert names(client, "doers") == ["good"]


def test_where_they_cannot_be_read_the_answers_are_shown(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of answers was read, and noted as read."""
    assert send(client, "words") == 303

    def fails(*_: object) -> None:
        raise OSError("planted")

    monkeypatch.setattr(handlers, "read_saved_searches", fails)
    answer = client.get("/answers?deployment=rag", headers=of("readers"))
    assert answer.status_code == 200
    assert "words" in client.get("/answers/saved.json", headers=of("readers")).text
    assert 'href="/answer?' in answer.text
