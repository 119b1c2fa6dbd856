"""Properties of every metric of a local model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.metrics import REGISTRY, Metric, compute, metric_named
from evaluator.models import Models
from tests.evaluator.metrics.forms import FORMS_OF_MODELS, OF_MODELS

GOOD: dict[str, Any] = {
    "question": "What colour is the sky?",
    "answer": "The sky is blue. It is wide.",
    "contexts": ["We saw that the sky is blue today", "Grass is green"],
    "reference_answers": ["blue sky", "the sky is blue"],
    "facts": ["sky is blue", "snow is white"],
}
ODD_CELLS = [
    None, float("nan"), pd.NA, 3, True, b"bytes", {"a": 1}, object(), "", " ", "text", "\ud800 lone surrogate", "\0",
    [], ["text"], [None, "text"], ["\udfff"], [["nested"]], [3], np.array(["a", "b"]), np.array([]), ["word " * 2_000],
    "word " * 2_000,
]  # fmt: skip
TEXTS = st.text(alphabet=st.sampled_from("ab .the\n"), max_size=20)
ROWS = st.fixed_dictionaries(
    {column: st.lists(TEXTS, max_size=3) if isinstance(cell, list) else TEXTS for column, cell in GOOD.items()}
)


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({column: pd.Series([row[column] for row in rows], dtype=object) for column in GOOD})


def chosen(models: Models) -> list[Metric]:
    return [metric_named(name, models) for name in FORMS_OF_MODELS]


@pytest.mark.slow
@pytest.mark.parametrize("column", list(GOOD))
def test_an_odd_cell_costs_at_most_its_own_row(column: str, models: Models) -> None:
    """Whatever a cell holds: its row has a value or a reason, and its neighbours have their values."""
    scores = compute(frame(*(row for cell in ODD_CELLS for row in (GOOD | {column: cell}, GOOD))), chosen(models))
    alone = compute(frame(GOOD), chosen(models)).iloc[0]
    for name in FORMS_OF_MODELS:
        assert scores[name].iloc[1::2].to_list() == pytest.approx([alone[name]] * len(ODD_CELLS), abs=1e-5)
        odd, reasons = scores[name].iloc[::2], scores[f"{name}_reason"].iloc[::2]
        about = metric_named(name).about
        assert (odd.between(about.low, about.high) | (odd.isna() & reasons.notna())).all()


@settings(max_examples=25, deadline=None)
@given(ROWS)
def test_values_are_in_their_range(models: Models, row: dict[str, Any]) -> None:
    """Every value of every metric is in the range that its description gives, and every null has a reason."""
    scores = compute(frame(row), chosen(models))
    for name in FORMS_OF_MODELS:
        value, reason = scores[name].iloc[0], scores[f"{name}_reason"].iloc[0]
        about = metric_named(name).about
        assert about.low <= value <= about.high or (np.isnan(value) and reason)


def test_a_frame_keeps_its_index_even_with_repeats_and_without_rows(models: Models) -> None:
    """A filtered or concatenated frame comes back with the labels it had, and an empty one stays float64."""
    scores = compute(frame(GOOD, GOOD, GOOD).set_axis([7, 7, 3]), chosen(models))
    assert list(scores.index) == [7, 7, 3]
    empty = compute(frame(), chosen(models))
    assert empty.empty
    assert (empty[FORMS_OF_MODELS].dtypes == "float64").all()


def test_the_registry_says_whose_verdict_it_is() -> None:
    """A page shows which numbers are of a model and which are a count of words."""
    assert {name: REGISTRY[name].judge for name in OF_MODELS} == {
        "context_relevance_perplexity": "model",
        "context_relevance_perplexity_mean": "model",
        "faithfulness_nli": "model",
        "answer_reward": "model",
        "toxicity": "model",
        "semantic_similarity": "embedding",
        "semantic_similarity_cross": "model",
    }
    assert metric_named("facts_recall_embedding").judge == "embedding"


@pytest.mark.parametrize("name", ["context_relevance_perplexity", "faithfulness_nli", "facts_recall_embedding"])
def test_a_row_that_asks_for_too_much_is_null_and_not_a_giant_wait(name: str, models: Models) -> None:
    """2,000 contexts, or megabytes of them, would hold up all other rows."""
    giant = [
        GOOD | {"contexts": ["a chunk of text " * 20] * 3_000},
        GOOD | {"contexts": ["a chunk of text. " * 9_000] * 60},
    ]
    scores = compute(frame(*giant, GOOD), [metric_named(name, models)])
    assert scores[f"{name}_reason"].tolist() == ["too_long", "too_long", None]


def test_two_metrics_of_one_name_are_refused(models: Models) -> None:
    """One would overwrite the other."""
    two = [metric_named("answer_reward", models), metric_named("answer_reward")]
    with pytest.raises(
        ValueError, match="two metrics are called 'answer_reward', of versions 1-small-reward and 1-rew"
    ):
        compute(frame(GOOD), two)
