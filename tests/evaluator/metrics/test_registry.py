"""What holds for every metric, and several of them on one frame."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import (
    REGISTRY,
    FaithfulnessKPrecision,
    MissingColumnError,
    UnknownMetricError,
    compute,
    needs_ground_truth,
)

GOOD: dict[str, Any] = {
    "answer": "The sky is blue.",
    "contexts": ["We saw that the sky is blue today", "Grass is green"],
    "reference_answers": ["blue sky", "the sky is blue"],
    "facts": ["sky is blue", "snow is white"],
}
EXPECTED = {
    "faithfulness_kprecision": 1.0,
    "context_present": 1.0,
    "facts_recall": 0.5,
    "answer_correctness_token_recall": 1.0,
}
ODD_CELLS = [
    None, float("nan"), pd.NA, pd.NaT, 3, 2.5, True, b"bytes", {"a": 1}, object(), "", "text", "\ud800 lone surrogate",
    [], ["text"], [None, "text"], [["nested"]], [3], ("a", "b"), np.array(["a", "b"]), np.array([]), np.array("scalar"),
    np.array([["a"]]), {"set"}, "word " * 200_000, ["chunk " * 200_000],
]  # fmt: skip
TEXTS = st.text(alphabet=st.sampled_from("ab .the\n"), max_size=20)


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({column: pd.Series([row[column] for row in rows], dtype=object) for column in GOOD})


def test_every_metric_scores_a_good_row() -> None:
    """The registry's metrics are known by their own names, and their values on a plain row are worked out by hand."""
    scores = compute(frame(GOOD), list(REGISTRY))
    assert {name: scores[name].iloc[0] for name in REGISTRY} == EXPECTED
    assert scores[[f"{name}_reason" for name in REGISTRY]].isna().all(axis=None)
    assert all(metric.name == name for name, metric in REGISTRY.items())


@pytest.mark.parametrize("column", list(GOOD))
def test_an_odd_cell_costs_at_most_its_own_row(column: str) -> None:
    """Whatever a cell holds: its row has a value or a reason, and its neighbours have their values."""
    rows = [row for cell in ODD_CELLS for row in (GOOD | {column: cell}, GOOD)]
    scores = compute(frame(*rows), list(REGISTRY))
    for name in REGISTRY:
        assert (scores[name].iloc[1::2] == EXPECTED[name]).all()
        odd, reasons = scores[name].iloc[::2], scores[f"{name}_reason"].iloc[::2]
        assert (odd.between(0, 1) | (odd.isna() & reasons.notna())).all()


@pytest.mark.parametrize("cell", ["a bare string", 3, {"text": "x"}, [3], np.array([["a"]])])
def test_a_cell_of_another_type_is_null_and_says_so(cell: object) -> None:
    """A bare string in a column of lists is not read letter by letter."""
    scores = compute(frame(GOOD | {"contexts": cell}), ["faithfulness_kprecision", "context_present"])
    assert scores["faithfulness_kprecision"].isna().all()
    assert set(scores["context_present_reason"]) == {"unreadable_contexts"}


@pytest.mark.parametrize(
    ("metric", "change", "value", "reason"),
    [
        ("faithfulness_kprecision", {"answer": ""}, 0.0, "no_answer"),
        ("faithfulness_kprecision", {"answer": None}, None, "no_answer"),
        ("faithfulness_kprecision", {"contexts": []}, 0.0, "no_contexts"),
        ("faithfulness_kprecision", {"contexts": None}, None, "no_contexts"),
        ("context_present", {"contexts": None}, 0.0, None),
        ("context_present", {"contexts": [" ", None, "---"]}, 0.0, None),
        ("facts_recall", {"facts": []}, None, "no_facts"),
        ("facts_recall", {"facts": None}, None, "no_facts"),
        ("facts_recall", {"facts": ["---", ""]}, None, "no_facts"),
        ("facts_recall", {"facts": ["---", "sky"]}, 1.0, None),
        ("facts_recall", {"contexts": []}, 0.0, "no_contexts"),
        ("facts_recall", {"contexts": None}, None, "no_contexts"),
        ("answer_correctness_token_recall", {"reference_answers": []}, None, "no_ground_truth"),
        ("answer_correctness_token_recall", {"reference_answers": None}, None, "no_ground_truth"),
        ("answer_correctness_token_recall", {"answer": ""}, 0.0, "no_answer"),
        ("answer_correctness_token_recall", {"answer": "the"}, 0.0, None),
    ],
)
def test_what_is_missing_is_null_or_zero_by_whose_side_it_is(
    metric: str, change: dict[str, Any], value: float | None, reason: str | None
) -> None:
    """The system's empty side is 0, so that silence cannot lift a mean; what nobody knows is null. Both say why."""
    scores = compute(frame(GOOD | change), [metric])
    found = scores[metric].iloc[0]
    assert (None if np.isnan(found) else found, scores[f"{metric}_reason"].iloc[0]) == (value, reason)


def test_a_missing_column_is_one_error_that_names_it() -> None:
    """The error names the metric, the column and what the frame has."""
    with pytest.raises(MissingColumnError, match=r"'facts_recall' needs column 'facts'.*answer, contexts"):
        compute(frame(GOOD)[["answer", "contexts"]], ["facts_recall"])


def test_an_unknown_metric_is_an_error_that_lists_the_known_ones() -> None:
    """A typing error in a name is found at once."""
    with pytest.raises(UnknownMetricError, match=r"'faithfullness'.*faithfulness_kprecision"):
        compute(frame(GOOD), ["faithfullness"])


def test_a_frame_keeps_its_index_even_with_repeats_and_without_rows() -> None:
    """A filtered or concatenated frame comes back with the labels it had, and an empty one stays float64."""
    scores = compute(frame(GOOD, GOOD, GOOD).set_axis([7, 7, 3]), list(REGISTRY))
    assert list(scores.index) == [7, 7, 3]
    empty = compute(frame(), list(REGISTRY))
    assert empty.empty
    assert (empty[list(REGISTRY)].dtypes == "float64").all()


def test_metrics_that_compare_with_ground_truth_are_told_apart() -> None:
    """The service scores these only where it has a case."""
    assert {name for name, metric in REGISTRY.items() if needs_ground_truth(metric)} == {
        "facts_recall",
        "answer_correctness_token_recall",
    }


@given(TEXTS, st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3))
def test_values_are_between_0_and_1(answer: str, contexts: list[str], references: list[str], facts: list[str]) -> None:
    """Every value of every metric is in its range, and every null has a reason."""
    row = {"answer": answer, "contexts": contexts, "reference_answers": references, "facts": facts}
    scores = compute(frame(row), list(REGISTRY))
    for name in REGISTRY:
        value, reason = scores[name].iloc[0], scores[f"{name}_reason"].iloc[0]
        assert 0 <= value <= 1 or (np.isnan(value) and reason)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_one_more_context_or_reference_never_lowers_a_value(
    answer: str, contexts: list[str], more: str, facts: list[str]
) -> None:
    """What was supported stays supported, what was found stays found, and the best reference stays at least as good."""
    row = {"answer": answer, "contexts": contexts, "reference_answers": contexts, "facts": facts}
    wider = row | {"contexts": [*contexts, more], "reference_answers": [*contexts, more]}
    metrics = [*REGISTRY.values(), FaithfulnessKPrecision(aggregation="max")]
    for metric in metrics:
        before, after = metric.score(frame(row, wider)).values
        assert not after < before


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_all_contexts_support_at_least_what_the_best_one_does(answer: str, contexts: list[str]) -> None:
    """Joined contexts never give less than unitxt's best chunk."""
    row = frame({"answer": answer, "contexts": contexts, "reference_answers": [], "facts": []})
    joined, best = FaithfulnessKPrecision().score(row), FaithfulnessKPrecision(aggregation="max").score(row)
    assert joined.values.iloc[0] >= best.values.iloc[0]
