"""Metrics that cannot run, beside others that can."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

from evaluator.answers import Period
from evaluator.metrics import Description, Metric, ModelUnavailableError, OddCases, Scores
from evaluator.metrics.scores import Score, score_rows
from evaluator.models import Models
from evaluator.service.backfill import Backfill
from evaluator.service.backfill_estimate import estimate
from evaluator.service.passes import Evaluator, PassResult
from evaluator.settings import EvaluatorSettings
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WEEK = Period(NOW - timedelta(days=7), NOW)
PRESENT = "context_present"
MISSING = "no model 'org/reward' in /models; set DIALWATCH_EVALUATOR__MODELS__REWARD to its folder"


ABOUT = Description(asks="?", formula="", source="", odd_cases=OddCases())


@dataclass(frozen=True)
class Fails:
    """Scores 0.5 once its model is there."""

    error: list[Exception]
    asked: list[int]
    name: str = "reward"
    version: str = "1"
    needs: tuple[str, ...] = ("answer",)
    judge: str = "model"
    about: Description = ABOUT

    def score(self, frame: pd.DataFrame) -> Scores:
        self.asked.append(len(frame))
        if self.error:
            raise self.error[0]
        return score_rows(self, frame, lambda _: Score(0.5))


@pytest.fixture
def metric(monkeypatch: pytest.MonkeyPatch) -> Fails:
    """Stands before another metric in what is chosen for every deployment."""
    metric = Fails([ModelUnavailableError(MISSING)], [])
    chosen = EvaluatorSettings.metrics_named

    def with_it(settings: EvaluatorSettings, names: Sequence[str]) -> list[Metric]:
        return [metric, *chosen(settings, [name for name in names if name != "reward"])]

    monkeypatch.setattr(EvaluatorSettings, "metrics_named", with_it)
    return metric


def evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(metrics=[PRESENT]), clock=lambda: NOW)


def test_a_metric_without_its_model_is_off_and_the_others_run(
    lake: Lake, traffic: Any, other_traffic: Any, metric: Fails, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged once in the life of the process, with what to do, counted in each pass, and not tried again."""
    traffic.log(traffic.answer("a"), traffic.answer("b", 1))
    other_traffic.log(other_traffic.answer("c"))
    running = evaluator(lake)
    assert running.run_once() == PassResult(deployments=2, scored=3, left_out=Counter(reward=3))
    traffic.log(traffic.answer("d", 2))
    assert running.run_once() == PassResult(deployments=2, scored=1, left_out=Counter(reward=1))
    assert set(traffic.values(PRESENT)) == {"a", "b", "d"}
    assert len(metric.asked) == 1
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert MISSING in record.getMessage()
    assert "--backfill" in record.getMessage()


def test_once_the_model_is_there_new_answers_are_scored_and_old_ones_on_request(
    lake: Lake, traffic: Any, metric: Fails
) -> None:
    """After a restart the service goes on with what is new; a backfill does the rest; nothing is scored twice."""
    traffic.log(traffic.answer("a"))
    evaluator(lake).run_once()
    metric.error.clear()
    traffic.log(traffic.answer("b", 1))
    assert evaluator(lake).run_once() == PassResult(deployments=1, scored=2)
    assert set(traffic.values("reward")) == {"b"}
    result = Backfill(lake, EvaluatorSettings(), WEEK, ["reward"]).run()
    assert result.deployments[0].counts.scored == 1
    assert set(traffic.values("reward")) == {"a", "b"}
    assert len({row["score_id"] for row in traffic.scores()}) == len(traffic.scores()) == 4


def test_any_other_error_of_a_metric_stops_no_other_and_is_tried_again(
    lake: Lake, traffic: Any, metric: Fails, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names metric, error and place, and not what the error quotes: that may be somebody's words."""
    metric.error[:] = [ValueError("cannot read 'the words of somebody'")]
    traffic.log(traffic.answer("a"))
    running = evaluator(lake)
    assert running.run_once() == PassResult(deployments=1, scored=1, left_out=Counter(reward=1))
    assert "ValueError at " in caplog.text
    assert "reward" in caplog.text
    assert "somebody" not in caplog.text
    metric.error.clear()
    traffic.log(traffic.answer("b", 1))
    assert running.run_once() == PassResult(deployments=1, scored=2)


def test_a_backfill_reports_what_a_metric_left_out(lake: Lake, traffic: Any, metric: Fails) -> None:
    """The others are done, and a dry run says beforehand that one cannot run, and why."""
    traffic.log(traffic.answer("a"))
    backfill = Backfill(lake, EvaluatorSettings(), WEEK, ["reward", PRESENT])
    (estimated,) = estimate(backfill)
    assert [(one.metric, one.answers, one.problem) for one in estimated.metrics] == [
        ("reward", 1, MISSING),
        (PRESENT, 1, None),
    ]
    (done,) = backfill.run().deployments
    assert (done.counts.scored, done.counts.left_out) == (1, {"reward": 1})
    metric.error[:] = [ValueError("cannot read 'the words of somebody'")]
    (estimated,) = estimate(Backfill(lake, EvaluatorSettings(), WEEK, ["reward"]))
    assert [one.problem for one in estimated.metrics] == ["it fails with ValueError"]


def test_a_model_is_asked_about_few_answers_at_a_time(lake: Lake, traffic: Any, metric: Fails) -> None:
    """So that a stop is heard, and a crash costs little, in the service and in a backfill."""
    traffic.log(*(traffic.answer(f"old {number}", number) for number in range(120)))
    evaluator(lake).run_once()
    metric.error.clear()
    for ask in (Backfill(lake, EvaluatorSettings(), WEEK, ["reward"]).run, evaluator(lake).run_once):
        metric.asked.clear()
        ask()
        assert max(metric.asked) == 50
        traffic.log(*(traffic.answer(f"new {number}", number) for number in range(120)))


def test_a_deployment_that_is_configured_and_not_there_is_logged_once(
    lake: Lake, traffic: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """It may come later, or be mistyped: neither is an error."""
    traffic.log(traffic.answer("a"))
    settings = EvaluatorSettings(deployments={"rag": {"metrics": [PRESENT]}, "typo": {"metrics": []}})
    running = Evaluator(lake, settings, clock=lambda: NOW)
    assert [running.run_once().failures for _ in range(2)] == [(), ()]
    assert [record.getMessage() for record in caplog.records] == [
        "evaluator.deployments names 'typo', of which the lake holds nothing yet"
    ]


def test_the_models_of_the_settings_are_those_that_score(lake: Lake, traffic: Any, models: Models) -> None:
    """In the service, in a backfill, and inside of a combination."""
    traffic.log(traffic.answer("a"))
    combined = {"both": {"answer_reward": 1, PRESENT: 1}}
    settings = EvaluatorSettings(models=models, combinations=combined, metrics=["answer_reward"])
    Evaluator(lake, settings, clock=lambda: NOW).run_once()
    Backfill(lake, settings, WEEK, ["both"], clock=lambda: NOW).run()
    (reward, both) = sorted(traffic.scores(), key=lambda row: row["metric"] == "both")
    assert (reward["metric"], reward["metric_version"]) == ("answer_reward", "1-small-reward")
    assert "answer_reward:1-small-reward" in both["metric_version"]
    assert both["value"] == pytest.approx((reward["value"] + 1) / 2)
