"""What speaks against an answer, at the top of its page."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns

TODAY = NOW.date()


def against(page: str) -> list[str]:
    """Return the lines of the notice; one, its heading, where nothing speaks against the answer."""
    (notice,) = re.findall(r'<section class="notice[^>]*aria-labelledby="against">(.*?)</section>', page, re.DOTALL)
    lines = re.findall(r"<li>(.*?)</li>", notice) or re.findall(r"<h2.*?</h2>|<p>.*?</p>", notice)
    return [" ".join(html.unescape(re.sub("<[^>]*>", "", one)).split()) for one in lines]


def test_findings_and_a_dislike_stand_at_the_top(one_answer: str, client: TestClient) -> None:
    page = client.get(one_answer).text
    assert against(page) == [
        "A person disliked it: “Gold? Really?”.",
        "Fact of the right answer, in no retrieved text: “Carry over is 5 days”.",
        "Words that stand in no context: “is paid in gold”.",
        "Claim that the contexts do not support: “It is paid in gold.”.",
    ]
    parts = ('id="against"', "Question</h2>", "Answer</h2>", 'id="about"', 'id="contexts"')
    places = [page.index(one) for one in parts]
    assert places == sorted(places)


def test_who_may_not_read_texts_sees_that_without_them(one_answer: str, monitor: Monitor) -> None:
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": {"figures": {"deployments": ["rag"]}}}}
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": access}))
    with TestClient(app, client=("10.0.0.7", 5000)) as client:
        page = client.get(one_answer, headers={"X-Forwarded-User": "ann", "X-Forwarded-Groups": "figures"}).text
    assert against(page) == ["A person disliked it."]
    assert "Gold" not in page


CALLS = [
    {"id": "1", "name": name, "arguments": "{}", "result": "x", "is_error": error}
    for name, error in (("<b>get</b>", True), ("put", False))
]


@pytest.mark.parametrize(
    ("row", "scores", "lines"),
    [
        ({}, {"facts_recall": 1.0}, ["✓ Nothing speaks against this answer"]),
        ({}, {}, ["✓ Nothing speaks against this answer", "No metric has scored it."]),
        ({"status": 500}, {}, ["The request failed."]),
        ({"answer": " ", "finish_reason": "stop"}, {}, ["The answer is empty."]),
        ({"answer": "I do not know."}, {}, ["It refuses, or says that the information is missing."]),
        ({"finish_reason": "length"}, {}, ["It was cut off before its end."]),
        ({"tool_calls": CALLS, "tool_calls_origin": "state"}, {}, ["A call of a tool failed: “<b>get</b>”."]),
        ({}, {"context_present": 0.0}, ["No document was found for the question."]),
        ({}, {"case_passed": 0.0}, ["It does not agree with the known right answer (its case)."]),
        ({}, {"case_passed": 1.0, "latency_over@10": 0.0}, ["✓ Nothing speaks against this answer"]),
        ({}, {"latency_over@10": 1.0}, ["It took too long: “answers that took over 10 s”."]),
    ],
)
def test_each_way_to_be_bad_is_said(
    rows: ScoreColumns, monitor: Monitor, row: dict[str, Any], scores: dict[str, float], lines: list[str]
) -> None:
    named = {"event_id": "e7", "response_id": "r7"}
    rows.logs("rag", named | {"question": "How long?"} | row)
    if scores:
        rows.scores("rag", *(named | {"score_id": one, "metric": one, "value": scores[one]} for one in scores))
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        page = client.get(f"/answer?deployment=rag&date={TODAY}&event_id=e7").text
    assert against(page) == lines


def test_a_refusal_has_no_unsupported_words(rows: ScoreColumns, monitor: Monitor, one_answer: str) -> None:
    """No document says what a refusal says."""
    score = {"event_id": "e1", "response_id": "r1", "score_id": "refusal", "metric": "refusal", "value": 1.0}
    rows.scores("rag", score)
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        said = against(client.get(one_answer).text)
    assert said[0] == "It refuses, or says that the information is missing."
    assert not any(line.startswith("Words that stand in no context") for line in said)


@pytest.mark.parametrize("part", [None, "retrieval"])
def test_which_part_failed_is_said_where_that_is_known(rows: ScoreColumns, monitor: Monitor, part: str | None) -> None:
    named = {"event_id": "e7", "response_id": "r7"}
    rows.logs("rag", named | {"question": "How long?"})
    rows.scores("rag", named | {"metric": "case_passed", "value": 0.0, "failed_part": part})
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        (line,) = against(client.get(f"/answer?deployment=rag&date={TODAY}&event_id=e7").text)
    said = ": retrieval did not find the fact" if part else ""
    assert line == f"It does not agree with the known right answer (its case){said}."


def test_what_is_farthest_from_usual_comes_first(rows: ScoreColumns, monitor: Monitor) -> None:
    """Of the scores at the top of the page, where it is known what is usual."""
    for metric in ("answer_relevancy", "faithfulness_kprecision"):
        rows.hours("rag", 48, lambda left: 0.9, metric)
    named = {"event_id": "e7", "response_id": "r7"}
    rows.logs("rag", named | {"question": "How long?"})
    values = {"answer_relevancy": 0.88, "context_present": 1.0, "faithfulness_kprecision": 0.2}
    rows.scores("rag", *(named | {"score_id": one, "metric": one, "value": values[one]} for one in values))
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        page = client.get(f"/answer?deployment=rag&date={TODAY}&event_id=e7").text
    about = page[page.index('id="about"') :].split("</dl>")[0]
    assert re.findall(r"<strong>(.*?)</strong>", about) == ["0.20", "0.88", "1.00"]
