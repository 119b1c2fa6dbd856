"""Registry of all metrics by name, collected from the modules of the families.

A decorated function in a module of `retrieval`, `text`, `form` or `llm` is a metric. Nothing else is needed for it to
have its name here, its class in `evaluator.metrics`, and its section in docs/metrics.md.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from importlib import import_module
from operator import itemgetter
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz, process

from evaluator.metrics import form, llm, retrieval, text
from evaluator.metrics.options import forms_of, options_of
from evaluator.metrics.plugins import guarded, plugin_named, plugin_names
from evaluator.metrics.scores import Metric
from evaluator.models import Models

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

_LEAST_ALIKE, _MOST_SUGGESTED = 75, 3
"""How like a name must be to be suggested, of 100, and how many are."""

_CUT = re.compile(r"(?P<name>.+)@(?P<k>[1-9][0-9]*(?:\.[0-9]+)?|0\.[0-9]+)")


def _metrics_of(family: ModuleType) -> Iterator[Metric]:
    """Return the metrics of a family's modules, by the names of their functions."""
    modules = [import_module(module.name) for module in iter_modules(family.__path__, f"{family.__name__}.")]
    made = [
        (one.listed, one(**options))
        for module in modules
        for one in vars(module).values()
        if _is_made_in(module, one)
        for options in one.variants
    ]
    return (one for _, one in sorted(made, key=itemgetter(0)))


def _is_made_in(module: ModuleType, one: Any) -> bool:
    """Whether it is a metric that a module makes, and not one that it imports, or the base of some."""
    return isinstance(one, type) and one.__module__ == module.__name__ and hasattr(one, "variants")


def _formed(metric: Any) -> Iterator[tuple[str, Metric]]:
    for option, forms in forms_of(metric).items():
        yield from ((f"{metric.name}_{one.ending}", replace(metric, **{option: one.value})) for one in forms)


FAMILIES: Mapping[str, Sequence[Metric]] = {
    "What was retrieved": tuple(_metrics_of(retrieval)),
    "The answer": tuple(_metrics_of(text)),
    "Form and behaviour": tuple(_metrics_of(form)),
    "By a judge": tuple(_metrics_of(llm)),
}
"""Every metric with its default options, by what it is about."""

REGISTRY: Mapping[str, Metric] = {metric.name: metric for family in FAMILIES.values() for metric in family}
"""Every metric with its default options, by name."""

CLASSES: Mapping[str, type[Metric]] = {type(metric).__name__: type(metric) for metric in REGISTRY.values()}
"""The classes of the metrics, by name."""

_FORMED: Mapping[str, Metric] = dict(formed for metric in REGISTRY.values() for formed in _formed(metric))
"""The metrics with a form, by the name that asks for it."""

FORMER_NAMES: Mapping[str, str] = {
    old: metric.name for metric in REGISTRY.values() for old in metric.about.former_names
}
"""Names that metrics had: they are found by them, with a warning."""

_ALIASES_OF_FORMS: Mapping[str, str] = {
    alias: f"{metric.name}_{form.ending}"
    for metric in REGISTRY.values()
    for forms in forms_of(metric).values()
    for form in forms
    for alias in form.aliases
}

ALIASES: Mapping[str, str] = {
    **{alias: metric.name for metric in REGISTRY.values() for alias in metric.about.aliases},
    **_ALIASES_OF_FORMS,
    **FORMER_NAMES,
}
"""Other names of the metrics and their forms, in other packages or in short, and those that they had."""


class UnknownMetricError(ValueError):
    """No metric has this name; the message has the names that are like it."""

    def __init__(self, name: str) -> None:
        near = _like(name)
        suggested = f"; did you mean {' or '.join(near)}?" if near else ";"
        endings = sorted(
            {f"_{form.ending}" for one in REGISTRY.values() for forms in forms_of(one).values() for form in forms}
        )
        super().__init__(
            f"there is no metric {name!r}{suggested} docs/metrics.md lists all {len(REGISTRY)} and what may follow a "
            f"name: @k cuts after k contexts or is a limit, and some take {', '.join(endings)}"
        )


def _like(name: str) -> list[str]:
    """Return the names of metrics that are most like one, with what follows it."""
    cut = _CUT.fullmatch(name)
    base, end = (cut["name"], f"@{cut['k']}") if cut else (name, "")
    known = [*REGISTRY, *(ALIASES.keys() - FORMER_NAMES.keys()), *_FORMED, *plugin_names()]
    found = process.extract(base.lower(), known, scorer=fuzz.WRatio, limit=None, score_cutoff=_LEAST_ALIKE)
    # Of names that hold the given one the shortest comes first.
    nearest = sorted(found, key=lambda one: (-fuzz.ratio(base.lower(), one[0]), one[0]))[:_MOST_SUGGESTED]
    return [f"{one}{end}" if end and {"k", "limit"} & options_of(_uncut(one)).keys() else one for one, _, _ in nearest]


def metric_named(name: str, models: Models | None = None, judge: BoundJudge | None = None) -> Metric:
    """Return a metric of the registry by its name or an alias, or a form of it, or one of another package.

    Forms are the cut after k contexts, another matcher of facts and another tokenisation: `id_recall@5`,
    `facts_recall_statement`, `answer_correctness_token_f1_any_script`. A metric with a limit has it behind its name:
    `latency_over@30`.

    `models` says which models it uses, if it uses any, and `judge` which judge it asks, if it asks one.

    A name that a metric had warns (FutureWarning) with the one that it has.

    Raises UnknownMetricError, which lists the known ones, also for a form that a metric does not have.
    """
    cut = _CUT.fullmatch(name)
    base = cut["name"] if cut else name
    if base in FORMER_NAMES:
        warnings.warn(f"the metric {base!r} is called {FORMER_NAMES[base]!r}", FutureWarning, stacklevel=2)
    found = _uncut(base)
    if found is not None and cut:
        found = _cut(found, cut["k"])
    if found is None:
        raise UnknownMetricError(name)
    if models is not None:
        found = _with_models(found, models)
    found = (judge and _with_option(found, "judged_by", judge)) or found
    return found if _is_ours(base) else guarded(found)


def _is_ours(name: str) -> bool:
    known = ALIASES.get(name, name)
    return known in REGISTRY or known in _FORMED


def _uncut(name: str) -> Metric | None:
    known = ALIASES.get(name, name)
    return REGISTRY.get(known) or _FORMED.get(known) or plugin_named(name)


def metrics_named(
    given: str | Metric | Iterable[str | Metric], models: Models | None = None, judge: BoundJudge | None = None
) -> list[Metric]:
    """Return metrics, each as it is or by a name of `metric_named`; one alone stands for a list of one."""
    every = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    return [metric_named(metric, models, judge) if isinstance(metric, str) else metric for metric in every]


def _cut(metric: Metric, after: str) -> Metric | None:
    """Return a metric with the number that follows its name: so many contexts, or a limit."""
    limited = _with_option(metric, "limit", float(after))
    return _with_option(metric, "k", int(after)) if limited is None and after.isdecimal() else limited


def _with_option(metric: Any, option: str, value: object) -> Metric | None:
    if option not in options_of(metric):
        return None
    changed: Metric = replace(metric, **{option: value})
    return changed


def _with_models(metric: Any, models: Models) -> Metric:
    """Return a metric with these models, also where an option of it, such as its matcher, is what uses them."""
    changed: dict[str, Any] = {}
    for name in options_of(metric):
        value = getattr(metric, name)
        if name == "models":
            changed[name] = models
        elif is_dataclass(value) and hasattr(value, "models"):
            changed[name] = replace(value, models=models)  # type: ignore[type-var]
    found: Metric = replace(metric, **changed) if changed else metric
    return found
