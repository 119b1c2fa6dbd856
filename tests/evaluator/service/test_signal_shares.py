from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.tables.lake import Lake

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
REOPENED = "ticket_reopened"


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make(lake: Lake, clock: Clock) -> Evaluator:
    settings = {"signal_shares": {REOPENED: {"within": "2h"}}, "metrics": ["context_present"]}
    return Evaluator(lake, EvaluatorSettings.model_validate(settings), clock=clock)


def reopened(traffic: Any, name: str, minute: int) -> dict[str, Any]:
    return traffic.signal(REOPENED, name, minute) | {"value": None}


def test_each_answer_counts_once_it_is_old_enough(lake: Lake, traffic: Any, clock: Clock) -> None:
    """1 where the signal came within the time after the answer, else 0; fewer are better."""
    traffic.log(*(traffic.answer(name) for name in ("quiet", "soon", "late")), traffic.answer("next", minute=65))
    traffic.rate(reopened(traffic, "soon", 119), reopened(traffic, "late", 121), traffic.signal("like", "quiet"))
    evaluator = make(lake, clock)
    clock.now = NOON + timedelta(hours=2, minutes=59)
    assert evaluator.run_once().outside == 0
    clock.now = NOON + timedelta(hours=3)
    assert evaluator.run_once().outside == 3
    assert traffic.values(REOPENED) == {"quiet": 0.0, "soon": 1.0, "late": 0.0}
    row = next(row for row in traffic.scores() if row["metric"] == REOPENED)
    assert (row["low"], row["high"], row["direction"], row["judge"]) == (0.0, 1.0, "down", "ratings")
    assert (row["scored_at"] - row["requested_at"], row["metric_version"]) == (timedelta(hours=2), "outside")


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [False, True])
def test_no_answer_counts_twice(lake: Lake, traffic: Any, clock: Clock, restarts: bool) -> None:
    """Hour after hour, and by a process that begins anew, over days without an answer too."""
    evaluator = make(lake, clock)
    for hour in range(0, 80, 8):
        traffic.log(traffic.answer(f"at-{hour}", minute=60 * hour))
        clock.now = NOON + timedelta(hours=hour)
        evaluator.run_once()
        evaluator = make(lake, clock) if restarts else evaluator
    clock.now = NOON + timedelta(hours=200)
    evaluator.run_once()
    rows = [row["event_id"] for row in traffic.scores() if row["metric"] == REOPENED]
    assert sorted(rows) == sorted(f"event-at-{hour}" for hour in range(0, 80, 8))


def test_a_word_whose_share_is_watched_is_not_watched_by_its_value_too(lake: Lake, traffic: Any, clock: Clock) -> None:
    """One name is one stream."""
    traffic.log(traffic.answer("a"))
    traffic.rate(traffic.signal(REOPENED, "a"))
    clock.now = NOON + timedelta(hours=5)
    make(lake, clock).run_once()
    assert traffic.values(REOPENED) == {"a": 1.0}


def test_only_a_signal_counts_as_one(lake: Lake, traffic: Any, clock: Clock) -> None:
    """A score or a label that has the word's name is none, what a text says is one."""
    origins = {"asked": "explicit", "derived": "implicit", "scored": "score", "labelled": "label"}
    traffic.log(*map(traffic.answer, origins))
    traffic.rate(*(reopened(traffic, name, 1) | {"origin": origin} for name, origin in origins.items()))
    clock.now = NOON + timedelta(hours=5)
    make(lake, clock).run_once()
    assert traffic.values(REOPENED) == {"asked": 1.0, "derived": 1.0, "scored": 0.0, "labelled": 0.0}


def test_answers_of_evaluations_and_failed_calls_are_not_counted(lake: Lake, traffic: Any, clock: Clock) -> None:
    """Only what a person saw."""
    traffic.log(traffic.answer("a"), traffic.answer("failed", status=500), traffic.answer("run", origin="evaluation"))
    clock.now = NOON + timedelta(hours=5)
    assert make(lake, clock).run_once().outside == 1


@pytest.mark.parametrize("word", ["like", "errors", "context_present", "aspect_polite", "Ticket", "quality"])
def test_a_word_with_a_meaning_of_its_own_is_refused(word: str) -> None:
    """Names of metrics, limits and signals of ours, and of the configuration, are taken."""
    given = {"signal_shares": {word: {}}, "combinations": {"quality": {"context_present": 1}}}
    with pytest.raises(ValidationError):
        EvaluatorSettings.model_validate(given)
