"""Signals that come after their answer became a case."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.ground_truth.propose import changes_by_signals
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.queries.ground_truth.case_versions import case_history, change_case
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def evaluator(lake: Lake, traffic: Any) -> Evaluator:
    made = Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW)
    traffic.log(traffic.answer("a"))
    traffic.rate(traffic.signal("like", "a", 1))
    assert made.run_once().cases == 1
    return made


def versions(lake: Lake, traffic: Any) -> list[dict[str, Any]]:
    truth = lake.table(GROUND_TRUTH, "rag")
    return case_history(truth, truth.read(["case_id"])["case_id"][0].as_py())


def test_a_proposed_case_is_withdrawn_and_proposed_again(lake: Lake, evaluator: Evaluator, traffic: Any) -> None:
    """A like that is taken back, and given again; each is a version that says why, and nothing is a new case."""
    for number, (signal, status) in enumerate([("dislike", "rejected"), ("like", "proposed")], 2):
        traffic.rate(traffic.signal(signal, "a", number))
        assert evaluator.run_once().cases == 0
        newest, *older = versions(lake, traffic)
        assert (newest["version"], newest["status"], newest["status_by"]) == (number, status, "evaluator")
        assert "signals of its answer now come to" in newest["note"]
        assert newest["facts"] == older[-1]["facts"]
    evaluator.run_once()
    assert len(versions(lake, traffic)) == 3


def test_an_accepted_case_is_pointed_at_once_until_a_person_decides(
    lake: Lake, evaluator: Evaluator, traffic: Any
) -> None:
    case_id = versions(lake, traffic)[0]["case_id"]
    change_case(lake, "rag", case_id, {"status": "accepted"}, "ann", NOW)
    for minute in (2, 3):
        traffic.rate(traffic.signal("dislike", "a", minute))
        evaluator.run_once()
    newest, *_ = versions(lake, traffic)
    assert (newest["version"], newest["status"], newest["status_by"]) == (3, "accepted", "ann")
    assert "signals speak against this answer" in newest["note"]
    change_case(lake, "rag", case_id, {"note": "it is right"}, "ann", NOW)
    traffic.rate(traffic.signal("dislike", "a", 4, user="bob"))
    evaluator.run_once()
    assert "signals speak against this answer" in versions(lake, traffic)[0]["note"]


def test_what_a_person_rejected_stays_rejected(lake: Lake, evaluator: Evaluator, traffic: Any) -> None:
    """However many like the answer, and its question gets no other case with the same answer."""
    change_case(lake, "rag", versions(lake, traffic)[0]["case_id"], {"status": "rejected"}, "ann", NOW)
    traffic.log(traffic.answer("again", 5))
    traffic.rate(traffic.signal("like", "a", 6, user="bob"), traffic.signal("like", "again", 6))
    assert evaluator.run_once().cases == 0
    assert [one["status"] for one in versions(lake, traffic)] == ["rejected", "proposed"]


STATUSES = ("proposed", "accepted", "rejected", "stale")
BY = st.sampled_from(["evaluator", "ann"])
SHARE = st.integers(0, 20).map(lambda number: number / 20)


@example("proposed", "evaluator", "evaluator", 0.8, 0.8)
@example("rejected", "evaluator", "evaluator", 0.8, 0.8)
@example("accepted", "ann", "ann", 0.0, 0.8)
@given(st.sampled_from(STATUSES), BY, BY, st.integers(-20, 20).map(lambda number: number / 20), SHARE)
def test_a_case_needs_at_least_what_is_set_and_what_a_person_decided_stays(
    status: str, status_by: str, updated_by: str, folded: float, least: float
) -> None:
    """Exactly as much is enough; an accepted case is pointed at below 0 alone, once; another case is left alone."""
    case = {"case_id": "c", "status": status, "status_by": status_by, "updated_by": updated_by}
    changes = dict(changes_by_signals([case, case | {"case_id": "other"}], {"c": folded}, least))
    assert changes.keys() <= {"c"}
    found = changes.get("c", {})
    expected: dict[str, str] = {}
    if status == "proposed" and folded < least:
        expected = {"status": "rejected"}
    elif status == "rejected" and status_by == "evaluator" and folded >= least:
        expected = {"status": "proposed"}
    assert {name: found[name] for name in found if name != "note"} == expected
    is_doubted = status == "accepted" and folded < 0 and updated_by == "ann"
    assert ("note" in found) == (bool(expected) or is_doubted)
