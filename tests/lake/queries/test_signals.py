"""Signals of one answer as one number."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.queries.signals import FOLD_COLUMNS, fold_signals
from lake.spec.schemas import USER_SIGNALS

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PAGE = Path(__file__).parents[3] / "docs" / "signals.md"


def sign(signal: str, minute: int = 0, user: str | None = "ann", **columns: Any) -> dict[str, Any]:
    explicit = signal in ("like", "dislike", "unreadable")
    value = {"like": 1.0, "dislike": -1.0, "correction": -1.0, "regenerate": -0.5, "unreadable": None}[signal]
    return {
        "signal_id": f"{signal}-{minute}-{user}",
        "signaled_at": NOON + timedelta(minutes=minute),
        "signal": signal,
        "value": value,
        "confidence": 1.0 if explicit else 0.6,
        "origin": "explicit" if explicit else "implicit",
        "user_id": user,
    } | columns


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        pytest.param([], None, id="none"),
        pytest.param([sign("unreadable")], None, id="unreadable"),
        pytest.param([sign("like", confidence=None)], None, id="no-confidence"),
        pytest.param([sign("like", confidence=0.0)], None, id="confidence-0"),
        pytest.param([sign("like", value=7.0)], None, id="no-such-value"),
        pytest.param([sign("like")], 1.0, id="like"),
        pytest.param([sign("like", confidence=0.5)], 0.5, id="unsure-like"),
        pytest.param([sign("like", 9), sign("dislike", 1)], 1.0, id="the-latest"),
        pytest.param([sign("like", 1), sign("dislike", 9)], -1.0, id="taken-back"),
        pytest.param([sign("like", 1), sign("unreadable", 9)], 1.0, id="unreadable-takes-nothing-back"),
        pytest.param([sign("like"), sign("dislike", user="bob")], 0.0, id="two-people"),
        pytest.param([sign("like", user=None), sign("dislike", 9, user=None)], -1.0, id="nobody-is-one-person"),
        pytest.param([sign("like", 1), sign("correction", 9)], (3 - 0.6) / 3.6, id="explicit-outweighs"),
        pytest.param([sign("correction", 1), sign("like", 9)], 1.0, id="rated-after"),
        pytest.param([sign("correction", 1, user="bob"), sign("like", 9)], (3 - 0.6) / 3.6, id="another-rated-after"),
        pytest.param([sign("regenerate", 1), sign("regenerate", 2)], -0.3, id="once-a-kind"),
        pytest.param([sign("like", signaled_at=None), sign("dislike", 1)], -1.0, id="without-a-time"),
    ],
)  # fmt: skip
def test_the_rule(signals: list[dict[str, Any]], expected: float | None) -> None:
    """Latest explicit signal a person, surest implicit one a kind, weighted by origin and confidence."""
    assert fold_signals(signals) == (None if expected is None else pytest.approx(expected))


signs = st.builds(
    lambda name, minute, user, confidence: sign(name, minute, user, confidence=confidence),
    st.sampled_from(["like", "dislike", "unreadable", "regenerate", "correction"]),
    st.integers(0, 5),
    st.sampled_from(["ann", "bob", None]),
    st.floats(0, 1) | st.none(),
)


@given(st.lists(signs, max_size=8), st.randoms())
def test_order_and_frame_make_no_difference(signals: list[dict[str, Any]], chance: random.Random) -> None:
    """The number is in -1..1, and the same for rows in another order, as pandas and as Arrow."""
    signals = list({row["signal_id"]: row for row in signals}.values())
    folded = fold_signals(signals)
    assert folded is None or -1 <= folded <= 1
    mixed = chance.sample(signals, len(signals))
    table = USER_SIGNALS.rows(mixed)
    assert fold_signals(mixed) == pytest.approx(folded)
    assert fold_signals(table) == pytest.approx(folded)
    assert fold_signals(table.to_pandas()) == pytest.approx(folded)
    assert fold_signals(pd.DataFrame(mixed, columns=list(FOLD_COLUMNS))) == pytest.approx(folded)


@given(st.lists(signs, max_size=6))
def test_one_full_like_is_never_outvoted_by_its_own_persons_behaviour(signals: list[dict[str, Any]]) -> None:
    """Explicit outweighs implicit: whatever else a person did, the sign is that of their rating."""
    implicit = [row | {"user_id": "ann"} for row in signals if row["origin"] == "implicit"]
    folded = fold_signals([sign("like"), *implicit])
    assert folded is not None
    assert folded > 0


def test_a_table_without_rows_folds_to_nothing() -> None:
    """Nobody said anything."""
    assert fold_signals(USER_SIGNALS.schema.empty_table()) is None
    assert fold_signals(pa.table({name: pa.array([], pa.string()) for name in FOLD_COLUMNS}).to_pandas()) is None


def test_the_examples_of_the_page_give_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Each printed number is the one in the comment beside it."""
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(example, {})
    says = re.findall(r"print\(.*\)  # ([\w.-]+?)(?::.*)?$", example, re.MULTILINE)
    assert len(says) == 8
    assert capsys.readouterr().out.split() == says
