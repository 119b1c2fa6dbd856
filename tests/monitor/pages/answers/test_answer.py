"""The page of one answer: what it shows, where it is looked up, and what it says where something is missing."""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.queries import answer_details
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake
from monitor.pages.answers import addresses
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, ScoreColumns

TODAY = NOW.date()


def text_of(page: str) -> str:
    """The page's words, without tags."""
    apart = re.sub(r"</?(?:p|li|br|d[tdl]|div|h\d|blockquote|t[dhr]|summary|title)\b[^>]*>", " ", page)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", apart)).split())


def test_all_that_is_known_of_an_answer_is_shown(one_answer: str, client: TestClient) -> None:
    """Conversation, question, answer, contexts with document and page, scores, signals, calls, and what was logged."""
    response = client.get(one_answer)
    assert response.status_code == 200
    page, words = response.text, text_of(response.text)
    for expected in (
        "How can I help?", "How long is the leave?", "The allowance is 30 days.", "Handbook.pdf, page 4",
        "files/other.pdf", "faithfulness_claims", "strict", "no answer", "Gold? Really?", "disliked", "1.2 s", "0.25",
        "gpt-4o", '{"id": "r1"}',
    ):  # fmt: skip
        assert expected in words, expected
    assert words.index("Hello") < words.index("How can I help?") < words.index("Handbook.pdf")
    assert 'class="depth-0"' in page
    assert 'class="depth-1"' in page
    assert page.index("context-1") < page.index("context-2")


def test_tools_attachments_and_thoughts_are_shown(one_answer: str, rows: ScoreColumns, client: TestClient) -> None:
    """Each call with its arguments, its result and how it went; names of clients cannot turn into markup."""
    beside = {"id": "1", "arguments": '{"id": "4711"}', "result": "away <b>now</b>"}
    calls = [beside | {"name": name, "is_error": error} for name, error in (("get", True), ("put", False), ("x", None))]
    made = [{"type": "image/png", "title": "A <i>cat</i>", "url": "files/a.png", "size": 1234}]
    row = {"event_id": "e9", "date": TODAY, "requested_at": NOW, "tool_calls": calls, "attachments": made}
    rows.logs("rag", row | {"tool_calls_origin": "state", "reasoning": "I must look."})
    page = client.get(one_answer.replace("e1", "e9")).text
    words = text_of(page)
    for expected in (
        "get: failed", "put: succeeded", "x: not known whether it failed", 'Arguments: {"id": "4711"}',
        "Result: away <b>now</b>", "A <i>cat</i> image/png, 1,234 bytes", "files/a.png", "I must look.",
    ):  # fmt: skip
        assert expected in words, expected
    assert "<b>now" not in page
    assert "<i>cat" not in page


def test_a_call_of_a_tool_has_the_time_of_its_line(one_answer: str, rows: ScoreColumns, client: TestClient) -> None:
    """Of an MCP server by its name and arguments, and of a deployment by its name; of others none is said."""
    call = {"id": "1", "arguments": '{"id": 1}', "result": "", "is_error": False}
    calls = [call | {"name": name} for name in ("orders_get", "rag", "rest")]
    trace = {"trace_id": "0" * 31 + "7", "requested_at": NOW, "date": TODAY}
    row = trace | {"event_id": "e9", "span_id": "0" * 15 + "1", "is_entry": True, "kind": "chat_completion"}
    rows.logs("rag", row | {"tool_calls": calls, "tool_calls_origin": "state"})
    child = trace | {"parent_span_id": row["span_id"], "parent_deployment": "rag", "is_entry": False}
    body = json.dumps({"params": {"name": "get", "arguments": {"id": 1}}})
    get = {"event_id": "e10", "span_id": "0" * 15 + "2", "kind": "mcp", "request_body": body, "duration_ms": 1234}
    rows.logs("gpt-4o", child | get)
    rows.logs(
        "rag", child | {"event_id": "e11", "span_id": "0" * 15 + "3", "kind": "chat_completion", "duration_ms": 56}
    )
    page = client.get(one_answer.replace("e1", "e9"))
    found = text_of(page.text)
    assert "orders_get: succeeded 1,234 ms" in found
    assert "rag: succeeded 56 ms" in found
    assert "rest: succeeded Arguments" in found
    assert client.get(one_answer.replace("e1", "e9").replace("/answer", "/answer.json")).json()["tool_ms"] == [
        1234,
        56,
        None,
    ]


def test_calls_that_are_left_out_are_counted(
    one_answer: str, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may make thousands: the page says how many it does not list."""
    assert "more calls" not in client.get(one_answer).text
    monkeypatch.setattr(answer_details, "MOST_CALLS", 1)
    page = client.get(one_answer).text
    assert "1 more calls are not shown" in page
    assert 'class="depth-1"' not in page


def test_words_without_support_and_facts_are_marked(one_answer: str, client: TestClient) -> None:
    """The marks stand in the answer and in the context; a missed fact is named with its words."""
    page = client.get(one_answer).text
    assert '<mark class="absent" title="stands in no context">is paid in gold</mark>' in page
    assert '<mark class="fact" title="fact 1">allowance is 30 days</mark>' in page
    words = text_of(page)
    assert "1 of 2 found" in words
    assert "! missed: Carry over is 5 days" in words
    assert "✓ found in context 1: allowance is 30 days" in words


def test_claims_have_their_verdict_and_the_chunks_that_are_quoted(one_answer: str, client: TestClient) -> None:
    """A claim's chunk is quoted with a link to its context, and the judge's reason stands beside the verdict."""
    words = text_of(client.get(one_answer).text)
    assert "supported: The leave is 30 days. Context 1: The allowance is 30 days a year." in words
    assert "not in the contexts: It is paid in gold. no chunk says so" in words


def test_a_case_that_changed_since_is_not_quoted(rows: ScoreColumns, monitor: Monitor, lake: Lake) -> None:
    """Places stay, as they are of the answer's own contexts; the case's words now may be other ones."""
    rows.logs("rag", {"event_id": "e1", "contexts": [{"text": "a chunk"}], "contexts_origin": "retrieval_response"})
    details = {"facts_ranks": [0], "facts_places": [[2, 7]], "case_id": "case-1"}
    rows.scores("rag", {"event_id": "e1", "score_id": "s", "metric": "facts_recall", "details": json.dumps(details)})
    case = {
        "case_id": "case-1",
        "deployment": "rag",
        "facts": ["something else"],
        "updated_at": NOW + timedelta(days=1),
    }
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case]))
    monitor.refresh()
    page = TestClient(create_app(monitor)).get(f"/answer?deployment=rag&date={TODAY}&event_id=e1")
    assert "something else" not in page.text
    assert "the case has changed or is gone" in page.text
    assert '<mark class="fact" title="fact 1">chunk</mark>' in page.text


@pytest.mark.parametrize("noted", [1, None], ids=["noted", "a row of an earlier version"])
def test_accepting_or_editing_a_case_leaves_the_explanation_of_earlier_scores(
    rows: ScoreColumns, monitor: Monitor, lake: Lake, noted: int | None
) -> None:
    """The page quotes the facts of the version that the answer was compared with, whatever became of the case."""
    rows.logs("rag", {"event_id": "e1", "contexts": [{"text": "a chunk"}], "contexts_origin": "retrieval_response"})
    details = {"facts_ranks": [0], "facts_places": [[2, 7]], "case_id": "case-1"}
    score = {"event_id": "e1", "score_id": "s", "metric": "facts_recall", "details": json.dumps(details)}
    rows.scores("rag", score | {"case_version": noted, "scored_at": NOW})
    case = {"case_id": "case-1", "deployment": "rag", "facts": ["chunk"], "updated_at": NOW - timedelta(days=1)}
    later = {"version": 2, "facts": ["lump"], "status": "accepted", "updated_at": NOW + timedelta(hours=1)}
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case, case | later]))
    monitor.refresh()
    page = TestClient(create_app(monitor)).get(f"/answer?deployment=rag&date={TODAY}&event_id=e1")
    words = text_of(page.text)
    assert "found in context 1: chunk" in words
    assert "the case has changed or is gone" not in words
    assert "lump" not in words


def test_the_facts_of_a_version_that_is_gone_are_not_those_of_another(
    rows: ScoreColumns, monitor: Monitor, lake: Lake
) -> None:
    """A version that an erasure took is not replaced by what the case says now."""
    rows.logs("rag", {"event_id": "e1", "contexts": [{"text": "a chunk"}], "contexts_origin": "retrieval_response"})
    details = {"facts_ranks": [0], "facts_places": [[2, 7]], "case_id": "case-1"}
    score = {"event_id": "e1", "score_id": "s", "metric": "facts_recall", "details": json.dumps(details)}
    rows.scores("rag", score | {"case_version": 1, "scored_at": NOW})
    case = {"case_id": "case-1", "deployment": "rag", "version": 2, "facts": ["lump"], "updated_at": NOW}
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case]))
    monitor.refresh()
    page = TestClient(create_app(monitor)).get(f"/answer?deployment=rag&date={TODAY}&event_id=e1")
    assert "the case has changed or is gone" in text_of(page.text)
    assert "lump" not in page.text


def test_the_same_is_given_as_json(one_answer: str, client: TestClient) -> None:
    """All columns, contexts, scores with details, signals and calls, for scripts."""
    body = client.get(one_answer.replace("/answer?", "/answer.json?")).json()
    assert body["row"]["question"] == "How long is the leave?"
    assert [context["rank"] for context in body["contexts"]] == [1, 2]
    assert {score["metric"] for score in body["scores"]} >= {"facts_recall", "toxicity"}
    assert body["signals"][0]["comment"] == "Gold? Really?"
    assert [call["deployment"] for call in body["calls"]] == ["rag", "gpt-4o"]


def test_an_answer_without_anything_says_what_to_do(rows: ScoreColumns, monitor: Monitor) -> None:
    """No question, answer, contexts, scores, signals or trace: each place says so in words."""
    rows.logs("rag", {"event_id": "bare", "answer": None, "status": 500})
    monitor.refresh()
    page = TestClient(create_app(monitor)).get(f"/answer?deployment=rag&date={TODAY}&event_id=bare")
    assert page.status_code == 200
    words = text_of(page.text)
    for expected in ("None was logged.", "The log has none.", "--backfill", "Nobody rated it.", "no trace", "failed"):
        assert expected in words


def test_a_response_id_leads_to_its_answer(one_answer: str, client: TestClient) -> None:
    """One answer of the deployment: its page; several deployments: a list; any id of the chunks counts."""
    found = client.get("/answer?response_id=r1b&deployment=rag")
    assert (found.status_code, found.headers["location"]) == (303, one_answer)
    several = client.get("/answer?response_id=r1")
    assert several.status_code == 200
    assert html.escape(one_answer) in several.text
    assert "a call of another application" in several.text


def test_an_id_that_is_not_there_says_where_else_to_look(one_answer: str, client: TestClient) -> None:
    """404, and a link to a search in all days; a day before which nothing is looked for is kept to."""
    page = client.get("/answer?response_id=absent&deployment=rag")
    assert page.status_code == 404
    assert "since=1970-01-01" in page.text
    assert client.get("/answer?response_id=r1&deployment=rag&since=2026-11-21").status_code == 404
    last = client.get("/answer?response_id=absent&since=1970-01-01")
    assert "since=1970-01-01" not in last.text


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("deployment=rag&date=2026-11-20", 422),
        ("deployment=rag&date=yesterday&event_id=e1", 422),
        ("deployment=rag&date=2026-11-20&event_id=absent", 404),
        ("deployment=rag&date=2026-11-19&event_id=e1", 404),
        ("deployment=absent&date=2026-11-20&event_id=e1", 404),
        ("deployment=../rag&date=2026-11-20&event_id=e1", 404),
        ("response_id=r1&deployment=absent", 404),
        ("response_id=r1&since=x", 422),
        ("", 422),
    ],
)
def test_an_address_of_nothing_is_answered_in_words(
    one_answer: str, client: TestClient, query: str, status: int
) -> None:
    """A page for people, and no row of anything else; the same status as JSON."""
    page = client.get(f"/answer?{query}")
    assert (page.status_code, "<main" in page.text, "How long" in page.text) == (status, True, False)


DETAILS: list[Any] = [
    {"unsupported": 1, "facts_ranks": {"a": 1}, "facts": "x", "judges": []},
    {"unsupported": [[1], [2, 1], ["a", "b"], [True, 5], [-4, 2], [10**30, 10**31], [0, 10**9]]},
    {"facts_ranks": [0, "x", 99, None, True], "facts_places": [[0, 10**9]], "case_id": 5},
    {"facts": [1, {"fact": 2}, {"fact": "a claim", "contexts": [99, "x", -1], "verdict": []}], "judges": {"j": 1}},
    {"facts_ranks": [int("9" * 4300), 2**31], "facts_places": [], "more_unsupported": int("9" * 4300)},
    {"facts": [{"fact": "half \ud800 a character"}], "number": float("nan"), "low": float("-inf"), "x\ud800": 1},
    {"reference_facts": [{"fact": "one", "stated": "?", "contexts": "x"}], "judges": {"j": {"facts": [{"fact": "z"}]}}},
]


@pytest.mark.parametrize("details", [*DETAILS, [], "x", 1])
def test_details_of_any_form_do_not_break_the_page(rows: ScoreColumns, monitor: Monitor, details: Any) -> None:
    """What another writer or version wrote counts as absent, or is shown as it is."""
    rows.logs("rag", {"event_id": "e1", "answer": "Some words", "contexts": [{"text": "chunk"}]})
    rows.scores("rag", {"event_id": "e1", "score_id": "s", "details": json.dumps(details), "value": 0.5})
    monitor.refresh()
    client = TestClient(create_app(monitor))
    assert client.get(f"/answer?deployment=rag&date={TODAY}&event_id=e1").status_code == 200
    body = client.get(f"/answer.json?deployment=rag&date={TODAY}&event_id=e1").text
    json.loads(body, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.mark.parametrize("depth", [50, 500])
def test_details_of_any_depth_are_given(rows: ScoreColumns, monitor: Monitor, depth: int) -> None:
    """What JSON cannot be written of is a text, and all else of the answer is there."""
    deep = f'{{"a": {"[" * depth}1{"]" * depth}}}'
    rows.logs("rag", {"event_id": "e1", "answer": "Some words", "chat_id": "\u3164\u115f"})
    rows.scores("rag", {"event_id": "e1", "score_id": "s", "details": deep, "value": 0.5})
    monitor.refresh()
    client = TestClient(create_app(monitor))
    page = client.get(f"/answer?deployment=rag&date={TODAY}&event_id=e1")
    assert page.status_code == 200
    assert "\u3164" not in page.text
    assert "U+3164" in page.text
    answer = client.get(f"/answer.json?deployment=rag&date={TODAY}&event_id=e1")
    assert answer.status_code == 200
    (score,) = answer.json()["scores"]
    assert score["value"] == 0.5
    assert "[1]" in json.dumps(score["details"])
    assert answer.json()["row"]["answer"] == "Some words"


def test_calls_are_looked_for_where_applications_call(
    one_answer: str, rows: ScoreColumns, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in deployments that people alone ask, however many requests these have."""
    monkeypatch.setattr(addresses, "_MOST_CALLEES", 2)
    for number in range(3):
        rows.logs(f"busy-{number}", *({"event_id": f"{number}-{n}"} for n in range(3)))
    monitor.refresh()
    assert 'class="depth-1"' in TestClient(create_app(monitor)).get(one_answer).text


def test_citations_are_not_marked_as_words_without_support(
    rows: ScoreColumns, client: TestClient, monitor: Monitor
) -> None:
    """Only what is claimed is marked, also where a citation stands between the words."""
    place = {"event_id": "cited", "response_id": "cited", "requested_at": NOW, "date": TODAY}
    rows.logs("cites", place | {"answer": "Leave is 30 days [1]. It is paid in gold [2, 3] monthly."})
    found = json.dumps({"unsupported": [[18, 19], [28, 56]]})
    rows.scores("cites", place | {"value": 0.7, "score_id": "cited", "details": found})
    monitor.refresh()
    page = client.get(f"/answer?deployment=cites&date={TODAY}&event_id=cited").text
    marks = [one.strip() for one in re.findall(r'<mark class="absent" title[^>]*>(.*?)</mark>', page)]
    assert marks == ["paid in gold", "monthly."]


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ("proposed", ["proposed"], "by a proposed case, which nobody has accepted so far"),
        ("proposed", ["proposed", "accepted"], "by a case that was proposed then and has been accepted since"),
        ("proposed", ["proposed", "rejected"], "by a case that was proposed then and has been rejected since"),
        ("accepted", ["accepted"], "by an accepted case"),
        ("accepted", ["accepted", "stale"], "by a case that was accepted then and is out of date now"),
        ("proposed", [], "by a case that was proposed then"),
    ],
)
def test_a_score_by_a_case_says_how_the_case_stands_now(
    then: str, now: list[str], words: str, one_answer: str, client: TestClient, rows: ScoreColumns, lake: Lake
) -> None:
    assert words not in client.get(one_answer).text
    versions = [{"case_id": "c", "deployment": "rag", "version": n, "status": one} for n, one in enumerate(now, 1)]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([*versions, {"case_id": "other", "deployment": "rag"}]))
    marks = {"reference_status": then, "reference_match": "embedding", "reference_similarity": 0.97}
    marks |= {"details": json.dumps({"case_id": "c"})}
    rows.scores("rag", {"event_id": "e1", "score_id": "s", "metric": "facts_recall", "value": 0.5} | marks)
    page = text_of(client.get(one_answer).text)
    assert f"{words}, found as a similar question (0.97" in page
