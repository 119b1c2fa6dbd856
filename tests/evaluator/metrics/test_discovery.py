"""Discovery of metrics: a decorated function in a module of a family is one."""

import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, get_args

import pandas as pd
import pytest

from evaluator import metrics
from evaluator.metrics import compute, form, llm, registry, retrieval, text
from evaluator.metrics.description import Direction
from evaluator.metrics.options import options_of
from evaluator.metrics.registry import CLASSES, FAMILIES
from evaluator.metrics.scores import ScoredBy
from lake.spec.vocabulary import JUDGE_KINDS, JudgeKind
from lake.spec.vocabulary import Direction as ColumnDirection

FAMILY_PACKAGES = (retrieval, text, form, llm)


def classes_of(family: ModuleType) -> Iterator[type]:
    """The classes of metrics that a family's modules make, but not the bases that decorators make them of."""
    for module in iter_modules(family.__path__, f"{family.__name__}."):
        for name, one in vars(import_module(module.name)).items():
            if (
                isinstance(one, type)
                and one.__module__ == module.name
                and hasattr(one, "score")
                and not isabstract(one)
                and (name.islower() or not name.endswith("Metric"))
            ):
                yield one


@pytest.mark.parametrize("family", FAMILY_PACKAGES, ids=lambda family: str(family.__name__))
def test_a_metric_of_a_family_is_in_the_registry_and_public(family: ModuleType) -> None:
    """Each is public by the name of its class; a decorated name is that class."""
    classes = list(classes_of(family))
    assert classes
    assert {one.__name__ for one in classes} <= set(CLASSES)
    assert all(getattr(metrics, one.__name__) is one for one in classes)
    assert set(metrics.__all__) >= set(CLASSES)
    assert not hasattr(metrics, "NoSuchMetric")


NEW = '''
"""Metrics of a test."""

from evaluator.metrics.decorator import metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.form.answers import empty_answer
from evaluator.metrics.options import option

assert empty_answer


@metric(
    Description(asks="Is it long?", formula="characters", source="a test", odd_cases=OddCases()),
    needs=("answer",),
    variants=({}, {"most": 9}),
    name=lambda metric: f"fills_{metric.most}",
)
def fills(answer, *, most: int = option(4, "characters that are enough")):
    """Share of the characters that are enough."""
    return min(len(answer or ""), most) / most
'''


@pytest.fixture
def new_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "a_new_one.py").write_text(NEW)
    monkeypatch.setattr(form, "__path__", [*form.__path__, str(tmp_path)])
    yield import_module("evaluator.metrics.form.a_new_one")
    sys.modules.pop("evaluator.metrics.form.a_new_one")


def test_a_new_function_in_a_module_of_a_family_is_enough_for_a_metric(new_module: ModuleType) -> None:
    """Nothing else names it: what a module makes is found once, among the others by name; what it imports is not."""
    found = [metric.name for metric in registry._metrics_of(form)]
    known = [metric.name for metric in FAMILIES["Form and behaviour"]]
    at = known.index("is_answerable")
    assert found == [*known[:at], "fills_4", "fills_9", *known[at:]]


def test_a_decorated_name_is_a_class_of_metrics_with_the_functions_options(new_module: ModuleType) -> None:
    """It is made, compared, pickled and described as a dataclass is, and says of itself what the function says."""
    fills: Any = new_module.fills
    metric = fills(2)
    assert metric == fills(most=2) != fills()
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert replace(metric, most=3) == fills(3)
    assert (fills.__name__, fills.__doc__) == ("Fills", "Share of the characters that are enough.")
    assert options_of(metric) == {"most": "characters that are enough"}
    scores = compute(pd.DataFrame({"answer": ["a", None, 3]}), metric)
    assert scores["fills_2"].tolist()[:2] == [0.5, 0.0]
    assert scores["fills_2_reason"].tolist() == [None, None, "unreadable_answer"]


def test_words_that_the_service_writes_into_columns_are_those_of_the_lake() -> None:
    """Metrics have every kind of judge but those of others; a direction is written as a plain word."""
    assert {one.value for one in ScoredBy} == JUDGE_KINDS - {JudgeKind.RATINGS, JudgeKind.OUTSIDE}
    assert set(get_args(Direction)) == {one.value for one in ColumnDirection}
