"""Retrieval by facts: the worked examples, near misses, and what holds for any facts and contexts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import (
    AIDIAL_RAG_EVAL,
    EXACT,
    CommonRun,
    FactsFound,
    FactsNdcg,
    Metric,
    columns_of,
    longest_common_run,
    metric_named,
    retrieval_columns,
)
from evaluator.metrics.retrieval.facts import mrr, mrr_first, ndcg

PEERS = Path(__file__).parents[1] / "peers.json"
WORDS = st.lists(st.sampled_from(["sky", "is", "blue", "grass", "the", "12"]), max_size=5).map(" ".join)
FACTS, CONTEXTS = st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=4)
DECK = FactsFound([0, 0, 1], [2, 1])
NAMES = (
    "facts_recall",
    "facts_precision",
    "facts_f1",
    "facts_mrr",
    "facts_mrr_first",
    "facts_ndcg",
    "facts_longest_run",
)


def scored(metric: Metric | str, facts: Any, contexts: Any) -> tuple[float, str | None, dict[str, Any]]:
    named = metric_named(metric) if isinstance(metric, str) else metric
    cells = {"facts": facts, "contexts": contexts}
    scores = named.score(pd.DataFrame({column: pd.Series([cell], dtype=object) for column, cell in cells.items()}))
    return float(scores.values.iloc[0]), scores.reasons.iloc[0], dict(scores.details.iloc[0])


def value(metric: Metric | str, facts: Any, contexts: Any) -> float:
    return scored(metric, facts, contexts)[0]


def test_the_decks_example() -> None:
    """Three facts, two chunks: all found, both useful, ranks 0, 0, 1, counts 2, 1."""
    columns = columns_of(DECK, [])
    assert (columns.recall, columns.precision, columns.f1) == (1.0, 1.0, 1.0)
    assert columns.mrr == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert mrr_first(DECK.counts) == ndcg(DECK.counts) == 1.0


def test_order_and_gain_of_ndcg() -> None:
    """Counts 1, 2 are not in the best order; exponential gain makes more of it, and no count is too great for it."""
    assert ndcg([1, 2]) == pytest.approx(0.8597, abs=5e-5)
    assert ndcg([1, 2], gain="exponential") == pytest.approx(0.7967, abs=5e-5)
    assert ndcg([0, 0]) == 0.0
    assert ndcg([0, 5_000], gain="exponential") == pytest.approx(ndcg([0, 1]))
    assert ndcg([1, 2, 3], k=1) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("facts_recall", 1.0), ("facts_precision", 3 / 4), ("facts_f1", 6 / 7), ("facts_mrr", 13 / 36),
        ("facts_mrr_first", 1 / 2), ("facts_recall@2", 1 / 3), ("facts_precision@2", 1 / 2), ("facts_f1@2", 2 / 5),
        ("facts_mrr@2", 1 / 6), ("facts_mrr_first@1", 0.0), ("facts_ndcg@1", 0.0), ("facts_precision@9", 3 / 4),
    ],
)  # fmt: skip
def test_the_mean_over_facts_and_the_first_useful_chunk_are_two_numbers(name: str, expected: float) -> None:
    """Ranks 2, 1, 3 from 0: the package's code says .3611, its documents .5."""
    contexts = ["nothing", "f two", "f one", "f three"]
    assert value(name, ["f one", "f two", "f three"], contexts) == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("facts", "contexts", "expected", "reason"),
    [
        ([], ["a"], None, "no_facts"),
        (None, ["a"], None, "no_facts"),
        ([" - ", ""], ["a - b"], None, "no_facts"),
        ([], [], None, "no_facts"),
        (["a"], [], 0.0, "no_contexts"),
        (["a"], None, None, "no_contexts"),
        (["a"], "a", None, "unreadable_contexts"),
        (["a"], ["a"], 1.0, None),
    ],
)
def test_an_empty_side_is_null_or_zero(
    name: str, facts: Any, contexts: Any, expected: float | None, reason: str | None
) -> None:
    """Without facts all numbers are null, precision too; nothing retrieved is 0; both say why."""
    found, given_reason, _ = scored(name, facts, contexts)
    assert (None if found != found else found, given_reason) == (expected, reason)


def test_what_a_value_stands_on_is_in_its_details() -> None:
    """Ranks or counts, and how many facts could not be looked for."""
    row = ["sky", "---", "snow"], ["grass", "the sky, the sky"]
    found = {"facts_ranks": [1, -1], "facts_places": [(4, 7), None], "ignored_facts": 1}
    assert scored("facts_recall", *row)[2] == found
    nothing = {"facts_ranks": [-1, -1], "facts_places": [None, None], "ignored_facts": 1}
    assert scored("facts_recall@1", *row)[2] == nothing
    assert scored("facts_mrr", *row)[2] == {"facts_ranks": [1, -1], "ignored_facts": 1}
    assert scored("facts_precision", *row)[2] == {"context_relevance": [0, 1], "ignored_facts": 1}


@given(FACTS, CONTEXTS)
def test_the_place_of_a_fact_is_in_the_context_of_its_rank(facts: list[str], contexts: list[str]) -> None:
    """Each fact has the place of `facts_ranks`, and none where it is absent."""
    details = scored("facts_recall", facts, contexts)[2]
    counted = [fact for fact in facts if any(map(str.isalnum, fact))]
    for fact, rank, place in zip(
        counted, details.get("facts_ranks", ()), details.get("facts_places", ()), strict=bool(details)
    ):
        assert (place is None) == (rank == -1)
        assert place is None or contexts[rank][slice(*place)].strip() == fact


def test_the_places_of_facts_are_bounded() -> None:
    """A case with a thousand facts does not make a row of megabytes."""
    details = scored("facts_recall", ["sky"] * 1000, ["the sky"])[2]
    assert details["facts_places"] == [(4, 7)] * 100


def test_a_fact_that_a_border_cuts_is_a_near_miss() -> None:
    """Recall does not find it, the longest run does and says where; a fact that shares a word or two is absent."""
    facts = ["The blue whale is the largest animal", "Ants are the smallest"]
    contexts = ["the sea", "we know: the blue whale is", "the largest animal are"]
    found, reason, details = scored("facts_longest_run", facts, contexts)
    assert (found, reason) == (pytest.approx((4 / 7 + 1 / 4) / 2), None)
    assert details["missed_facts"] == [
        {"fact": 0, "words": 4, "of_words": 7, "context": 1, "near_miss": True},
        {"fact": 1, "words": 1, "of_words": 4, "context": 2, "near_miss": False},
    ]


@pytest.mark.parametrize(
    ("of_words", "words", "is_near"),
    [(4, 3, True), (4, 2, False), (10, 4, True), (10, 3, False), (11, 4, False)],
)
def test_a_run_exactly_at_the_limit_is_a_near_miss(of_words: int, words: int, is_near: bool) -> None:
    """Three words, and two fifths of the fact: as many are enough, and one less is not."""
    fact = [f"w{number}" for number in range(of_words)]
    details = scored("facts_longest_run", [" ".join(fact)], [" ".join(fact[:words])])[2]
    expected = {"fact": 0, "words": words, "of_words": of_words, "context": 0, "near_miss": is_near}
    assert details["missed_facts"] == [expected]


@pytest.mark.parametrize(
    ("fact", "contexts", "run"),
    [
        ("one two three", ["two three four", "zero one two"], CommonRun(2, 3, 1)),
        ("art is long", ["a party is longer"], CommonRun(1, 3, 0)),
        ("one two", ["one", "two"], CommonRun(1, 2, 0)),
        ("one", ["ones", ""], CommonRun(0, 1, -1)),
        ("one", [], CommonRun(0, 1, -1)),
        ("line\nbreak here", ["a line, break", "x"], CommonRun(2, 3, 0)),
        ("鲸鱼是最大的动物", ["我们知道鲸鱼是", "最大的"], CommonRun(3, 8, 0)),
    ],
)
def test_a_run_is_of_whole_words_in_one_context(fact: str, contexts: list[str], run: CommonRun) -> None:
    """It ends at a context's border and cuts no word; in a script without spaces each letter is a word."""
    assert longest_common_run(fact, contexts) == run


@given(WORDS.filter(bool), CONTEXTS)
def test_the_longest_run_is_the_longest(fact: str, contexts: list[str]) -> None:
    """The quick search finds what trying every run of the fact in every context finds."""
    words = fact.split()
    runs = [words[i:j] for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    texts = [context.split() for context in contexts]
    held = [len(run) for run in runs for text in texts for i in range(len(text)) if text[i : i + len(run)] == run]
    assert longest_common_run(fact, contexts).words == max(held, default=0)


@given(FACTS, CONTEXTS)
def test_a_graded_match_is_at_least_a_match(facts: list[str], contexts: list[str]) -> None:
    """What the citation matcher finds the laxer ones find too, and near misses only add."""
    strict = value("facts_recall", facts, contexts)
    for lax in ("facts_recall_trimmed", "facts_recall_statement", "facts_longest_run"):
        assert not value(lax, facts, contexts) < strict - 1e-12


@given(FACTS, CONTEXTS.filter(any))
def test_one_more_found_fact_never_lowers_recall(facts: list[str], contexts: list[str]) -> None:
    """Adding a fact that a context holds raises recall or leaves it."""
    found = next(context for context in contexts if context)
    for name in ("facts_recall", "facts_longest_run"):
        assert not value(name, [*facts, found], contexts) < value(name, facts, contexts) - 1e-12


@given(FACTS, CONTEXTS, st.randoms())
def test_the_order_of_facts_never_matters_and_of_contexts_only_to_ranks(
    facts: list[str], contexts: list[str], random: Any
) -> None:
    """Recall, precision, F1 and the longest run are numbers of sets; the others read ranks."""
    other, mixed = facts[:], contexts[:]
    random.shuffle(other)
    random.shuffle(mixed)
    for name in NAMES:
        expected = pytest.approx(value(name, facts, contexts), nan_ok=True)
        assert value(name, other, contexts) == expected
        if name in ("facts_recall", "facts_precision", "facts_f1", "facts_longest_run"):
            assert value(name, other, mixed) == expected


@given(FACTS, CONTEXTS)
def test_the_packages_columns_are_the_metrics_where_there_are_facts(facts: list[str], contexts: list[str]) -> None:
    """Two ways to one number: the interchange columns, and the form of the metrics that has the package's name."""
    usable = [fact for fact in facts if fact]
    columns = retrieval_columns(usable, contexts)
    names = {"facts_recall": columns.recall, "facts_precision": columns.precision, "facts_mrr": columns.mrr}
    for name, expected in (names | {"facts_f1": columns.f1}).items():
        found = value(f"{name}_aidial_rag_eval", facts, contexts)
        assert found == (expected if usable else pytest.approx(float("nan"), nan_ok=True))


def test_the_mean_over_many_facts_is_added_as_numpy_adds() -> None:
    """The package's number to the last bit; adding from left to right ends in another digit."""
    assert mrr([3, 8, 9, 1, 4, 7, 8, 8]) == 0.18854166666666666


def test_exponential_gain_is_reached_by_an_option() -> None:
    """The option is the arithmetic with 2^count - 1."""
    row = ["a1", "b1"], ["a1", "a1 b1"]
    assert value(FactsNdcg(gain="exponential"), *row) == ndcg([1, 2], gain="exponential")


@pytest.mark.parametrize("record", json.loads(PEERS.read_text(encoding="utf-8"))["facts"])
def test_columns_are_those_of_the_package_to_the_last_bit(record: dict[str, Any]) -> None:
    """aidial-rag-eval's numbers and highlights on odd characters, with many facts, overlaps and empty sides."""
    matcher = EXACT if record["matcher"] == "exact" else AIDIAL_RAG_EVAL
    columns = vars(retrieval_columns(record["facts"], record["contexts"], matcher))
    numbers = {name: None if number != number else number for name, number in columns.items()}
    assert numbers == record["expected"]


def test_a_matcher_is_an_object_and_the_error_names_the_metrics_of_a_judge() -> None:
    """`matcher="judge"` is what people try first."""
    with pytest.raises(ValueError, match=r"not 'judge'.*facts_recall_judge, facts_precision_judge or facts_f1_judge"):
        FactsNdcg(matcher="judge")  # type: ignore[arg-type]
