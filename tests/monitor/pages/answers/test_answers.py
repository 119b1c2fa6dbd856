"""The list of answers: what its form finds, its pages, its CSV and JSON, and its limits."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.spec.schemas import USER_SIGNALS
from monitor.pages import lake_reads
from monitor.pages.answers import handlers
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, ScoreColumns

DAYS = "since=2026-11-19&until=2026-11-20"


def found_in(page: str) -> list[str]:
    """The response ids of a page, in its order."""
    return re.findall(r'<span class="quiet ids">([^<]*)</span>', page)


@pytest.mark.usefixtures("many_answers")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("metric=faithfulness_kprecision&below=0.03", [0, 1, 2]),
        ("metric=faithfulness_kprecision&below=0,03&order=desc", [2, 1, 0]),
        ("status=failed&sort=time&order=asc", [59, 49, 39, 29, 19, 9]),
        ("id=swer-07", [7]),
        ("id=e07", [7]),
        ("words=question+42", [42]),
        ("words=" + "x" * 5000, []),
        ("rating=disliked", [3]),
        ("failure=error&order=asc", [59, 49, 39, 29, 19, 9]),
        ("failure=empty", [60, 61]),
        ("failure=cut", [60]),
        ("failure=refusal", [5]),
        ("words=question+1&metric=faithfulness_kprecision&below=0.12&order=desc", [11, 10, 1]),
    ],
)
def test_the_form_finds(client: TestClient, rows: ScoreColumns, query: str, expected: list[int]) -> None:
    """Each field by itself and together, in the order that is asked for."""
    rows.signals("rag", "like", "regenerate")
    rated = {"signal_id": "d", "response_id": "answer-03", "signal": "dislike", "origin": "explicit"}
    rated |= {"deployment": "rag", "date": NOW.date(), "signaled_at": NOW}
    rows.lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([rated]))
    at = NOW - timedelta(hours=30)
    failed = {"requested_at": at, "date": at.date(), "answer": " \n", "is_entry": True}
    rows.logs(
        "rag",
        failed | {"event_id": "e60", "response_id": "answer-60", "finish_reason": "length"},
        failed | {"event_id": "e61", "response_id": "answer-61", "requested_at": at - timedelta(minutes=1)},
    )
    refusal = {"event_id": "e05", "response_id": "answer-05", "score_id": "refusal", "metric": "refusal"}
    rows.scores("rag", refusal | {"value": 1.0}, refusal | {"event_id": "e06", "score_id": "no", "value": 0.0})
    page = client.get(f"/answers?deployment=rag&{DAYS}&{query}")
    assert page.status_code == 200
    assert found_in(page.text) == [f"answer-{number:02}" for number in expected]
    body = client.get(f"/answers.json?deployment=rag&{DAYS}&{query}").json()
    assert [row["response_id"] for row in body["rows"]] == found_in(page.text)
    assert body["total"] == len(expected)


@pytest.mark.usefixtures("many_answers")
def test_a_complaint_is_found_by_its_words_and_its_client(client: TestClient, rows: ScoreColumns) -> None:
    """List, JSON and CSV show what people wrote, the latest first, and who asked."""
    rows.logs("rag", {"event_id": "c1", "response_id": "c1", "project_id": "hr", "user_id": "u-1", "client": "web"})
    rows.logs("rag", {"event_id": "c2", "response_id": "c2", "client": "bot"})
    rated = {"response_id": "c1", "signal": "dislike", "origin": "explicit", "deployment": "rag", "date": NOW.date()}
    said = ["Wrong CITY", "=evil\nsecond line", " "]
    signals = [
        rated | {"signal_id": text, "details": json.dumps({"comment": text}), "signaled_at": NOW + timedelta(minutes=n)}
        for n, text in enumerate(said)
    ]
    rows.lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(signals))
    for query, number in (
        ("comment=wrong+city", 1),
        ("comment=town", 0),
        ("client=hr", 1),
        ("client=h", 0),
        ("client=web", 1),
        ("client=bot", 1),
    ):
        assert client.get(f"/answers.json?deployment=rag&{query}").json()["total"] == number
    row = client.get("/answers.json?deployment=rag&comment=evil").json()["rows"][0]
    assert (row["rating"], row["comments"]) == ("disliked", ["=evil\nsecond line", "Wrong CITY"])
    assert (row["user_id"], row["project_id"], row["client"]) == ("u-1", "hr", "web")
    line = next(csv.DictReader(io.StringIO(client.get("/answers.csv?deployment=rag&client=hr").text, newline="")))
    assert line["comments"] == "'=evil\nsecond line\nWrong CITY"
    assert (line["rating"], line["user_id"], line["project_id"], line["client"]) == ("disliked", "u-1", "hr", "web")
    assert "Wrong CITY" in client.get("/answers?deployment=rag&client=hr").text


@pytest.mark.usefixtures("many_answers")
def test_columns_are_chosen_in_the_address_and_stay(client: TestClient) -> None:
    """A form gives each as a field of its own; links to other pages of the list have them, too."""
    page = client.get("/answers?deployment=rag&columns=model&columns=rating").text
    heads = re.findall('<th scope="col" class="([a-z]*)"', page)
    assert heads == ["when", "rating", "model"]
    assert "columns=rating%2Cmodel" in html.unescape(re.findall('rel="next" href="([^"]*)"', page)[0])
    assert re.findall('<th scope="col" class="([a-z]*)"', client.get("/answers?deployment=rag").text) == [
        "when", "texts", "scores", "rating", "status"
    ]  # fmt: skip


@pytest.mark.usefixtures("many_answers")
def test_a_time_within_the_first_day_is_the_beginning(client: TestClient) -> None:
    """It stays where the list is paged or sorted, and says nothing of another first day."""
    every = client.get("/answers.json?deployment=rag&sort=time&order=asc&page=2").json()
    at = every["rows"][3]["requested_at"]
    query = {"deployment": "rag", "start_time": at, "sort": "time", "order": "asc"}
    found = client.get("/answers.json", params=query).json()
    assert found["rows"][0]["requested_at"] == at
    assert found["total"] == every["total"] - 28
    assert found["total"] == client.get("/answers.json", params=query | {"page": "2"}).json()["total"]
    assert "start_time" in client.get("/answers", params=query).text
    days = {"since": "2026-11-01", "until": "2026-11-20"}
    assert client.get("/answers.json", params=query | days).json()["total"] == every["total"]


@pytest.mark.usefixtures("many_answers")
def test_pages_follow_each_other_and_keep_what_was_asked(client: TestClient) -> None:
    """60 answers are three pages: each link leads on, and every answer is on one of them."""
    seen, address = [], f"/answers?deployment=rag&{DAYS}&sort=faithfulness_kprecision&order=asc"
    for _ in range(5):
        page = client.get(address).text
        seen += found_in(page)
        following = re.search(r'rel="next" href="([^"]*)"', page)
        if following is None:
            break
        address = html.unescape(following[1])
    assert seen == [f"answer-{number:02}" for number in range(60)]
    assert "60 answers, 2026-11-19 to 2026-11-20 (UTC)" in page
    assert "51 to 60 are shown" in page
    assert 'rel="prev"' in page
    assert client.get(f"/answers?deployment=rag&{DAYS}&page=99").status_code == 200


@pytest.mark.usefixtures("many_answers")
def test_the_form_is_folded_where_answers_are_found(client: TestClient) -> None:
    """What was searched stands in its place; days are written alike whatever the language of a browser."""
    folded, unfolded = '<details class="fold"><summary>', '<details class="fold" open><summary>'
    page = client.get(f"/answers?deployment=rag&{DAYS}&words=question+1&failure=tool_error").text
    assert unfolded in page
    page = client.get(f"/answers?deployment=rag&{DAYS}&words=question+1&entries_only=false").text
    (summary,) = re.findall(re.escape(folded) + "(.*?)</summary>", page)
    said = re.sub("<[^>]*>", "", summary)
    assert re.fullmatch(r"Searched: rag, \S+ to \S+ \(UTC\), words question 1, also calls between applications", said)
    assert "Searched: all deployments, " in client.get(f"/answers?{DAYS}&words=question+1").text
    assert unfolded in client.get("/answers?since=never").text
    # A wide page shows this form even where it is folded.
    assert unfolded.replace("fold", "fold filters") in client.get("/answers").text
    assert re.search(r'<input name="since" value="\d{4}-\d{2}-\d{2}" placeholder="YYYY-MM-DD"', page)
    assert 'type="date"' not in page


@pytest.mark.usefixtures("many_answers")
def test_an_empty_list_says_what_to_do(client: TestClient, monitor: Monitor) -> None:
    """Before a deployment is chosen, where nothing matches, and where no row has arrived."""
    assert "Choose a deployment" in client.get("/answers").text
    nothing = client.get(f"/answers?deployment=rag&{DAYS}&words=absent").text
    assert "No answer matches" in nothing
    assert "all answers of this period" in nothing
    assert "No answer matches" in client.get("/answers?deployment=empty").text


def test_a_lake_without_rows_says_what_to_do(client: TestClient) -> None:
    """The form is there, and what fills it."""
    assert "Nothing has arrived yet" in client.get("/answers").text


@pytest.mark.usefixtures("many_answers")
@pytest.mark.parametrize(
    "query",
    [
        "since=yesterday", "since=2026-11-20&until=2026-11-19", "since=2020-01-01&until=2026-01-01", "below=x&metric=m",
        "below=nan&metric=m", "below=0.5", "rating=good", "status=1", "order=up", "page=0", "page=-1", "page=x",
        "page=99999999999999999999", "page=²", "start_time=noon",
        "start_time=0001-01-01T00:00%2B09:00", "since=0001-01-01&until=0001-01-02", "until=9999-12-31", "deployment=..",
    ],
)  # fmt: skip
def test_a_field_that_cannot_be_used_is_named(client: TestClient, query: str) -> None:
    """422 with a sentence, and the form stays; never an error page of the program."""
    page = client.get(f"/answers?deployment=rag&{query}")
    assert page.status_code == 422
    assert "<form" in page.text
    assert 'class="notice trouble"' in page.text
    assert client.get(f"/answers.json?deployment=rag&{query}").status_code == 422


def test_a_cell_that_begins_like_a_formula_is_quoted(client: TestClient, rows: ScoreColumns, monitor: Monitor) -> None:
    """A spreadsheet that opens the CSV runs nothing of what people wrote; numbers stay numbers."""
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "two\nlines", '"quoted", and', "plain"]
    texts += ["\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "a; =1", "a;b\n-1", "a\t@x"]
    rows.logs(
        "rag",
        *(
            {"event_id": f"{number}=e", "response_id": text, "question": text, "answer": text, "model": text}
            | {"error": text, "chat_id": text}
            for number, text in enumerate(texts)
        ),
    )
    rows.scores("rag", {"event_id": "0=e", "score_id": "s", "value": -0.5, "metric": "=cmd|' /C calc'!A0"})
    monitor.refresh()
    response = client.get("/answers.csv?deployment=rag")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"] == 'attachment; filename="answers.csv"'
    lines = list(csv.reader(io.StringIO(response.text, newline="")))
    assert len(lines) == 1 + len(texts)
    cells = [cell for line in lines for cell in line]
    quoted = {"'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t'=1", "'\r'=1", "'\uff1d1", "'\uff0b1", "'\uff0d1", "'\uff201"}
    assert quoted | {"two\nlines", '"quoted", and', "plain", "a; '=1", "a;b\n'-1", "a\t'@x"} <= set(cells)
    assert "'=cmd|' /C calc'!A0" in lines[0]
    risky = [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert risky == ["-0.5"]
    # As a spreadsheet sees it that divides by semicolons, or by tabs, and knows no quotes.
    pieces = re.split("[;\t\r\n]", response.text.replace('"', "\n"))
    assert [piece for piece in pieces if re.match("\\s*[=+@\uff1d\uff0b\uff0d\uff20-]", piece)] == []


@pytest.mark.usefixtures("many_answers")
def test_a_search_that_is_one_too_many_is_refused_and_metrics_are_not(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While three searches run a fourth waits, then gets 503 with a time to try again; `/metrics` answers meanwhile."""
    running, go_on = threading.Semaphore(0), threading.Event()

    def slow(*_: Any) -> Any:
        running.release()
        assert go_on.wait(30)
        raise OSError("the lake is away: a secret text")

    monitor.refresh()
    monkeypatch.setattr(handlers, "find_answers", slow)
    monkeypatch.setattr(lake_reads, "WAIT_SECONDS", 0.1)
    with TestClient(create_app(monitor)) as client:
        statuses: list[int] = []
        others = [TestClient(client.app, client=(f"10.0.0.{number}", 5000)) for number in range(3)]
        ask = lambda one: statuses.append(one.get("/answers?deployment=rag").status_code)  # noqa: E731
        threads = [threading.Thread(target=ask, args=(one,)) for one in others]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert running.acquire(timeout=30)
        refused = client.get("/answers?deployment=rag")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert "searches are running" in refused.text
        assert client.get("/metrics").status_code == 200
        go_on.set()
        for thread in threads:
            thread.join(30)
        assert statuses == [503] * 3
        failed = client.get("/answers?deployment=rag")
        assert failed.status_code == 503
        assert "secret" not in failed.text


@pytest.mark.usefixtures("many_answers")
def test_pages_that_are_read_do_not_reload(client: TestClient, one_answer: str) -> None:
    """The overview renews itself, the pages of answers do not; forms may go to this server alone."""
    assert 'http-equiv="refresh"' in client.get("/").text
    for path in ("/answers?deployment=rag", one_answer, "/answer?response_id=no"):
        page = client.get(path)
        assert 'http-equiv="refresh"' not in page.text
        assert "renews itself" not in page.text
        assert "form-action 'self'" in page.headers["content-security-policy"]
    assert NOW.date().isoformat() in client.get("/answers?deployment=rag").text
