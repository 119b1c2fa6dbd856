import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.queries.signals import fold_signals
from lake.spec.schemas import SCORES, USER_SIGNALS
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(metrics=("context_present",)), clock=lambda: NOW)


def score(traffic: Any, name: str, value: Any = 3.0, minute: int = 1, **columns: Any) -> dict[str, Any]:
    """A score of the answer `name` as the collector stores it."""
    own = {"value": value, "low": 1.0, "high": 5.0, "direction": "up"}
    row = traffic.signal("stars", name, minute) | {
        "value": 0.0,
        "origin": "score",
        "details": json.dumps({"score": own}),
    }
    return row | columns


def test_a_score_of_another_program_is_a_row_in_its_own_units(evaluator: Evaluator, traffic: Any) -> None:
    """It has the answer's place and time, so that it stands on its page, and no stream of ours has its version."""
    traffic.log(traffic.answer("a", chat_id="chat-1"))
    traffic.rate(score(traffic, "a", 4.0))
    assert evaluator.run_once().outside == 1
    [row] = [row for row in traffic.scores() if row["metric"] == "stars"]
    asked = traffic.answer("a")
    expected = {name: asked[name] for name in ("event_id", "response_id", "deployment", "date", "requested_at")}
    expected |= {"chat_id": "chat-1", "metric_version": "outside", "judge": "outside", "is_backfill": False}
    expected |= {"value": 4.0, "low": 1.0, "high": 5.0, "direction": "up", "sampling_probability": 1.0, "cost": 0.0}
    expected |= {"scored_at": NOON + timedelta(minutes=1)}
    assert {name: row[name] for name in expected} == expected


def test_a_word_of_a_signal_is_a_row_with_its_value(evaluator: Evaluator, traffic: Any) -> None:
    """Words that say good or bad are scores from -1 to 1; ours, and those without a value, are none."""
    traffic.log(traffic.answer("a"))
    traffic.rate(
        traffic.signal("thumbs", "a"),
        traffic.signal("regenerate", "a"),
        traffic.signal("like", "a"),
        traffic.signal("copy", "a") | {"value": None},
        traffic.signal("wording", "a") | {"origin": "label"},
    )
    assert evaluator.run_once().outside == 1
    [row] = [row for row in traffic.scores() if row["metric_version"] == "outside"]
    assert (row["metric"], row["value"], row["low"], row["high"]) == ("thumbs", -1.0, -1.0, 1.0)
    assert (row["direction"], row["judge"]) == ("up", "ratings")


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("score_comes_first", [False, True])
def test_score_and_answer_come_in_any_order_and_count_once(
    lake: Lake, traffic: Any, score_comes_first: bool, restarts: bool
) -> None:
    """What is joined with no answer waits for it; no pass, and no new process, repeats what is there."""

    def evaluator() -> Evaluator:
        return Evaluator(lake, EvaluatorSettings(metrics=("context_present",)), clock=lambda: NOW)

    one = evaluator()
    traffic.log(traffic.answer("other"))
    traffic.rate(score(traffic, "other"))
    one.run_once()
    steps = [lambda: traffic.log(traffic.answer("a")), lambda: traffic.rate(score(traffic, "a"))]
    for step in reversed(steps) if score_comes_first else steps:
        step()
        one.run_once()
        one = evaluator() if restarts else one
    traffic.log(traffic.answer("b"))
    traffic.rate(traffic.signal("like", "b"))
    one.run_once()
    # A line may come again after the window of duplicates.
    traffic.log(traffic.answer("a"))
    one.run_once()
    assert traffic.values("stars") == {"a": 3.0, "other": 3.0}
    assert len([row for row in traffic.scores() if row["metric"] == "stars"]) == 2


@pytest.mark.parametrize("days", [0, 3])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_score_that_another_answer_may_claim_stays_one_row(
    lake: Lake, traffic: Any, evaluator: Evaluator, restarts: bool, days: int
) -> None:
    """It is joined with the one that has its id; a later line of that id is nearer, days after the first one."""
    traffic.log(traffic.answer("a", minute=-days * 24 * 60))
    traffic.rate(score(traffic, "a", chat_id="chat"), traffic.signal("thumbs", "a") | {"chat_id": "chat"})
    assert evaluator.run_once().outside == 2
    traffic.log(traffic.answer("b", response_ids=["first-a"], chat_id="chat"))
    if restarts:
        evaluator = Evaluator(lake, EvaluatorSettings(metrics=("context_present",)), clock=lambda: NOW)
    assert evaluator.run_once().outside == 0
    outside = [row for row in traffic.scores() if row["metric_version"] == "outside"]
    assert {row["metric"]: row["event_id"] for row in outside} == {"stars": "event-a", "thumbs": "event-a"}
    assert len(outside) == 2


def test_a_score_of_the_first_day_is_a_row(evaluator: Evaluator, traffic: Any) -> None:
    """Whatever time its sender says that it is from."""
    traffic.log(traffic.answer("a"), traffic.answer("b"))
    traffic.rate(score(traffic, "a"))
    evaluator.run_once()
    first = datetime(1, 1, 1, tzinfo=UTC)
    traffic.rate(score(traffic, "b", date=first.date(), signaled_at=first))
    evaluator.run_once()
    assert traffic.values("stars") == {"a": 3.0, "b": 3.0}


def test_a_pass_without_news_writes_nothing(evaluator: Evaluator, traffic: Any) -> None:
    """Scores that are joined with no answer cause no commit in each pass."""
    traffic.log(traffic.answer("a"))
    traffic.rate(score(traffic, "a"), score(traffic, "gone", minute=2))
    evaluator.run_once()
    before = traffic.lake.table(SCORES, "rag").version()
    assert evaluator.run_once().outside == 0
    assert traffic.lake.table(SCORES, "rag").version() == before


def test_a_name_of_a_metric_of_ours_is_left_out(lake: Lake, traffic: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A word that is a metric, of the registry or of the configuration, is kept as a signal alone; the log says it."""
    settings = EvaluatorSettings.model_validate(
        {"combinations": {"quality": {"context_present": 1}}, "metrics": ["quality"]}
    )
    traffic.log(traffic.answer("a"))
    traffic.rate(score(traffic, "a", signal="quality"), traffic.signal("faithfulness_kprecision", "a"))
    with caplog.at_level(logging.WARNING):
        evaluator = Evaluator(lake, settings, clock=lambda: NOW)
        assert evaluator.run_once().outside == 0
        assert evaluator.run_once().outside == 0
    assert traffic.values("quality") == {"a": 1.0}
    assert sum("as a metric is here" in one.message for one in caplog.records) == 2


@pytest.mark.parametrize(
    "details",
    [None, "[redacted]", "{}", '{"score": 1}', '{"score": {"value": "x", "low": 0, "high": 1, "direction": "up"}}'],
)
def test_a_score_that_cannot_be_read_is_no_row(evaluator: Evaluator, traffic: Any, details: str | None) -> None:
    """A hand or an own pattern of the redaction may have changed it; the others go on."""
    traffic.log(traffic.answer("a"), traffic.answer("b"))
    traffic.rate(score(traffic, "a", details=details), score(traffic, "b"))
    evaluator.run_once()
    assert traffic.values("stars") == {"b": 3.0}


def test_scores_of_other_programs_are_no_opinions(evaluator: Evaluator, traffic: Any) -> None:
    """The best score makes no case of ground truth, and folds into no number of what people think."""
    traffic.log(traffic.answer("a"))
    best = score(traffic, "a", 5.0) | {"value": 1.0}
    traffic.rate(best)
    evaluator.run_once()
    assert traffic.cases() == []
    assert fold_signals([best]) is None
    assert traffic.values("stars") == {"a": 5.0}


def test_an_erasure_takes_what_other_programs_said_of_a_persons_answers(lake: Lake, traffic: Any) -> None:
    """Scores and signals go with the answers they are about, and no later pass, of any process, brings them back."""
    settings = EvaluatorSettings.model_validate(
        {"metrics": ["context_present"], "signal_shares": {"ticket_reopened": {"within": "1h"}}}
    )
    traffic.log(*(traffic.answer(name, ingested_at=NOW, user_id=name) for name in ("gone", "stays")))
    for name in ("gone", "stays"):
        traffic.rate(score(traffic, name, user_id=None), traffic.signal("thumbs", name, user=None))
    Evaluator(lake, settings, clock=lambda: NOW).run_once()
    erase(lake, Subject(user="gone"), datetime.now(UTC))
    Evaluator(lake, settings, clock=lambda: NOW + timedelta(hours=3)).run_once()
    for metric in ("stars", "thumbs", "ticket_reopened"):
        assert traffic.values(metric).keys() == {"stays"}
    signals = lake.table(USER_SIGNALS, "rag").read(["response_id"])["response_id"].to_pylist()
    assert set(signals) == {"first-stays"}
