"""Retrieval against reference contexts: small edits, thresholds, and empty sides."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import Metric, NonLlmContextPrecision, NonLlmContextRecall, metric_named


def scored(metric: Metric, contexts: Any, references: Any) -> tuple[float | None, str | None]:
    cells = {"contexts": contexts, "reference_contexts": references}
    scores = metric.score(pd.DataFrame({c: pd.Series([v], dtype=object) for c, v in cells.items()}))
    value = scores.values.iloc[0]
    return None if value != value else float(value), scores.reasons.iloc[0]


@pytest.mark.parametrize(
    ("metric", "contexts", "references", "expected"),
    [
        (NonLlmContextRecall(), ["ax"], ["ab"], (1.0, None)),
        (NonLlmContextRecall(strict=True), ["ax"], ["ab"], (0.0, None)),
        (NonLlmContextRecall(threshold=0.6), ["ax"], ["ab"], (0.0, None)),
        (NonLlmContextRecall(1), ["zz", "ab"], ["ab"], (0.0, None)),
        (NonLlmContextPrecision(), ["abcd", "abxx", "zzzz", "abcx"], ["abcd"], (pytest.approx(11 / 12), None)),
        (NonLlmContextPrecision(), ["zz"], ["ab"], (0.0, None)),
        (NonLlmContextPrecision(), [], ["ab"], (0.0, "no_contexts")),
        (NonLlmContextRecall(), None, ["ab"], (None, "no_contexts")),
        (NonLlmContextRecall(), ["ab"], [], (None, "no_ground_truth")),
        (NonLlmContextRecall(), ["short fact"], ["a long chunk that holds the short fact"], (0.0, None)),
    ],
)
def test_whole_chunks_are_compared_by_edits(
    metric: Metric, contexts: Any, references: Any, expected: tuple[float | None, str | None]
) -> None:
    """At the threshold they are alike, in recall as in precision; a part is not alike to the whole."""
    assert scored(metric, contexts, references) == expected


def test_a_cut_form_is_named() -> None:
    """They are cut like the other metrics of retrieval."""
    assert metric_named("non_llm_context_recall@3") == NonLlmContextRecall(3)
