"""A line a metric, and frames of any length."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from evaluator.metrics import MissingColumnError, aggregate, compute
from evaluator.metrics.aggregation import Aggregation
from evaluator.metrics.compute import SLICE_ROWS

FRAME = pd.DataFrame(
    {
        "facts": [["blue"], ["blue", "red"], [], ["blue"], 3],
        "contexts": [["blue"], ["blue"], ["blue"], None, ["blue"]],
    }
)


def test_a_mean_stands_beside_what_it_is_over_and_what_it_is_not() -> None:
    """The mean is over scored rows; those without a value are counted by reason and add up."""
    found = aggregate(compute(FRAME, ["facts_recall", "context_present"]).assign(note="kept apart"))
    assert found.to_dict("index") == {
        "facts_recall": {
            "mean": 0.75, "scored": 2, "not_scored": 3, "no_contexts": 1, "no_facts": 1, "unreadable_facts": 1,
        },
        "context_present": {
            "mean": 0.8, "scored": 5, "not_scored": 0, "no_contexts": 0, "no_facts": 0, "unreadable_facts": 0,
        },
    }  # fmt: skip
    assert found.index.name == "metric"


def test_where_nothing_is_scored_there_is_no_mean() -> None:
    """No row, or no value, gives NaN and never 0; no metric gives an empty frame."""
    assert np.isnan(aggregate(compute(FRAME[2:3], ["facts_recall"])).loc["facts_recall", "mean"])
    empty = aggregate(compute(FRAME[:0], ["facts_recall"])).loc["facts_recall"]
    assert np.isnan(empty["mean"])
    assert (empty["scored"], empty["not_scored"]) == (0, 0)
    assert list(aggregate(pd.DataFrame()).columns) == ["mean", "scored", "not_scored"]


def test_pieces_add_up_to_the_whole() -> None:
    """Scores that are added piece by piece give what they give together."""
    scores = compute(FRAME, ["facts_recall", "facts_mrr"])
    aggregation = Aggregation()
    for start in range(len(scores)):
        aggregation.add(scores[start : start + 1])
    pd.testing.assert_frame_equal(aggregation.frame(), aggregate(scores))


def test_slices_of_a_frame_give_what_the_whole_gives() -> None:
    """A frame of several slices keeps its order and index, whatever index it has."""
    rows = 2 * SLICE_ROWS + 1
    answers = [f"word{row} blue" for row in range(rows)]
    frame = pd.DataFrame({"answer": answers, "contexts": [[f"word{row}"] for row in range(rows)]})
    frame.index = pd.Index(range(rows, 0, -1))
    scores = compute(frame, ["faithfulness_kprecision"])
    assert list(scores.index) == list(frame.index)
    assert (scores["faithfulness_kprecision"] == 0.5).all()


def test_an_empty_frame_still_needs_its_columns() -> None:
    """No rows and no column is an error, as with rows."""
    with pytest.raises(MissingColumnError, match="'facts_recall' needs column 'facts'"):
        compute(pd.DataFrame(), ["facts_recall"])


def test_memory_does_not_grow_with_the_texts_of_a_frame() -> None:
    """Four times as many rows of different texts need about as much memory beside frame and result."""
    assert _peak(4 * SLICE_ROWS) < 2 * _peak(SLICE_ROWS)


def _peak(rows: int) -> int:
    words = ["".join(chr(ord("a") + int(digit)) for digit in str(row)) for row in range(rows)]
    contexts = [[f"{word} words " * 200] for word in words]
    frame = pd.DataFrame({"answer": [f"{word} " * 20 for word in words], "contexts": contexts})
    tracemalloc.start()
    try:
        compute(frame, ["faithfulness_kprecision"])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_arrays_and_odd_cells_add_up_too() -> None:
    """numpy arrays are lists; None, NaN, a list for a text and a text for a list are counted, each by its reason."""
    answers = ["blue", None, float("nan"), ["blue"], np.array(["blue"]), "blue", "blue"]
    contexts = [np.array(["blue"])] * 5 + ["blue", np.array([["blue"]])]
    frame = pd.DataFrame({"answer": pd.Series(answers, dtype=object), "contexts": pd.Series(contexts, dtype=object)})
    found = aggregate(compute(frame, ["faithfulness_kprecision"])).loc["faithfulness_kprecision"]
    assert found.to_dict() == {
        "mean": 1.0, "scored": 1, "not_scored": 6, "no_answer": 2, "unreadable_answer": 2, "unreadable_contexts": 2,
    }  # fmt: skip
