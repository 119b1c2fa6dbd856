"""The search in all deployments: a complaint is found where nobody says which application it is about."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.queries.answer_search import AnswerPage
from lake.spec.root_tables import AUDIT
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake
from monitor.access.reader import Reader
from monitor.pages.answers.addresses import Visible
from monitor.pages.answers.everywhere import find_everywhere
from monitor.pages.answers.query import AnswerQuery
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns


@pytest.fixture
def complaints(rows: ScoreColumns, lake: Lake) -> None:
    """Three deployments: of `hr` four answers were disliked, of `shop` a later one, of `rag` none."""
    for name, number, minutes in (("hr", 4, 60), ("shop", 1, 10), ("rag", 0, 0)):
        rows.logs(name, {"event_id": f"{name}-good", "response_id": f"{name}-good", "question": "Where is it?"})
        for one in range(number):
            at = NOW - timedelta(minutes=minutes + one)
            answer = {"event_id": f"{name}-{one}", "response_id": f"{name}-{one}", "requested_at": at}
            rows.logs(name, answer | {"date": at.date(), "question": "How many vacation days?", "user_id": "u-7"})
            said = {"signal_id": f"s-{one}", "response_id": f"{name}-{one}", "signal": "dislike", "origin": "explicit"}
            said |= {"deployment": name, "date": NOW.date(), "signaled_at": NOW}
            comment = {"details": json.dumps({"comment": "Wrong days"})}
            lake.table(USER_SIGNALS, name).append(USER_SIGNALS.rows([said | comment]))


def headings(page: str) -> list[str]:
    """Names of the deployments, each with the number of its answers that match."""
    found = re.findall(r'<h3>([^<]*) <span class="quiet">(?:\d of (\d) answers: )?<a href="[^"]*">([^<]*)<', page)
    return [f"{name}: {f'{total} answers' if total else linked}" for name, total, linked in found]


@pytest.mark.usefixtures("complaints")
@pytest.mark.parametrize(
    "fields",
    [{"comment": "wrong"}, {"words": "vacation"}, {"rating": "disliked"}, {"user": "u-7"}, {"id": "-0", "status": ""}],
)
def test_deployments_with_such_answers_are_listed_the_latest_first(
    client: TestClient, monitor: Monitor, fields: dict[str, str]
) -> None:
    """With their number, a link to all of them, and the latest three."""
    page = client.get("/answers", params=fields).text
    (of_hr,) = [one for one in headings(page) if one.startswith("hr: ")]
    by_id = "id" in fields
    assert headings(page) == ["shop: 1 answer", of_hr]
    assert of_hr == ("hr: 1 answer" if by_id else "hr: 4 answers")
    assert "3 deployments were searched." in page
    assert ("3 of 4 answers: " in page) is not by_id
    shown = re.findall(r'<span class="quiet ids">([^<]*)</span>', page)
    assert shown == (["shop-0", "hr-0"] if by_id else ["shop-0", "hr-0", "hr-1", "hr-2"])
    (link,) = re.findall(r'<h3>hr <span[^>]*>[^<]*<a href="([^"]*)">', page)
    listed = client.get(link.replace("&amp;", "&")).text
    assert f"{'1 answer' if by_id else '4 answers'}, " in listed


@pytest.mark.usefixtures("complaints")
def test_words_of_a_comment_come_before_those_of_texts_and_are_marked(client: TestClient, rows: ScoreColumns) -> None:
    """A later answer that only has the words in its text comes behind, as does its deployment."""
    late = {"requested_at": NOW, "date": NOW.date(), "question": "Are the DAYS wrong?"}
    rows.logs("rag", {"event_id": "text", "response_id": "text"} | late)
    rows.logs("hr", {"event_id": "hr-text", "response_id": "hr-text"} | late)
    page = client.get("/answers", params={"words": "days wrong"}).text
    assert [one.split(":")[0] for one in headings(page)] == ["shop", "hr", "rag"]
    assert '<mark class="searched" title="searched">Wrong</mark> <mark class="searched" title="searched">days' in page
    listed = client.get("/answers", params={"words": "days wrong", "deployment": "hr"}).text
    assert listed.index('">hr-0<') < listed.index('">hr-3<') < listed.index('">hr-text<')
    assert 'Are the <mark class="searched" title="searched">DAYS</mark>' in listed


@pytest.mark.usefixtures("complaints")
def test_nothing_is_searched_without_a_field(client: TestClient) -> None:
    """Days, an order and columns alone say nothing of what is wanted; where nothing matches the page says so."""
    for fields in ({}, {"since": "2026-11-20", "until": "2026-11-20"}, {"sort": "refusal", "order": "asc"}):
        page = client.get("/answers", params=fields)
        assert "Choose a deployment, or what to search in all of them" in page.text
    nothing = client.get("/answers", params={"comment": "holiday"}).text
    assert "No answer matches" in nothing
    assert "3 deployments were searched. Choose an earlier first day, write other words" in nothing


@pytest.mark.usefixtures("complaints")
def test_only_what_a_reader_may_read_is_searched(monitor: Monitor, lake: Lake) -> None:
    """By words only where texts may be read, by a rating also where they may not, and then without texts."""
    groups = {
        "hr": {"deployments": ["hr"], "rights": ["texts"]},
        "watchers": {"deployments": ["*"]},
    }
    monitor.refresh()
    app = create_app(
        monitor, MonitorSettings.model_validate({"access": {"proxy": {"addresses": ["10.0.0.7"], "groups": groups}}})
    )
    with TestClient(app, client=("10.0.0.7", 5000)) as client:

        def answered(group: str, **fields: str) -> tuple[int, str]:
            headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": group}
            page = client.get("/answers", params=fields, headers=headers)
            return page.status_code, page.text

        assert headings(answered("hr,watchers", comment="wrong")[1]) == ["hr: 4 answers"]
        status, page = answered("watchers", comment="wrong")
        assert (status, headings(page)) == (422, [])
        status, page = answered("watchers", rating="disliked")
        assert headings(page) == ["shop: 1 answer", "hr: 4 answers"]
        assert "vacation" not in page
        assert "Wrong days" not in page
        assert answered("hr", rating="disliked")[1].count("vacation") == 3
    monitor.audit.write()
    read = lake.table(AUDIT).read(["deployment", "detail"]).to_pylist()
    assert {row["deployment"] for row in read} == {"hr"}


def test_a_search_that_takes_long_says_what_it_left_out(monitor: Monitor, rows: ScoreColumns) -> None:
    """After five seconds, and after fifty deployments; one is searched in any case: that with an open incident, else
    that with the most requests.
    """
    for number in range(53):
        rows.logs(f"app-{number:02}", *[{"event_id": f"{number}-{one}"} for one in range(2 if number == 7 else 1)])
    monitor.refresh()
    seen = Visible(Reader(), monitor.snapshot)
    query = AnswerQuery.read({"rating": "disliked"}, NOW)
    asked: list[str] = []

    def find(one: AnswerQuery) -> AnswerPage:
        asked.append(one.deployment)
        return AnswerPage(one.filter(3), (), 0)

    found = find_everywhere(seen, query, find, lambda: 0.0)
    assert (found.searched, found.left, asked[:2]) == (50, 3, ["app-07", "app-00"])
    slow = iter([0.0, 1.0, 9.0])
    found = find_everywhere(seen, query, find, lambda: next(slow))
    assert (found.searched, found.left) == (2, 51)
    assert monitor.snapshot is not None
    incident: Any = SimpleNamespace(ended_at=None)
    states = dict(monitor.snapshot.deployments)
    states["app-30"] = replace(states["app-30"], incidents=(incident,))
    asked.clear()
    find_everywhere(Visible(Reader(), replace(monitor.snapshot, deployments=states)), query, find, lambda: 0.0)
    assert asked[:2] == ["app-30", "app-07"]
