"""Liked answers become cases."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from unittest.mock import Mock, patch

import pytest

from evaluator.answers import DeploymentTables
from evaluator.ground_truth import OPINION_COLUMNS, propose_cases
from evaluator.ground_truth.ratings import IDENTITY_COLUMNS
from evaluator.ground_truth.selection import KNOWN_COLUMNS
from evaluator.metrics import ABSENT, fact_ranks
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.delta_log.change import LostRaceError
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(metrics=["context_present"]), clock=lambda: NOW)


def liked(traffic: Any) -> list[str]:
    return [case["source_response_id"] for case in traffic.cases()]


def test_a_liked_answer_is_a_proposed_case(evaluator: Evaluator, traffic: Any) -> None:
    """The case holds the question, the answer, and the facts, each of which stands in one of the chunks kept."""
    traffic.log(traffic.answer("a"), traffic.answer("b"))
    traffic.rate(traffic.signal("like", "a"))
    assert evaluator.run_once().cases == 1
    [case] = traffic.cases()
    assert len(case["case_id"]) == 32
    assert case == {
        "origin": None,
        "is_answerable_label": None,
        "case_id": case["case_id"],
        "deployment": "rag",
        "version": 1,
        "question": "Where is the government?",
        "conversation_hash": None,
        "documents": ["files/india.pdf"],
        "facts": ["Delhi is the seat of government"],
        "citations": None,
        "answer": "The seat of government is Delhi.",
        "context": ["Delhi is the seat of government. It is large."],
        "context_ids": [None],
        "tool_calls": None,
        "doubt": None,
        "source_response_id": "chatcmpl-a",
        "source_date": date(2026, 11, 20),
        "confidence": 0.9,
        "status": "proposed",
        "status_by": "evaluator",
        "status_at": NOW,
        "note": None,
        "extractor": "sentences/3",
        "created_at": NOW,
        "updated_at": NOW,
        "updated_by": "evaluator",
    }
    assert ABSENT not in fact_ranks(case["facts"], case["context"])


def test_a_like_may_come_passes_before_or_after_its_answer(evaluator: Evaluator, traffic: Any) -> None:
    """Whichever comes first waits for the other, and each pair makes one case however often passes run."""
    traffic.rate(traffic.signal("like", "like-first"))
    assert evaluator.run_once().cases == 0
    traffic.log(traffic.answer("answer-first", question="first"), traffic.answer("never-liked"))
    assert evaluator.run_once().cases == 0
    traffic.log(traffic.answer("like-first", 1))
    assert evaluator.run_once().cases == 1
    traffic.rate(traffic.signal("like", "answer-first", 60))
    assert evaluator.run_once().cases == 1
    traffic.rate(traffic.signal("like", "answer-first", 90))
    traffic.log(traffic.answer("nobody", 2))
    assert evaluator.run_once().cases == 0
    assert sorted(liked(traffic)) == ["chatcmpl-answer-first", "chatcmpl-like-first"]


def test_of_one_users_opinions_the_latest_counts(evaluator: Evaluator, traffic: Any) -> None:
    """A like taken back makes no case and a dislike taken back does, in whatever order they arrive."""
    traffic.log(*(traffic.answer(name, question=name) for name in ("back", "forth", "split", "twice")))
    traffic.rate(
        traffic.signal("dislike", "back", 9), traffic.signal("like", "back", 1),
        traffic.signal("like", "forth", 9), traffic.signal("dislike", "forth", 1),
        traffic.signal("like", "split", user="ann"), traffic.signal("dislike", "split", user="bob"),
        traffic.signal("like", "twice", user="ann"), traffic.signal("like", "twice", user=None),
    )  # fmt: skip
    evaluator.run_once()
    assert sorted(liked(traffic)) == ["chatcmpl-forth", "chatcmpl-twice"]


def test_only_whole_answers_that_a_person_saw_make_cases(evaluator: Evaluator, traffic: Any) -> None:
    """Without a question or a text there is nothing to ask again, nor of a refusal; other signals are not likes."""
    rows = [
        traffic.answer("no-question", question=None),
        traffic.answer("no-text", answer=None),
        traffic.answer("refuses", answer="I don't know. The documents do not answer this question."),
        traffic.answer("inner", is_entry=False),
        traffic.answer("retrieval", kind="retrieval"),
        traffic.answer("failed", status=500),
        traffic.answer("no-ids", response_ids=None),
        traffic.answer("regenerated"),
    ]
    traffic.log(*rows)
    names = [row["event_id"].removeprefix("event-") for row in rows]
    traffic.rate(*(traffic.signal("regenerate" if name == "regenerated" else "like", name) for name in names))
    traffic.rate(traffic.signal("like", "x") | {"response_id": None})
    assert evaluator.run_once().cases == 0


def test_a_liked_answer_without_contexts_is_a_case_without_facts(evaluator: Evaluator, traffic: Any) -> None:
    """Its words can still be compared; its facts are unknown."""
    traffic.log(traffic.answer("a", chunks=[]))
    traffic.rate(traffic.signal("like", "a"))
    evaluator.run_once()
    [case] = traffic.cases()
    assert (case["facts"], case["context"]) == ([], [])


@pytest.mark.parametrize("step", ["truth.read", "truth.append"])
def test_two_evaluators_with_different_news_make_one_case(step: str, evaluator: Evaluator, traffic: Any) -> None:
    """One has seen only the new answer and the other only the new like: the second is refused or sees the case."""
    traffic.log(traffic.answer("old"))
    traffic.rate(traffic.signal("like", "unknown"))
    evaluator.run_once()
    one, two = (DeploymentTables.of(traffic.lake, "rag") for _ in range(2))
    logs_before = two.logs.read_since(two.logs.version(), IDENTITY_COLUMNS)
    traffic.log(traffic.answer("new"))
    signals_before = one.signals.read_since(one.signals.version(), OPINION_COLUMNS)
    traffic.rate(traffic.signal("like", "new"))

    one_signals = Mock(wraps=one.signals)
    one_signals.read_since.return_value = signals_before
    name, method = step.split(".")
    overtaken = Mock(wraps=getattr(one, name))

    def after_two(*args: Any, **kwargs: Any) -> Any:
        # Of the reads of cases it is the one that shows which are known.
        if method == "append" or args == (KNOWN_COLUMNS,):
            with patch.object(two.logs, "read_since", return_value=logs_before):
                assert propose_cases(two, NOW) == 1
        return getattr(getattr(one, name), method)(*args, **kwargs)

    getattr(overtaken, method).side_effect = after_two
    with suppress(LostRaceError):
        assert propose_cases(replace(one, **{"signals": one_signals, name: overtaken}), NOW) == 0
    assert liked(traffic) == ["chatcmpl-new"]


def test_likes_of_many_days_and_commits_are_all_found(evaluator: Evaluator, traffic: Any) -> None:
    """Answers spread over files and days are joined in one pass."""
    for day in range(3):
        traffic.log(
            *(traffic.answer(f"{day}-{number}", day * 1440 + number, question=f"{day} {number}") for number in range(4))
        )
    traffic.rate(*(traffic.signal("like", f"{day}-{number}", 9000) for day in range(3) for number in (1, 3)))
    assert evaluator.run_once().cases == 6
