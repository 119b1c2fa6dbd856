"""Answers that people liked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.tables.lake import Lake


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    return Evaluator(lake, EvaluatorSettings(metrics=["context_present"]), clock=lambda: now)


def liked(traffic: Any) -> set[str]:
    return {case["source_response_id"].removeprefix("chatcmpl-") for case in traffic.cases()}


def implicit(traffic: Any, signal: str, name: str, minute: int, confidence: float, user: str = "ann") -> dict[str, Any]:
    columns = {"origin": "implicit", "value": -1.0 if signal == "correction" else -0.5, "confidence": confidence}
    row: dict[str, Any] = traffic.signal(signal, name, minute, user) | columns
    return row


def test_a_rating_may_carry_any_id_of_the_answers_chunks(evaluator: Evaluator, traffic: Any) -> None:
    """DIAL Chat rates by the first chunk's id, Core's merged answer has the last one's."""
    traffic.log(*(traffic.answer(name, question=name) for name in ("first", "last", "none")))
    likes = [traffic.signal("like", name) for name in ("first", "last", "none")]
    traffic.rate(likes[0], likes[1] | {"response_id": "chatcmpl-last"}, likes[2] | {"response_id": "chatcmpl"})
    evaluator.run_once()
    assert liked(traffic) == {"first", "last"}


def test_a_rating_is_about_its_own_deployments_answer(evaluator: Evaluator, traffic: Any, other_traffic: Any) -> None:
    """Two deployments may use the same response id."""
    for each in (traffic, other_traffic):
        each.log(each.answer("a"))
    other_traffic.rate(other_traffic.signal("like", "a"))
    evaluator.run_once()
    assert (liked(traffic), liked(other_traffic)) == (set(), {"a"})


def test_a_rating_may_come_days_later_or_before(evaluator: Evaluator, traffic: Any) -> None:
    """In another file and another partition of the table."""
    traffic.rate(traffic.signal("like", "b", 0))
    evaluator.run_once()
    traffic.log(traffic.answer("a", question="a"), traffic.answer("b"))
    evaluator.run_once()
    assert liked(traffic) == {"b"}
    traffic.rate(traffic.signal("like", "a", 9 * 1440))
    evaluator.run_once()
    assert liked(traffic) == {"a", "b"}


@pytest.mark.parametrize("minutes", [-24 * 60, -13 * 60])
def test_a_rating_may_be_of_the_day_before_by_another_clock(evaluator: Evaluator, traffic: Any, minutes: int) -> None:
    """In whatever order both come."""
    traffic.rate(traffic.signal("like", "b", minutes))
    traffic.log(traffic.answer("a", question="a"), traffic.answer("b"))
    evaluator.run_once()
    assert liked(traffic) == {"b"}
    traffic.rate(traffic.signal("like", "a", minutes))
    evaluator.run_once()
    assert liked(traffic) == {"a", "b"}


def test_of_two_ratings_under_different_ids_of_one_answer_the_latest_counts(evaluator: Evaluator, traffic: Any) -> None:
    """One person rates by the first chunk's id and again by the last one's."""
    traffic.log(traffic.answer("a", question="a"), traffic.answer("b"))
    for name, first, second in (("a", "like", "dislike"), ("b", "dislike", "like")):
        traffic.rate(traffic.signal(first, name, 1))
        traffic.rate(traffic.signal(second, name, 2) | {"response_id": f"chatcmpl-{name}"})
    evaluator.run_once()
    assert liked(traffic) == {"b"}


def test_a_liked_answer_that_its_person_rejects_later_is_no_case(evaluator: Evaluator, traffic: Any) -> None:
    """Nor one that is asked for again; a mere edit takes nothing away, nor what came before the like."""
    names = ("corrected", "regenerated", "edited", "corrected-before", "corrected-by-another")
    traffic.log(*(traffic.answer(name, question=name) for name in names))
    likes = [traffic.signal("like", name, 5) | {"confidence": 1.0} for name in names]
    traffic.rate(
        *likes,
        implicit(traffic, "correction", "corrected", 6, 0.5),
        implicit(traffic, "regenerate", "regenerated", 6, 0.6),
        implicit(traffic, "edit", "edited", 6, 0.4),
        implicit(traffic, "correction", "corrected-before", 4, 0.9),
        implicit(traffic, "correction", "corrected-by-another", 4, 0.9, user="bob"),
    )
    evaluator.run_once()
    assert liked(traffic) == {"edited", "corrected-before"}


def test_a_dislike_replaced_by_a_like_makes_a_case_of_an_answer_that_is_long_there(
    evaluator: Evaluator, traffic: Any
) -> None:
    """A new opinion is tried on all answers, old ones too."""
    traffic.log(traffic.answer("a"))
    traffic.rate(traffic.signal("dislike", "a", 1))
    evaluator.run_once()
    assert liked(traffic) == set()
    traffic.rate(traffic.signal("like", "a", 2))
    evaluator.run_once()
    assert liked(traffic) == {"a"}


def of_gateway(traffic: Any, name: str, minute: int = 0, **columns: Any) -> dict[str, Any]:
    """An answer of a gateway that gives all answers one id."""
    same = {"response_id": "chat", "response_ids": ["chat"], "question": name, "documents": [f"files/{name}.pdf"]}
    row: dict[str, Any] = traffic.answer(name, minute, **(same | {"chat_id": name, "user_id": name} | columns))
    return row


def questions(traffic: Any) -> list[str]:
    return sorted(case["question"] for case in traffic.cases())


def test_a_like_of_one_answer_makes_no_case_of_others_with_the_same_id(evaluator: Evaluator, traffic: Any) -> None:
    """In one pass, or where the answers and the like come one after the other, in any order."""
    traffic.log(*(of_gateway(traffic, name) for name in "abc"))
    like = traffic.signal("like", "b", 5) | {"response_id": "chat", "chat_id": "b", "user_id": "b"}
    traffic.rate(like)
    evaluator.run_once()
    assert questions(traffic) == ["b"]
    traffic.log(*(of_gateway(traffic, name, 1) for name in "de"))
    evaluator.run_once()
    traffic.log(of_gateway(traffic, "f", 2))
    evaluator.run_once()
    traffic.rate(like | {"signal_id": "another", "chat_id": "e", "user_id": "e"})
    evaluator.run_once()
    assert questions(traffic) == ["b", "e"]


def test_a_like_that_nothing_tells_of_is_kept_and_joined_with_none(evaluator: Evaluator, traffic: Any) -> None:
    """Neither conversation nor person: all six may be meant."""
    traffic.log(*(of_gateway(traffic, name) for name in "abc"))
    traffic.rate(traffic.signal("like", "b", 5, user=None) | {"response_id": "chat"})
    evaluator.run_once()
    assert questions(traffic) == []


def test_a_like_of_an_answer_without_an_id_makes_its_case(evaluator: Evaluator, traffic: Any) -> None:
    """A client that was given no id sends none; the answer itself is not compared with its own case."""
    unnamed = {"response_id": None, "response_ids": []}
    traffic.log(*(of_gateway(traffic, name, **unnamed) for name in "abc"))
    traffic.rate(traffic.signal("like", "b", 5) | {"response_id": None, "chat_id": "b", "user_id": "b"})
    evaluator.run_once()
    assert questions(traffic) == ["b"]
    (case,) = traffic.cases()
    assert case["source_response_id"] == "event-b"


def test_likes_of_answers_of_different_days_are_read_together(evaluator: Evaluator, traffic: Any) -> None:
    """From a day before the oldest answer on."""
    days = (0, -3, -9)
    traffic.log(*(traffic.answer(str(-day), day * 1440, question=f"{day}?") for day in days))
    traffic.rate(*(traffic.signal("like", str(-day), day * 1440 - 720) for day in days))
    evaluator.run_once()
    assert liked(traffic) == {"0", "3", "9"}


def test_a_dislike_of_a_failed_call_is_not_of_the_answer_before_it(evaluator: Evaluator, traffic: Any) -> None:
    """The pages say so too: of the answers with its id the signal is about the latest, whole or not."""
    traffic.log(of_gateway(traffic, "b"), of_gateway(traffic, "failed", 3, chat_id="b", user_id="b", status=500))
    said = {"response_id": "chat", "chat_id": "b", "user_id": "b"}
    for signal in (traffic.signal("like", "b", 2), traffic.signal("dislike", "b", 5)):
        traffic.rate(signal | said)
        evaluator.run_once()
    assert questions(traffic) == ["b"]
    assert traffic.cases()[-1]["status"] == "proposed"


def test_a_like_without_an_id_is_not_of_a_call_that_failed(evaluator: Evaluator, traffic: Any) -> None:
    """It has no answer that a person could like."""
    unnamed = {"response_id": None, "response_ids": [], "chat_id": "b", "user_id": "b"}
    traffic.log(of_gateway(traffic, "b", **unnamed), of_gateway(traffic, "failed", 3, **unnamed, status=502))
    traffic.rate(traffic.signal("like", "b", 5) | {"response_id": None, "chat_id": "b", "user_id": "b"})
    evaluator.run_once()
    assert questions(traffic) == ["b"]


def test_answers_are_compared_with_a_case_whose_id_they_have_too(lake: Lake, traffic: Any) -> None:
    """The first answer of the gateway was liked while it was the only one: its id names it no more."""
    now = datetime(2026, 11, 21, tzinfo=UTC)
    evaluator = Evaluator(lake, EvaluatorSettings(metrics=["facts_recall"]), clock=lambda: now)
    same = {"question": "Where?", "documents": ["files/india.pdf"]}
    traffic.log(of_gateway(traffic, "a", **same))
    traffic.rate(traffic.signal("like", "a", 1) | {"response_id": "chat", "chat_id": "a", "user_id": "a"})
    evaluator.run_once()
    assert [case["source_response_id"] for case in traffic.cases()] == ["chat"]
    traffic.log(of_gateway(traffic, "b", 2, **same))
    evaluator.run_once()
    assert traffic.values("facts_recall") == {"b": 1.0}


def test_a_new_like_changes_nothing_of_what_others_with_the_id_said_before(evaluator: Evaluator, traffic: Any) -> None:
    """What is read of the log for the new one does not say of which answer the earlier one was."""
    turns = [of_gateway(traffic, name, number, chat_id="x", user_id="x") for number, name in enumerate(("a", "m"))]
    traffic.log(*turns, of_gateway(traffic, "y", 2), of_gateway(traffic, "z", 3))
    for name in ("x", "y"):
        said = {"response_id": "chat", "chat_id": name, "user_id": name}
        traffic.rate(traffic.signal("like", name, 5, user=name) | said)
        evaluator.run_once()
    assert questions(traffic) == ["m", "y"]
