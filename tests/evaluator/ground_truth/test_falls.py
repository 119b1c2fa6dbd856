"""Answers that people liked while an incident was open become no case, and score nothing, before a person says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.queries.frames import ground_truth_frame
from lake.queries.ground_truth.case_versions import change_case
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from tests.evaluator.conftest import NOON

NOW = datetime(2026, 11, 21, tzinfo=UTC)
DOUBT = "its answer was given while an incident was open: “facts found” got worse, since 2026-11-20 12:10 UTC"


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    settings = EvaluatorSettings(metrics=["context_present", "answer_correctness_token_recall"])
    return Evaluator(lake, settings, clock=lambda: NOW)


def alert(lake: Lake, change: str, minute: int, since: int | None = 10, **columns: Any) -> None:
    """Record a change of an alert on the facts that are found; minutes are from noon."""
    row = {
        "change_id": f"{change} {minute} {columns}",
        "alert_id": "alert",
        "incident_id": "incident",
        "deployment": "rag",
        "metric": "facts_recall",
        "change": change,
        "changed_at": NOON + timedelta(minutes=minute),
        "since": None if since is None else NOON + timedelta(minutes=since),
        "verdict": "system",
    }
    lake.table(ALERTS, "rag").append(ALERTS.rows([row | columns]))


def newest(traffic: Any) -> dict[str, dict[str, Any]]:
    """The cases as they are, by the names of their answers."""
    cases = sorted(traffic.cases(), key=lambda case: case["version"])
    return {case["source_response_id"].removeprefix("chatcmpl-"): case for case in cases}


def doubts(traffic: Any) -> dict[str, str | None]:
    return {name: case["doubt"] for name, case in newest(traffic).items()}


def like(traffic: Any, **minutes: int) -> None:
    """Log answers to questions of their own, and likes of them."""
    for name, minute in minutes.items():
        traffic.log(traffic.answer(name, minute, question=f"Where is it, {name}?"))
        traffic.rate(traffic.signal("like", name, minute + 1))


def test_an_answer_that_is_liked_during_an_incident_is_a_doubted_case(
    lake: Lake, evaluator: Evaluator, traffic: Any
) -> None:
    """From the onset on, which is before the alert was found; an answer from before it is none."""
    alert(lake, "firing", 30)
    like(traffic, before=9, onset=10, after=40)
    evaluator.run_once()
    assert doubts(traffic) == {"before": None, "onset": DOUBT, "after": DOUBT}
    assert {case["status"] for case in traffic.cases()} == {"proposed"}


def test_an_incident_that_is_found_later_doubts_the_cases_since_its_onset(
    lake: Lake, evaluator: Evaluator, traffic: Any
) -> None:
    """A case that a person accepted or rejected stays as it is; one that signals have withdrawn may come back."""
    like(traffic, before=9, onset=10, accepted=11, rejected=12, withdrawn=13)
    evaluator.run_once()
    for status in ("accepted", "rejected"):
        change_case(lake, "rag", newest(traffic)[status]["case_id"], {"status": status}, "ann", NOW)
    traffic.rate(traffic.signal("dislike", "withdrawn", 20, user="bob"))
    alert(lake, "firing", 30)
    evaluator.run_once()
    assert doubts(traffic) == {"before": None, "onset": DOUBT, "accepted": None, "rejected": None, "withdrawn": DOUBT}
    onset = newest(traffic)["onset"]
    assert (onset["note"], onset["version"], onset["updated_by"]) == (DOUBT, 2, "evaluator")
    assert newest(traffic)["withdrawn"]["status"] == "rejected"
    alert(lake, "firing", 31)
    evaluator.run_once()
    assert {case["version"] for case in traffic.cases()} == {1, 2}


def test_no_answer_is_compared_with_a_doubted_case_until_a_person_accepts_it(
    lake: Lake, evaluator: Evaluator, traffic: Any
) -> None:
    """Nor is it in an export of the cases; accepted, it is as any other."""
    metric = "answer_correctness_token_recall"
    alert(lake, "firing", 30)
    like(traffic, liked=20)
    traffic.log(traffic.answer("first", 50, question="Where is it, liked?"))
    evaluator.run_once()
    assert "first" not in traffic.values(metric)
    assert ground_truth_frame(lake, "rag").empty
    change_case(lake, "rag", traffic.cases()[0]["case_id"], {"status": "accepted"}, "ann", NOW)
    traffic.log(traffic.answer("second", 55, question="Where is it, liked?"))
    evaluator.run_once()
    assert traffic.values(metric)["second"] == 1.0
    assert list(ground_truth_frame(lake, "rag")["question"]) == ["Where is it, liked?"]


def test_what_is_liked_after_the_end_is_not_doubted(lake: Lake, evaluator: Evaluator, traffic: Any) -> None:
    """An incident lasts from its earliest onset to the end of its last alert; the doubts of that time stay."""
    alert(lake, "firing", 28, alert_id="other", metric="case_passed", since=20)
    alert(lake, "firing", 30)
    alert(lake, "firing", 32, alert_id="third", metric="case_passed", since=25)
    alert(lake, "resolved", 35, alert_id="third", metric="case_passed", since=25)
    alert(lake, "resolved", 40)
    like(traffic, open=45)
    evaluator.run_once()
    assert doubts(traffic) == {"open": DOUBT}
    alert(lake, "resolved", 50, alert_id="other", metric="case_passed", since=20)
    like(traffic, during=49, end=50)
    evaluator.run_once()
    assert doubts(traffic) == {"open": DOUBT, "during": DOUBT, "end": None}


@pytest.mark.parametrize(
    "columns",
    [
        {"verdict": "judge"},
        {"metric": "judge_drift", "verdict": "judge"},
        {"metric": "unscored", "verdict": None},
        {"metric": "no_data", "verdict": None},
        {"change": "delivered"},
    ],
)
def test_what_says_nothing_of_the_answers_doubts_none(
    lake: Lake, evaluator: Evaluator, traffic: Any, columns: dict[str, Any]
) -> None:
    """The judge changed, scores or lines are missing, or it is no alert's beginning."""
    alert(lake, **{"change": "firing", "minute": 30} | columns)
    like(traffic, liked=40)
    evaluator.run_once()
    assert doubts(traffic) == {"liked": None}


def test_a_limit_without_an_onset_counts_from_when_it_was_exceeded(
    lake: Lake, evaluator: Evaluator, traffic: Any
) -> None:
    """Alerts of earlier versions, which have no incident, are one each."""
    alert(lake, "firing", 10, alert_id="older", incident_id=None)
    alert(lake, "resolved", 20, alert_id="older", incident_id=None)
    alert(lake, "firing", 30, since=None, metric="tool_errors", verdict=None, incident_id=None)
    like(traffic, before=29, liked=30)
    evaluator.run_once()
    found = doubts(traffic)
    assert found["before"] is None
    assert found["liked"] is not None
    assert found["liked"].endswith("since 2026-11-20 12:30 UTC")
