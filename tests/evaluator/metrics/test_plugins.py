"""Metrics of other packages, as installed distributions name them in their entry points."""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dialwatch.commands.check.part_checks import check_models
from evaluator.metrics import UnknownMetricError, compute, metric_named, plugins
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)
MODULE = '''
from evaluator.metrics import Description, OddCases, Score, Scores, metric, option

def about(**more):
    return Description(asks="Is it loud?", formula="marks", source="a test", odd_cases=OddCases(), **more)

@metric(about(), needs=("answer",), version="3")
def loud(answer, *, mark: str = option("!", "the mark that is loud")):
    """1.0 if the answer has the mark."""
    return answer is not None and mark in answer

@metric(about(), needs=("answer",))
def fragile(answer):
    """1 / length of the answer."""
    if answer == "secret words":
        raise KeyError(answer)
    return 1 / len(answer)

class Plain:
    name, version, needs, judge, about = "plain", "1", ("answer",), "lexical", about()

    def score(self, frame):
        return Scores.of([Score(1.0)] * len(frame), frame.index)

class Odd(Plain):
    name = "odd"

    def score(self, frame):
        details = [{"of": object()} if one == "odd" else {} for one in frame["answer"]]
        return Scores.of([Score(0.5, None, one) for one in details], frame.index)

plain = Plain()

def local():
    class Local(Plain):
        name = "unsendable"
    return Local()

nameless = object()
'''
POINTS = {
    "loud": "metrics_of_a_test:loud",
    "fragile": "metrics_of_a_test:fragile",
    "plain": "metrics_of_a_test:plain",
    "odd": "metrics_of_a_test:Odd",
    "called_otherwise": "metrics_of_a_test:loud",
    "unsendable": "metrics_of_a_test:local",
    "gone": "no_such_package:metric",
    "nameless": "metrics_of_a_test:nameless",
    "refusal": "metrics_of_a_test:plain",
}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution as pip leaves it: a module, and a dist-info folder with its entry points."""
    folder = tmp_path / "site"
    information = folder / "metrics_of_a_test-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "metrics_of_a_test.py").write_text(MODULE)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: metrics-of-a-test\nVersion: 1.0\n")
    points = "".join(f"{name} = {value}\n" for name, value in POINTS.items())
    (information / "entry_points.txt").write_text(f"[dialwatch.metrics]\n{points}")
    monkeypatch.syspath_prepend(str(folder))
    caches: list[Callable[[], None]] = [
        one.cache_clear for one in (plugins._points, plugins._loaded, plugins._warn_once)
    ]
    for clear in caches:
        clear()
    yield
    for clear in caches:
        clear()
    sys.modules.pop("metrics_of_a_test", None)


def frame(*answers: Any) -> pd.DataFrame:
    index = range(7, 7 + len(answers))
    return pd.DataFrame({"answer": pd.Series(answers, index, dtype=object)})


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        one.getMessage() for one in caplog.records if one.name == plugins.__name__ and one.levelno >= logging.WARNING
    ]


def test_a_metric_of_another_package_is_known_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    """A decorated function, a class and an object are metrics; a misspelt name leads to them too."""
    scores = compute(frame("Yes!", "No.", None), ["loud", "plain", "empty_answer"])
    assert scores["loud"].tolist() == [1.0, 0.0, 0.0]
    assert scores["plain"].tolist() == [1.0, 1.0, 1.0]
    assert scores.index.tolist() == [7, 8, 9]
    metric = metric_named("loud")
    assert (metric.name, metric.version, metric.needs, metric.judge) == ("loud", "3", ("answer",), "lexical")
    assert pickle.loads(pickle.dumps(metric)) == metric
    with pytest.raises(UnknownMetricError, match=r"did you mean .*fragile"):
        metric_named("fragiles")
    assert not warnings(caplog)


def test_a_metric_of_another_package_keeps_the_columns_that_it_may_have() -> None:
    """A guarded metric reads what the metric itself reads."""
    assert plugins.GuardedMetric(metric_named("is_answerable")).optional == ("is_answerable_label",)


def test_nothing_is_imported_before_a_metric_of_it_is_asked_for() -> None:
    """A broken package costs who does not use it nothing, and an unknown name imports none."""
    with pytest.raises(UnknownMetricError):
        metric_named("no_such_metric")
    assert metric_named("context_present")
    assert "metrics_of_a_test" not in sys.modules


def test_a_name_of_ours_stays_ours() -> None:
    """Another package cannot take the place of a metric of the library."""
    assert compute(frame("I don't know."), "refusal")["refusal"].tolist() == [1.0]
    assert type(metric_named("refusal")).__module__ == "evaluator.metrics.form.refusal"


def test_a_row_that_it_fails_on_is_null_and_costs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """The details say with what error and where; nobody's words are in them nor in the log, which says it once."""
    for _ in range(2):
        scores = compute(frame("ab", "secret words", "", 3), "fragile", details=True)
        assert scores["fragile"].fillna(-1).tolist() == [0.5, -1, -1, -1]
        assert scores["fragile_reason"].tolist() == [None, "metric_failed", "metric_failed", "unreadable_answer"]
    assert "KeyError at " in scores["fragile_details"].iloc[1]
    assert "ZeroDivisionError at " in scores["fragile_details"].iloc[2]
    assert "secret" not in caplog.text + str(scores["fragile_details"].tolist())
    (said,) = warnings(caplog)
    assert "'fragile'" in said


def test_scores_that_cannot_be_written_are_failures_of_their_rows() -> None:
    """Details that are no JSON would stop the commit of all scores."""
    scores = compute(frame("even", "odd"), "odd")
    assert scores["odd_reason"].tolist() == [None, "metric_failed"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("called_otherwise", "its name is 'loud'"),
        ("nameless", "AttributeError"),
        ("unsendable", "Local"),
    ],
)
def test_one_that_cannot_be_used_is_null_everywhere(name: str, why: str, caplog: pytest.LogCaptureFixture) -> None:
    """It says why in the details and once in the log, and the check of a configuration shows it as failed."""
    for _ in range(2):
        scores = compute(frame("a", "b"), [name, "empty_answer"], details=True)
        assert scores[f"{name}_reason"].tolist() == ["metric_failed"] * 2
        assert scores["empty_answer"].tolist() == [0.0, 0.0]
    assert why in scores[f"{name}_details"].iloc[0]
    (said,) = warnings(caplog)
    assert name in said
    assert why in said
    (found,) = check_models(EvaluatorSettings(metrics=(name,)))
    assert found.verdict == "FAILED"
    assert why in found.text


def test_the_service_scores_with_them_and_no_broken_one_stops_it(lake: Lake, traffic: Any) -> None:
    """What they fail on is a null score with its reason in the lake, beside the scores of the others."""
    traffic.log(traffic.answer("a"))
    settings = EvaluatorSettings(metrics=("loud", "gone", "odd", "context_present"))
    result = Evaluator(lake, settings, clock=lambda: NOW).run_once()
    assert (result.scored, result.left_out, result.failures) == (3, {}, ())
    found = {row["metric"]: (row["value"], row["reason"]) for row in traffic.scores()}
    assert found.pop("gone") == (None, "metric_failed")
    assert {value is not None for value, _ in found.values()} == {True}
    assert set(found) == {"loud", "odd", "context_present"}
