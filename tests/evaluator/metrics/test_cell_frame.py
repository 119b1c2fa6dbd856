"""Frames of cells, which the service gives to metrics in place of frames of pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import REGISTRY, CellFrame, Description, Metric, OddCases, Score, Scores, scores_of
from evaluator.metrics.options import options_of
from evaluator.metrics.plugins import GuardedMetric

CELLS: dict[str, list[Any]] = {
    "question": ["Who wrote it?", "When?", None, 5, "Was?"],
    "answer": ["Ada wrote 12 pages [1].", "", None, "Ada.", "Es war 1843."],
    "contexts": [["Ada wrote 12 pages.", "Other."], [], None, ["Ada."], [None, "1843"]],
    "context_ids": [["a", "b"], [], None, ["a"], [None, "c"]],
    "facts": [["12 pages"], [], None, ["Ada"], ["1843", "war"]],
    "reference_answers": [["Ada wrote it."], [], None, ["Ada."], ["1843"]],
    "reference_contexts": [["Ada wrote 12 pages."], [], None, ["Ada."], ["1843"]],
    "reference_context_ids": [["a"], [], None, ["b"], ["c"]],
    "tool_calls": [None, (), None, None, None],
    "reference_tool_calls": [None, (), None, None, None],
    "conversation": [None] * 5,
    "duration_ms": [1000, None, 2.5, 0, 7],
    "price": [0.1, None, 0, 1, 2],
    "deployment_price": [0.1, None, 0, 1, 2],
    "is_answerable_label": [True, None, False, True, None],
}
WITHOUT_MODELS = [one for one in REGISTRY.values() if one.judge == "lexical" and "models" not in options_of(one)]


@pytest.mark.parametrize("metric", WITHOUT_MODELS, ids=lambda metric: metric.name)
def test_a_metric_gives_the_same_of_a_frame_of_cells(metric: Metric) -> None:
    """Values, reasons and details are those of the same rows of a frame of pandas."""
    cells = CellFrame(CELLS, 5)
    of_cells, of_pandas = scores_of(metric, cells).with_details(), metric.score(cells.to_pandas()).with_details()
    assert repr(of_cells.values) == repr(of_pandas.values.tolist())
    for name in ("reasons", "details", "spends"):
        assert getattr(of_cells, name) == getattr(of_pandas, name).tolist()


def test_a_metric_of_another_package_gets_a_frame_of_pandas() -> None:
    """It may use whatever pandas has."""

    class Longest:
        name, version, needs, judge = "longest", "1", ("answer",), "lexical"
        about = Description(asks="", formula="", source="a test", odd_cases=OddCases())

        def score(self, frame: pd.DataFrame) -> Scores:
            longest = frame["answer"].fillna("").map(len)
            return Scores.of([Score(one / longest.max()) for one in longest], frame.index)

    some = CellFrame({"answer": ["four", "eight888", None]}, 3)
    scores = scores_of(GuardedMetric(Longest()), some)
    assert list(scores.values) == [0.5, 1.0, 0.0]
