"""One number of several metrics: ragas_score of a data set, weighted combinations of a row."""

import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import (
    CombinationError,
    Description,
    OddCases,
    UnknownMetricError,
    combination,
    compute,
    left_out,
    metric,
    needs_ground_truth,
    ragas_score,
)

MEANS = {"context_relevancy": 0.817, "faithfulness": 0.892, "answer_relevancy": 0.874}
ROW = {"facts": ["a b", "c d"], "contexts": ["x a b", "y", "z", "w"], "answer": "a b", "question": "e"}
# facts_recall is 1/2, facts_precision 1/4, faithfulness 1, repeats and relevance are below.


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({column: pd.Series([row[column] for row in rows], dtype=object) for column in ROW})


def test_ragas_score_is_the_harmonic_mean_of_means() -> None:
    """The printout of its authors, .860."""
    assert ragas_score(MEANS) == pytest.approx(0.8597882533983073, abs=1e-9)


@pytest.mark.parametrize(
    "more",
    [
        *("context_present", "hit_rate@5", "exact_match", "empty_answer", "id_repeats", "repeated_text", "refusal"),
        *("latency", "answer_length"),
    ],
)
def test_ragas_score_leaves_out_what_is_binary_or_better_when_low(more: str) -> None:
    """Neither a rate nor a number whose lower end is the better one enters."""
    assert ragas_score(MEANS | {more: 0.0}) == ragas_score(MEANS)
    assert left_out([*MEANS, more]) == {more}


@pytest.mark.parametrize("mean", [0.0, -0.25])
def test_a_mean_of_zero_makes_ragas_score_zero(mean: float) -> None:
    """The strict side of a harmonic mean: nothing makes up for a metric that fails everywhere."""
    assert ragas_score(MEANS | {"answer_relevancy": mean}) == 0.0


@pytest.mark.parametrize("means", [{}, {"context_present": 1.0}, {**MEANS, "facts_recall": math.nan}])
def test_ragas_score_of_nothing_is_null(means: dict[str, float]) -> None:
    """A metric that scored no row is not passed over in silence."""
    assert math.isnan(ragas_score(means))


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=5))
def test_ragas_score_lies_between_the_worst_and_the_arithmetic_mean(means: list[float]) -> None:
    """As every harmonic mean does."""
    score = ragas_score({f"metric {number}": mean for number, mean in enumerate(means)})
    assert min(means) - 1e-12 <= score <= sum(means) / len(means) + 1e-12


@pytest.mark.parametrize(
    ("weights", "mean", "expected"),
    [
        ({"facts_recall": 1, "facts_precision": 1}, "arithmetic", 3 / 8),
        ({"facts_recall": 3, "facts_precision": 1}, "arithmetic", (3 / 2 + 1 / 4) / 4),
        ({"facts_recall": 1, "facts_precision": 1}, "harmonic", 1 / 3),
        ({"facts_recall": 1, "facts_precision": 3}, "harmonic", 4 / (2 + 12)),
        ({"facts_recall": 1, "empty_answer": 1}, "arithmetic", 3 / 4),
        ({"faithfulness": 1, "context_relevance_token_precision": 9}, "harmonic", 0.0),
        ({"facts_recall@1": 2}, "harmonic", 1 / 2),
    ],
)
def test_a_combination_is_the_weighted_mean_of_a_row(weights: dict[str, float], mean: Any, expected: float) -> None:
    """Worked out by hand; what is better when low counts the other way round."""
    assert compute(frame(ROW), [combination("mine", weights, mean)])["mine"].to_list() == [pytest.approx(expected)]


def test_a_row_without_one_of_its_metrics_is_null_and_says_which() -> None:
    """A mean over the rest would be another number."""
    quality = combination("quality", {"faithfulness": 1, "facts_recall": 1})
    scores = quality.score(frame(ROW, ROW | {"facts": []}))
    assert scores.values.isna().to_list() == [False, True]
    assert scores.reasons.to_list() == [None, "no_facts"]
    assert scores.details.to_list() == [{}, {"null": "facts_recall"}]


def test_a_combination_says_what_it_is_made_of() -> None:
    """Another weight, mean or version of a part is another stream of scores, and its columns are all of its parts'."""
    quality = combination("quality", {"faithfulness": 1, "facts_recall": 0.5})
    assert quality.version == "1-arithmetic-1*faithfulness_kprecision:4+0.5*facts_recall:2"
    assert quality.needs == ("answer", "contexts", "facts")
    assert quality.judge == "lexical"
    assert needs_ground_truth(quality)
    assert not needs_ground_truth(combination("free", {"faithfulness": 1}))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "no metrics"),
        ({"faithfulness": 1, "faithfulness_kprecision": 1}, "twice"),
        ({"facts_recall": 0}, "above 0"),
        ({"facts_recall": -1}, "above 0"),
        ({"facts_recall": math.nan}, "above 0"),
        ({"facts_recall": math.inf}, "above 0"),
        ({"refusal": 1}, "no better end"),
        ({"latency": 1}, "does not end at 0 and 1"),
    ],
)
def test_a_wrong_combination_is_an_error_when_it_is_made(weights: dict[str, float], message: str) -> None:
    """Seconds and shares have no common mean."""
    with pytest.raises(CombinationError, match=message):
        combination("mine", weights)


def test_a_combination_of_an_unknown_metric_is_an_error_that_lists_the_known_ones() -> None:
    """A typing error in a configuration is found at once."""
    with pytest.raises(UnknownMetricError, match="facts_recal"):
        combination("mine", {"facts_recal": 1})


def test_a_threshold_makes_one_and_zero_of_the_mean() -> None:
    """What is as much counts; the details have the mean, and the version says the threshold."""
    weights = {"facts_recall": 1.0, "facts_precision": 1.0}
    values = {}
    for threshold in (0.375, 0.376):
        metric = combination("q", weights, threshold=threshold)
        scores = metric.score(frame(ROW))
        values[threshold] = scores.values[0]
        assert dict(scores.details[0]) == {"mean": 0.375}
        assert metric.version.endswith(f">={threshold:g}")
        assert metric.about.binary
    assert values == {0.375: 1.0, 0.376: 0.0}


def test_columns_that_a_metric_may_have_are_those_of_the_combination() -> None:
    """Each once, and none that another of its metrics needs."""

    @metric(
        Description(asks="", formula="", source="", odd_cases=OddCases()), needs=("answer",), optional=("contexts",)
    )
    def may_have_contexts(answer: str | None, contexts: Any) -> float:
        """1."""
        return 1.0

    own = {"may_have_contexts": may_have_contexts}
    both = combination("both", {"is_answerable": 1, "may_have_contexts": 1}, own=own)
    assert both.optional == ("is_answerable_label", "contexts")
    assert combination("both", {"context_present": 1, "may_have_contexts": 1}, own=own).optional == ()
    assert combination("both", {"context_present": 1}).optional == ()
