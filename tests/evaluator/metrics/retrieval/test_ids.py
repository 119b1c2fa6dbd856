"""Retrieval by ids: the worked examples, and what holds for any ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import (
    ContextCorrectness,
    HitRate,
    IdPrecision,
    IdRecall,
    MeanAveragePrecision,
    MeanAveragePrecisionFound,
    Metric,
    Ndcg,
    compute,
    metric_named,
)

APPLE = (
    ["2022 Q3 AAPL.pdf", "2023 Q1 MSFT.pdf", "2023 Q1 AAPL.pdf"],
    ["2022 Q3 AAPL.pdf", "2023 Q1 AAPL.pdf", "2023 Q2 AAPL.pdf", "2023 Q3 AAPL.pdf"],
)
TREC = {
    "map": 0.3333333333333333, "map@3": 0.16666666666666666, "average_precision": 0.3333333333333333, "mrr": 0.5,
    "reciprocal_rank": 0.5, "ndcg": 0.49818925746641285, "ndcg@3": 0.2960819109658652, "recall": 0.6666666666666666,
    "recall@3": 0.3333333333333333, "precision": 0.5, "precision@5": 0.4, "f1": 0.5714285714285715, "success@1": 0.0,
    "hit_rate@1": 0.0, "r_precision": 0.3333333333333333,
}  # fmt: skip
"""What pytrec_eval-terrier 0.5.11 gives for x, a, y, b retrieved of a, b and c."""
IDS = st.lists(st.sampled_from(["a", "b", "c", "d", "x", "y", ""]), max_size=7)
GOLD = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=5)
ORDERLESS = ("id_precision", "id_recall", "id_f1", "hit_rate", "id_repeats")
ALL = (*ORDERLESS, "r_precision", "context_correctness", "map", "map_found", "ndcg")


def frame(retrieved: Any, gold: Any) -> pd.DataFrame:
    cells = {"context_ids": retrieved, "reference_context_ids": gold}
    return pd.DataFrame({column: pd.Series([cell], dtype=object) for column, cell in cells.items()})


def value(metric: Metric | str, retrieved: Any, gold: Any) -> float:
    named = metric_named(metric) if isinstance(metric, str) else metric
    return float(named.score(frame(retrieved, gold)).values.iloc[0])


@pytest.mark.parametrize(
    ("metric", "example", "expected"),
    [
        ("id_precision", APPLE, 2 / 3),
        ("id_recall", APPLE, 2 / 4),
        ("id_f1", APPLE, 4 / 7),
        ("map_found", APPLE, (1 / 1 + 2 / 3) / 2),
        ("map", APPLE, (1 / 1 + 2 / 3) / 4),
        ("context_correctness", (["x", "y", "a"], ["a"]), 1 / 3),
        ("id_precision@5", APPLE, 2 / 3),
        (IdPrecision(5, denominator="k"), APPLE, 2 / 5),
        ("id_recall@2", APPLE, 1 / 4),
        ("ndcg", APPLE, 0.5856),
        ("ndcg@3", APPLE, 0.7039),
        ("ndcg", (["a", "a", "b"], ["a", "b"]), 0.9197),
        ("ndcg", (["a"], ["a", "b", "c", "d"]), 0.3904),
        ("ndcg@3", (["a"], ["a", "b", "c", "d"]), 0.4693),
        (Ndcg(ideal="retrieved"), (["a"], ["a", "b", "c", "d"]), 1.0),
        ("id_recall@3", (["a", "a", "b"], ["a", "b"]), 1.0),
        ("map", (["a", "a", "b"], ["a", "b"]), (1 + 2 / 3) / 2),
        ("id_precision", (["x", "a", "y", "a", "a"], ["a", "c"]), 3 / 5),
        (IdPrecision(repeats="distinct"), (["x", "a", "y", "a", "a"], ["a", "c"]), 1 / 3),
        ("id_repeats", (["x", "a", "y", "a", "a"], ["a", "c"]), 2 / 5),
        ("id_recall", ([1, 2, 3], ["2"]), 1.0),
        ("context_correctness", (np.array([1, 2, 3]), ("2",)), 1 / 2),
        ("hit_rate", (["a", "b"], ["b"]), 1.0),
        ("hit_rate@1", (["a", "b"], ["b"]), 0.0),
        (HitRate(granular=True), (["a", "a", "b"], ["a", "b"]), 3 / 2),
        (ContextCorrectness(granular=True), (["a", "x", "b"], ["a", "b"]), (1 + 1 / 3) / 2),
        ("r_precision", (["a", "x", "b"], ["a", "b"]), 1 / 2),
    ],
)
def test_a_worked_example(metric: Metric | str, example: tuple[Any, Any], expected: float) -> None:
    """The numbers that the literature and the packages' disagreements are explained with."""
    assert value(metric, *example) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("retrieved", "gold", "expected", "reason"),
    [
        ([], ["a"], 0.0, "no_contexts"),
        (None, ["a"], None, "no_contexts"),
        (["a"], [], None, "no_ground_truth"),
        (["a"], None, None, "no_ground_truth"),
        ([], [], None, "no_ground_truth"),
        (["a"], [None, ""], None, "no_ground_truth"),
        ("a", ["a"], None, "unreadable_context_ids"),
        ([True], ["a"], None, "unreadable_context_ids"),
        ([2.0], ["2"], None, "unreadable_context_ids"),
    ],
)
def test_an_empty_side_is_null_or_zero(
    name: str, retrieved: Any, gold: Any, expected: float | None, reason: str
) -> None:
    """No gold ids are null, nothing retrieved is 0 or a dead retriever would lift the mean, and both say why."""
    if name == "id_repeats":
        return
    scores = compute(frame(retrieved, gold), [name])
    found = scores[name].iloc[0]
    assert (None if np.isnan(found) else found, scores[f"{name}_reason"].iloc[0]) == (expected, reason)


def test_repeats_of_nothing_are_null() -> None:
    """Where nothing came back there is no share of it."""
    scores = compute(frame([], []), ["id_repeats"])
    assert scores["id_repeats_reason"].to_list() == ["no_contexts"]


def test_a_context_without_an_id_fills_its_rank() -> None:
    """A missing id is neither gold nor a repeat, and what stands below it keeps its rank."""
    row = ([None, "", "a"], ["a", ""])
    assert value("context_correctness", *row) == 1 / 3
    assert value("id_precision", *row) == 1 / 3
    assert value("id_repeats", *row) == 0.0


@pytest.mark.parametrize("name", TREC)
def test_names_of_information_retrieval_mean_what_they_mean_there(name: str) -> None:
    """The numbers are those of TREC's tools, also of MAP, MRR, and precision where fewer than k came back."""
    assert value(name, ["x", "a", "y", "b"], ["a", "b", "c"]) == pytest.approx(TREC[name], abs=1e-12)


@given(IDS, GOLD, st.randoms())
def test_the_order_of_sets_does_not_matter(retrieved: list[str], gold: list[str], random: Any) -> None:
    """Gold ids are a set for every metric, what was retrieved is one for those that have no ranks."""
    other, mixed = gold[:], retrieved[:]
    random.shuffle(other)
    random.shuffle(mixed)
    for name in ALL:
        expected = value(name, retrieved, gold)
        assert value(name, retrieved, [*other, *gold]) == pytest.approx(expected, nan_ok=True)
        if name in ORDERLESS:
            assert value(name, mixed, other) == pytest.approx(expected, nan_ok=True)


@given(IDS, GOLD)
def test_one_more_right_id_never_lowers_what_counts_right_ids(retrieved: list[str], gold: list[str]) -> None:
    """Recall, hit rate, the ranks of hits and NDCG can only gain from a gold id at the end."""
    for name in ("id_recall", "hit_rate", "context_correctness", "map", "ndcg"):
        assert value(name, [*retrieved, gold[0]], gold) >= value(name, retrieved, gold) - 1e-12


@given(IDS, GOLD, st.integers(1, 8))
def test_conventions_stand_in_their_known_order(retrieved: list[str], gold: list[str], k: int) -> None:
    """Dividing by more gives no more: gold for hits, k for what came back, all gold for what fits into the ranks."""
    row = retrieved, gold
    assert value(MeanAveragePrecision(k), *row) <= value(MeanAveragePrecisionFound(k), *row) + 1e-12
    assert value(IdPrecision(k, denominator="k"), *row) <= value(IdPrecision(k), *row) + 1e-12
    assert value(Ndcg(k), *row) <= value(Ndcg(k, ideal="retrieved"), *row) + 1e-12


@given(IDS, GOLD, st.integers(1, 8))
def test_a_cut_sees_only_the_first_ids(retrieved: list[str], gold: list[str], k: int) -> None:
    """@k of all is @k of the first k, and recall at k grows with k."""
    for name in ("id_precision", "id_recall", "id_f1", "hit_rate", "context_correctness", "map", "map_found", "ndcg"):
        assert value(f"{name}@{k}", retrieved, gold) == value(f"{name}@{k}", retrieved[:k], gold)
    assert value(IdRecall(k), retrieved, gold) <= value(IdRecall(k + 1), retrieved, gold)
