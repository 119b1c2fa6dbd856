"""Metrics of an answer's form: its length, emptiness, repeated text, latency and cost."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import Cost, Metric, RepeatedText, compute, metric_named


def score(metric: str | Metric, **row: Any) -> tuple[float | None, str | None]:
    """The value of one row, None where null, and its reason."""
    found = metric_named(metric) if isinstance(metric, str) else metric
    frame = pd.DataFrame({column: pd.Series([cell], dtype=object) for column, cell in row.items()})
    scores = compute(frame, [found])
    value = scores[found.name].iloc[0]
    return None if np.isnan(value) else float(value), scores[f"{found.name}_reason"].iloc[0]


@pytest.mark.parametrize(
    ("answer", "words", "characters"),
    [
        ("The sky is blue.", 4, 16),
        ("  state-of-the-art: 3.14, don't \n", 3, 29),
        ("---", 0, 3),
        ("第12章。你好", 5, 7),
        ("สวัสดีครับ", 9, 10),
    ],
)
def test_length_counts_words_or_characters(answer: str, words: int, characters: int) -> None:
    """Words are what a reader counts, and a text without spaces is not one giant word."""
    assert score("answer_length", answer=answer) == (words, None)
    assert score("answer_length_characters", answer=answer) == (characters, None)


@pytest.mark.parametrize(("answer", "empty"), [("", 1), (" \n\t\u200b\ufeff\u00a0", 1), ("-", 0), ("👍", 0), ("no", 0)])
def test_an_answer_without_a_visible_character_is_empty(answer: str, empty: float) -> None:
    """A space without width does not make an answer."""
    assert score("empty_answer", answer=answer) == (empty, None)


@pytest.mark.parametrize("name", ["answer_length", "answer_length_characters"])
def test_silence_is_short(name: str) -> None:
    """An empty answer has a length of 0 and says so; of one that is not known nothing is said."""
    assert score(name, answer=" ") == (0.0, "no_answer")
    assert score(name, answer=None) == (None, "no_answer")
    assert score("empty_answer", answer=None) == (None, "no_answer")


@pytest.mark.parametrize(
    ("metric", "answer", "value", "reason"),
    [
        (RepeatedText(), "one two three four five", 0.0, None),
        # 9 runs of four words, 4 of them new.
        (RepeatedText(), "a b c d " * 3, 1 - 4 / 9, None),
        (RepeatedText(), "No no no no no.", 1 / 2, None),
        (RepeatedText(n=1), "the cat the dog", 1 / 4, None),
        (RepeatedText(), "one two three", None, "too_short"),
        (RepeatedText(), "", None, "no_answer"),
        (RepeatedText(), None, None, "no_answer"),
    ],
)
def test_repeated_text_is_the_share_of_runs_said_before(
    metric: Metric, answer: str | None, value: float | None, reason: str | None
) -> None:
    """Welleck's seq-rep-4; what is too short to repeat itself is no good example of not doing so."""
    found, why = score(metric, answer=answer)
    assert (found, why) == (value if value is None else pytest.approx(value), reason)


@given(st.text(alphabet="ab ", min_size=1, max_size=30))
def test_an_answer_said_twice_repeats_more(answer: str) -> None:
    """To say it all again never lowers the share."""
    once, _ = score("repeated_text", answer=answer)
    twice, _ = score("repeated_text", answer=f"{answer} {answer}")
    assert once is None or (twice is not None and twice >= once)


@pytest.mark.parametrize("n", [0, -1, True, 1.5])
def test_a_run_has_a_word_or_more(n: Any) -> None:
    """A wrong n is an error when the metric is made."""
    with pytest.raises(ValueError, match="1 or more"):
        RepeatedText(n)


@pytest.mark.parametrize(
    ("metric", "cells", "value", "reason"),
    [
        ("latency", {"duration_ms": 1500}, 1.5, None),
        ("latency", {"duration_ms": np.int64(0)}, 0.0, None),
        ("latency_over", {"duration_ms": 10_000}, 0.0, None),
        ("latency_over@10", {"duration_ms": 10_001}, 1.0, None),
        ("latency_over@30", {"duration_ms": 10_001}, 0.0, None),
        ("latency_over@0.5", {"duration_ms": 501}, 1.0, None),
        ("latency_over", {"duration_ms": None}, None, "no_duration"),
        ("cost_over", {"price": 0.05}, 0.0, None),
        ("cost_over@0.05", {"price": 0.0501}, 1.0, None),
        ("cost_over@2", {"price": 1.99}, 0.0, None),
        ("cost_over", {"price": None}, None, "no_price"),
        ("latency", {"duration_ms": float("nan")}, None, "no_duration"),
        ("latency", {"duration_ms": -1}, None, "unreadable_duration_ms"),
        ("latency", {"duration_ms": 10**400}, None, "unreadable_duration_ms"),
        ("latency", {"duration_ms": "1500"}, None, "unreadable_duration_ms"),
        ("cost", {"price": Decimal("0.25")}, 0.25, None),
        ("cost", {"price": None}, None, "no_price"),
        ("cost", {"price": Decimal("sNaN")}, None, "unreadable_price"),
        (Cost("deployment_price"), {"deployment_price": 5e-7}, 5e-7, None),
    ],
)
def test_what_an_answer_took_is_what_was_measured(
    metric: str | Metric, cells: dict[str, Any], value: float | None, reason: str | None
) -> None:
    """Seconds and money are scores like others; what was not measured is null."""
    assert score(metric, **cells) == (value, reason)
