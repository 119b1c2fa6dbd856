"""From an answer to the one before and after it in the list that it was opened from."""

from __future__ import annotations

import html
import re
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient

from lake.queries.answer_search import AnswerPage
from lake.tables.lake import Lake
from monitor.pages.answers.handlers import Step, neighbour
from monitor.pages.answers.query import AnswerQuery
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, ScoreColumns
from tests.monitor.pages.answers.payloads import PAYLOADS

LIST = "/answers?deployment=rag&since=2026-11-19&until=2026-11-20&sort=faithfulness_kprecision&order=asc"


def link(page: str, words: str) -> str | None:
    found = re.search(rf'href="([^"]*)"[^>]*>{words}</a>', page)
    return html.unescape(found[1]) if found else None


def shown(page: str) -> str:
    return re.findall(r"answer-\d\d", page)[0]


@pytest.mark.slow
@pytest.mark.usefixtures("many_answers")
def test_one_walks_through_the_whole_list(client: TestClient) -> None:
    """Next goes through all pages of the list in its order, previous the same way back, and both end at its ends."""
    client.follow_redirects = True
    first = re.findall(r'<th scope="row"><a href="([^"]*)"', client.get(LIST).text)[0]
    page = client.get(html.unescape(first)).text
    seen = [shown(page)]
    for _ in range(59):
        following = link(page, "Next")
        assert following is not None
        page = client.get(following).text
        seen.append(shown(page))
    assert seen == [f"answer-{number:02}" for number in range(60)]
    back = link(page, "Previous")
    assert back is not None
    assert shown(client.get(back).text) == "answer-58"
    end = client.get(link(page, "Next") or "")
    assert "51 to 60 are shown" in end.text
    the_list = link(page, "Back to the list")
    assert the_list is not None
    assert "51 to 60 are shown" in client.get(the_list).text


@pytest.mark.usefixtures("many_answers")
def test_the_way_back_over_the_pages_of_the_list(client: TestClient) -> None:
    """The first of a page is preceded by the last of the page before it."""
    client.follow_redirects = True
    rows = re.findall(r'<th scope="row"><a href="([^"]*)"', client.get(f"{LIST}&page=2").text)
    page = client.get(html.unescape(rows[0])).text
    assert shown(page) == "answer-25"
    back = client.get(link(page, "Previous") or "")
    assert shown(back.text) == "answer-24"
    assert shown(client.get(link(back.text, "Next") or "").text) == "answer-25"


@pytest.mark.usefixtures("many_answers")
def test_an_answer_that_was_found_everywhere_leads_back_to_all_that_was_found(client: TestClient) -> None:
    """Its neighbours are those of its deployment."""
    found = client.get("/answers?words=question").text
    assert " in 1 deployment, " in found
    first = re.findall(r'<th scope="row"><a href="([^"]*)"', found)[0]
    page = client.get(html.unescape(first)).text
    back = link(page, "Back to the list")
    assert back is not None
    assert " in 1 deployment, " in client.get(back).text
    assert "deployment%3Drag" in (link(page, "Next") or "")


@pytest.mark.usefixtures("many_answers")
@pytest.mark.parametrize("text", ["", "x", "deployment=absent", "deployment=rag&since=x", *PAYLOADS[:5]])
def test_an_answer_without_a_list_has_no_neighbours(client: TestClient, text: str) -> None:
    """Whatever stands in the address, the answer is shown; only a list that may be seen is led back to."""
    address = {"deployment": "rag", "date": NOW.date().isoformat(), "event_id": "e00", "list": text}
    page = client.get("/answer", params=address)
    assert page.status_code == 200
    assert (link(page.text, "Next"), link(page.text, "Back to the list")) == (None, None)
    refused = client.get("/answers/neighbour", params={"event_id": "e00", "step": "next", "list": text})
    assert refused.status_code == 422


def test_the_score_stands_beside_what_is_usual(monitor: Monitor, rows: ScoreColumns) -> None:
    """At the top of the answer, as soon as the metric has a reference."""
    rows.hours("rag", 30, lambda left: 0.9, "faithfulness_kprecision")
    rows.logs("rag", {"event_id": "mine"})
    rows.scores("rag", {"event_id": "mine", "value": 0.25, "score_id": "mine"})
    monitor.refresh()
    page = TestClient(create_app(monitor)).get(f"/answer?deployment=rag&date={NOW.date()}&event_id=mine").text
    shown = r"answer words found in the documents <strong>0\.25</strong> <span[^>]*>usually 0\.\d\d</span>"
    assert re.search(shown, page)


def test_calls_between_applications_are_found_where_that_is_asked(
    monitor: Monitor, rows: ScoreColumns, lake: Lake
) -> None:
    """The empty list of a model that only applications call says how to find its calls."""
    rows.logs("gpt-4o", {"event_id": "call", "response_id": "the-call", "is_entry": False})
    monitor.refresh()
    client = TestClient(create_app(monitor))
    page = client.get("/answers?deployment=gpt-4o").text
    assert "the-call" not in page
    assert "the-call" in client.get(link(page, "searching their calls, too") or "").text
    assert client.get("/answers?deployment=gpt-4o&entries_only=x").status_code == 422


def test_the_neighbour_across_the_edge_of_a_page_is_on_the_page_beside_it() -> None:
    """Next after the last of page 2 is the first of page 3, previous before its first is the last of page 1."""
    query = AnswerQuery("rag", NOW.date(), NOW.date(), page=2)
    rows = [SimpleNamespace(event_id=str(number)) for number in range(6)]

    def find(asked: AnswerQuery) -> AnswerPage:
        here = slice(2 * asked.page - 2, 2 * asked.page)
        return AnswerPage(asked.filter(page_size=2), tuple(rows[here]), len(rows))  # type: ignore[arg-type]

    assert neighbour(find, query, "3", Step.NEXT) == (rows[4], query.with_page(3))
    assert neighbour(find, query, "2", Step.PREVIOUS) == (rows[1], query.with_page(1))
    assert neighbour(find, query, "2", Step.NEXT) == (rows[3], query)
    assert neighbour(find, query.with_page(3), "5", Step.NEXT) is None
    assert neighbour(find, query.with_page(1), "0", Step.PREVIOUS) is None
