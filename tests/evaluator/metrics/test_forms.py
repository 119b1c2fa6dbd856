"""Metrics by name: their cuts, matchers, tokenisations and other options."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import (
    ALIASES,
    REGISTRY,
    STATEMENT,
    AnswerCorrectnessTokenF1,
    Bleu,
    ContextCorrectness,
    FactsNdcg,
    FactsRecall,
    FaithfulnessKPrecision,
    IdF1,
    IdPrecision,
    IdRecall,
    MeanAveragePrecision,
    Metric,
    Rouge,
    StatementMatcher,
    UnknownMetricError,
    compute,
    metric_named,
)
from evaluator.metrics.options import forms_of
from tests.evaluator.metrics.forms import FORMS, FORMS_OF_MODELS


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("id_recall@5", IdRecall(5)),
        ("context_recall_by_ids", None),
        ("id_context_recall@3", IdRecall(3)),
        ("recall", IdRecall()),
        ("precision@5", IdPrecision(5, denominator="k")),
        ("f1@5", IdF1(5)),
        ("mrr", ContextCorrectness()),
        ("average_precision@3", MeanAveragePrecision(3)),
        ("recall_statement", None),
        ("faithfulness", FaithfulnessKPrecision()),
        ("facts_recall_statement@2", FactsRecall(2, matcher=STATEMENT)),
        ("answer_correctness_token_f1_squad", AnswerCorrectnessTokenF1(tokenisation="squad")),
        ("rougeL_recall", Rouge("rougeL", "recall")),
        ("r_precision@5", None),
        ("id_recall@0", None),
        ("id_recall@", None),
        ("id_recall_statement", None),
        ("bleu_any_script", None),
        ("@5", None),
        ("", None),
    ],
)
def test_a_name_gives_the_metric_or_one_of_its_forms(name: str, metric: Metric | None) -> None:
    """Cut, matcher and tokenisation can be named where a metric has them; all else is an unknown metric."""
    if metric is None:
        with pytest.raises(UnknownMetricError, match=re.escape(repr(name))):
            metric_named(name)
    else:
        assert metric_named(name) == metric


@pytest.mark.parametrize("name", [*FORMS, *FORMS_OF_MODELS])
def test_a_metric_is_found_by_the_name_that_it_has(name: str) -> None:
    """A score's metric column leads back to the metric that gave it."""
    assert metric_named(name).name == name


def test_no_alias_hides_a_metric_or_means_two() -> None:
    """Each other name leads to one metric and is the name of none."""
    described = [metric.about for metric in REGISTRY.values()]
    named = [alias for about in described for alias in (*about.aliases, *about.former_names)]
    named += [
        alias
        for metric in REGISTRY.values()
        for forms in forms_of(metric).values()
        for form in forms
        for alias in form.aliases
    ]
    assert len(named) == len(set(named)) == len(ALIASES)
    assert not set(named) & set(REGISTRY)


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("map_trec", "map"),
        ("map_trec@5", "map@5"),
        ("faithfulness_kprecision_any_script", "faithfulness_kprecision"),
        ("context_relevance_token_precision_any_script@2", "context_relevance_token_precision@2"),
    ],
)
def test_a_name_that_a_metric_had_is_found_with_a_warning(former: str, name: str) -> None:
    """It says what the metric is called."""
    before, after = (one.partition("@")[0] for one in (former, name))
    with pytest.warns(FutureWarning, match=f"the metric {before!r} is called {after!r}"):
        assert metric_named(former).name == name


def test_one_metric_may_be_named_alone() -> None:
    """A name, or a metric, is a list of one, and no list of letters."""
    frame = pd.DataFrame({"answer": ["The sky is blue."]})
    expected = compute(frame, ["answer_length"])
    assert compute(frame, "answer_length").equals(expected)
    assert compute(frame, REGISTRY["answer_length"]).equals(expected)


@pytest.mark.parametrize(
    ("metric", "version"),
    [
        (IdPrecision(), "1"),
        (IdPrecision(5), "1"),
        (IdPrecision(5, denominator="k"), "1-denominator=k"),
        (IdPrecision(repeats="distinct", nothing_retrieved="null"), "1-nothing_retrieved=null-repeats=distinct"),
        (FaithfulnessKPrecision(aggregation="max"), "2-max"),
        (Bleu(effective_order=False), "1-effective_order=False"),
        (FactsRecall(matcher=StatementMatcher(threshold=90)), "2-threshold=90"),
        (FactsNdcg(gain="exponential"), "2-gain=exponential"),
    ],
)
def test_an_option_that_changes_values_changes_the_version(metric: Metric, version: str) -> None:
    """Scores of two conventions are two streams, and the defaults keep the version that stored scores have."""
    assert metric.version == version


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5"])
def test_a_cut_is_a_whole_number_of_contexts(k: Any) -> None:
    """A wrong cut is an error when the metric is made and not a score."""
    with pytest.raises(ValueError, match="1 or more"):
        IdRecall(k)
