"""Discovery of metrics: a module lists its own."""

import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import get_args

import pytest

from evaluator import metrics
from evaluator.metrics import form, llm, registry, retrieval, text
from evaluator.metrics.description import Direction
from evaluator.metrics.metric import ScoredBy
from evaluator.metrics.registry import CLASSES, FAMILIES
from lake.spec.vocabulary import JUDGE_KINDS, JudgeKind
from lake.spec.vocabulary import Direction as ColumnDirection

FAMILY_PACKAGES = (retrieval, text, form, llm)


def classes_of(family: ModuleType) -> Iterator[type]:
    """The concrete classes in a family's modules that have what a metric has."""
    for module in iter_modules(family.__path__, f"{family.__name__}."):
        for one in vars(import_module(module.name)).values():
            if (
                isinstance(one, type)
                and one.__module__ == module.name
                and hasattr(one, "score")
                and not isabstract(one)
            ):
                yield one


@pytest.mark.parametrize("family", FAMILY_PACKAGES, ids=lambda family: str(family.__name__))
def test_a_metric_of_a_family_is_in_the_registry_and_public(family: ModuleType) -> None:
    """A class that its module forgets in `METRICS` is found here; those of the registry are public by their names."""
    classes = list(classes_of(family))
    assert classes
    assert {one.__name__ for one in classes} <= set(CLASSES)
    assert all(getattr(metrics, one.__name__) is one for one in classes)
    assert set(metrics.__all__) >= set(CLASSES)
    assert not hasattr(metrics, "NoSuchMetric")


def test_a_new_module_of_a_family_is_enough_for_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else names it: the registry takes what the module lists in `METRICS`."""
    (tmp_path / "zz_new.py").write_text(
        "from evaluator.metrics.form.empty_answer import EmptyAnswer\n"
        "class NewMetric(EmptyAnswer):\n    name = 'new_metric'\n"
        "METRICS = (NewMetric(),)\n"
    )
    monkeypatch.setattr(form, "__path__", [*form.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "evaluator.metrics.form.zz_new", raising=False)
    found = {metric.name for metric in registry._metrics_of(form)}
    sys.modules.pop("evaluator.metrics.form.zz_new")
    assert found == {metric.name for metric in FAMILIES["Form and behaviour"]} | {"new_metric"}


def test_words_that_the_service_writes_into_columns_are_those_of_the_lake() -> None:
    """Metrics have every kind of judge but people's ratings, and a direction is written as a plain word."""
    assert {one.value for one in ScoredBy} == JUDGE_KINDS - {JudgeKind.RATINGS}
    assert set(get_args(Direction)) == {one.value for one in ColumnDirection}
