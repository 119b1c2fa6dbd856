"""Properties of every metric of the registry, and of several metrics on one frame."""

import gc
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
    metric_named,
    needs_ground_truth,
)
from evaluator.metrics.matchers import matcher
from evaluator.metrics.matchers.canonical_lines import CanonicalLines
from evaluator.metrics.options import options_of
from lake.spec.texts.unicode_forms import in_one_form
from tests.evaluator.metrics.forms import FORMS, PLAIN

GOOD: dict[str, Any] = {
    "question": "What colour is the sky?",
    "answer": "The sky is blue.",
    "contexts": ["We saw that the sky is blue today", "Grass is green"],
    "reference_contexts": ["Grass is greener", "snow is white"],
    "context_ids": ["a", "b", "a"],
    "reference_context_ids": ["b", "c"],
    "reference_answers": ["blue sky", "the sky is blue"],
    "facts": ["sky is blue", "snow is white"],
    "duration_ms": 250,
    "price": 0.5,
    "tool_calls": [
        {"name": "f", "arguments": '{"a": 1}', "is_error": True},
        {"name": "g", "arguments": None, "is_error": False},
        {"name": "f", "arguments": '{"a":1}', "is_error": None},
    ],
    "reference_tool_calls": [{"name": "f", "arguments": '{"a": 1}'}, {"name": "g", "arguments": '{"b": 2}'}],
}
TWO_RANKS = 1 + 1 / np.log2(3)
EXPECTED = {
    "tool_error_share": 1 / 2,
    "repeated_tool_calls": 1 / 3,
    "tool_call_count": 3.0,
    "tool_call_accuracy": 0.0,
    "tool_call_accuracy_any_order": 0.0,
    "tool_call_f1": 1 / 2,
    "tool_names_f1": 1.0,
    "context_present": 1.0,
    "facts_recall": 1 / 2,
    "facts_precision": 1 / 2,
    "facts_f1": 1 / 2,
    "facts_mrr": 1 / 2,
    "facts_mrr_first": 1.0,
    "facts_ndcg": 1.0,
    "facts_longest_run": (1 + 1 / 3) / 2,
    "id_precision": 1 / 3,
    "id_recall": 1 / 2,
    "id_f1": 2 / 5,
    "hit_rate": 1.0,
    "r_precision": 1 / 2,
    "context_correctness": 1 / 2,
    "map": 1 / 4,
    "map_found": 1 / 2,
    "ndcg": 1 / np.log2(3) / TWO_RANKS,
    "id_repeats": 1 / 3,
    "non_llm_context_recall": 1 / 2,
    "non_llm_context_precision": 1 / 2,
    "context_relevance_token_precision": 2 / 4,
    "faithfulness_kprecision": 1.0,
    "answer_correctness_token_recall": 1.0,
    "answer_correctness_token_precision": 1.0,
    "answer_correctness_token_f1": 1.0,
    "rouge1_precision": 1.0,
    "rouge1_recall": 1.0,
    "rouge1_fmeasure": 1.0,
    "rougeL_precision": 1.0,
    "rougeL_recall": 1.0,
    "rougeL_fmeasure": 1.0,
    "bleu": (3 / 5 * 2 / 4 * 1 / 3 * 1 / 4) ** (1 / 4),
    "chrf": 0.8722832118323054,
    "string_similarity_levenshtein": 14 / 16,
    "string_similarity_hamming": 14 / 16,
    "string_similarity_jaro": (14 / 15 + 14 / 16 + 1) / 3,
    "string_similarity_jaro_winkler": (14 / 15 + 14 / 16 + 1) / 3,
    "exact_match": 0.0,
    "string_presence": 0.0,
    "answer_length": 4.0,
    "answer_length_characters": 16.0,
    "empty_answer": 0.0,
    "refusal": 0.0,
    "language_match": 1.0,
    "citation_validity": np.nan,
    "repeated_text": 0.0,
    "latency": 0.25,
    "latency_over@10": 0.0,
    "cost": 0.5,
    "cost_over@0.05": 1.0,
}
"""Values of the good row by the metrics that score plain strings and numbers; a new metric's stand in its own tests."""
REASONS = {"citation_validity": "no_citations"}
"""A plain row cites nothing."""
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
    scores = compute(frame(GOOD), PLAIN)
    assert {name: scores[name].iloc[0] for name in EXPECTED} == pytest.approx(EXPECTED, abs=1e-12, nan_ok=True)
    assert {name: scores[f"{name}_reason"].iloc[0] for name in EXPECTED} == dict.fromkeys(EXPECTED) | REASONS
    assert all((scores[name].notna() | scores[f"{name}_reason"].notna()).all() for name in PLAIN)
    assert all(metric.name == name for name, metric in REGISTRY.items())


@pytest.mark.slow
@pytest.mark.parametrize("column", list(GOOD))
def test_an_odd_cell_costs_at_most_its_own_row(column: str) -> None:
    """Whatever a cell holds: its row has a value or a reason, and its neighbours have their values."""
    rows = [row for cell in ODD_CELLS for row in (GOOD | {column: cell}, GOOD)]
    scores, alone = compute(frame(*rows), PLAIN), compute(frame(GOOD), PLAIN).iloc[0]
    for name in PLAIN:
        neighbours = pytest.approx([alone[name]] * len(ODD_CELLS), abs=1e-12, nan_ok=True)
        assert scores[name].iloc[1::2].to_list() == neighbours
        odd, reasons = scores[name].iloc[::2], scores[f"{name}_reason"].iloc[::2]
        about = REGISTRY[name].about
        assert (odd.between(about.low, about.high) | (odd.isna() & reasons.notna())).all()


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
        ("context_present", {"contexts": []}, 0.0, None),
        ("context_present", {"contexts": [" ", None, "---"]}, 1.0, None),
        ("faithfulness_kprecision", {"contexts": [" ", None, "---"]}, None, "no_text_contexts"),
        ("facts_recall", {"contexts": [""]}, None, "no_text_contexts"),
        ("facts_longest_run", {"contexts": [None]}, None, "no_text_contexts"),
        ("case_passed", {"contexts": [""]}, None, "no_text_contexts"),
        ("context_relevance_token_precision", {"contexts": [""]}, None, "no_text_contexts"),
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


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("faithfullness", "did you mean faithfulness or "),
        ("Facts_Recall", "did you mean facts_recall or "),
        ("ndgc@5", r"did you mean ndcg@5\?"),
        ("facts_recal_statement", "did you mean facts_recall_statement or "),
        ("context_present@5", "did you mean context_present or "),
        ("zzz", r"no metric 'zzz'; docs/metrics.md lists all"),
    ],
)
def test_an_unknown_metric_is_an_error_that_names_those_that_are_like_it(name: str, says: str) -> None:
    """A typing error in a name is found at once; three names at most, which there are."""
    with pytest.raises(UnknownMetricError, match=says) as error:
        compute(frame(GOOD), [name])
    _, _, meant = str(error.value).partition("did you mean ")
    near = meant.partition("?")[0].split(" or ") if meant else []
    assert len(near) <= 3
    assert all(metric_named(one) for one in near)


@pytest.mark.parametrize("name", ["id_recall@2.5", "latency_over@0", "latency_over@-1", "latency@5", "cost_over@x"])
def test_a_number_behind_a_name_that_it_cannot_have_is_unknown(name: str) -> None:
    with pytest.raises(UnknownMetricError):
        metric_named(name)


def test_a_frame_keeps_its_index_even_with_repeats_and_without_rows() -> None:
    """A filtered or concatenated frame comes back with the labels it had, and an empty one stays float64."""
    scores = compute(frame(GOOD, GOOD, GOOD).set_axis([7, 7, 3]), PLAIN)
    assert list(scores.index) == [7, 7, 3]
    empty = compute(frame(), PLAIN)
    assert empty.empty
    assert (empty[PLAIN].dtypes == "float64").all()


def test_metrics_that_compare_with_ground_truth_are_known() -> None:
    """The service scores these only where it has a case: those that read a column that no log holds."""
    logged = {"question", "answer", "contexts", "context_ids", "duration_ms", "price", "deployment_price", "tool_calls"}
    logged |= {"conversation"}
    free = {name for name, metric in REGISTRY.items() if not needs_ground_truth(metric)}
    assert free == {name for name, metric in REGISTRY.items() if logged.issuperset(metric.needs)}
    assert free >= {
        "context_present",
        "id_repeats",
        "context_relevance_token_precision",
        "context_relevance_perplexity",
        "context_relevance_perplexity_mean",
        "faithfulness_kprecision",
        "faithfulness_nli",
        "answer_reward",
        "answer_length",
        "answer_length_characters",
        "empty_answer",
        "refusal",
        "language_match",
        "citation_validity",
        "repeated_text",
        "latency",
        "cost",
        "faithfulness_claims",
        "faithfulness_claims_apart",
        "groundedness",
        "answer_relevance_sentences",
        "refusal_judged",
        "context_relevance_share",
        "context_precision_question",
        "context_utilization",
        "answer_relevancy",
        "context_relevance_sentences",
        "aspect_harmfulness",
        "aspect_maliciousness",
        "aspect_correctness",
        "aspect_coherence",
        "aspect_conciseness",
    }


CELLS = {str: TEXTS, list: st.lists(TEXTS, max_size=4), int: st.integers(-1), float: st.floats()}
ROWS = st.fixed_dictionaries({column: CELLS[type(GOOD[column])] for column in GOOD})


@given(ROWS)
def test_values_are_in_their_range(row: dict[str, Any]) -> None:
    """Every value of every metric and form is in the range that its description gives, and every null has a reason."""
    scores = compute(frame(row), FORMS)
    for name in FORMS:
        value, reason = scores[name].iloc[0], scores[f"{name}_reason"].iloc[0]
        about = metric_named(name).about
        assert not about.binary or value in (0, 1) or np.isnan(value)
        assert about.low <= value <= about.high + 1e-12 or (np.isnan(value) and reason)


@given(ROWS)
def test_a_cut_at_all_that_came_back_is_the_plain_metric(row: dict[str, Any]) -> None:
    """@k with k = n equals the metric without @k; NDCG's ideal is cut too, so there k reaches to the last gold id."""
    for name in PLAIN:
        if "k" in options_of(REGISTRY[name]):
            column = "context_ids" if "context_ids" in REGISTRY[name].needs else "contexts"
            k = max(1, len(row[column]), len(row["reference_context_ids"]) if name == "ndcg" else 0)
            scores = compute(frame(row), [name, f"{name}@{k}"])
            assert scores[name].equals(scores[f"{name}@{k}"].rename(name))
            assert scores[f"{name}_reason"].equals(scores[f"{name}@{k}_reason"].rename(f"{name}_reason"))


GROW_WITH_CONTEXTS = (
    "context_present", "facts_recall", "facts_mrr", "facts_mrr_first", "facts_longest_run", "facts_recall_statement",
    "context_relevance_token_precision", "faithfulness_kprecision", "id_recall", "hit_rate", "map",
    "non_llm_context_recall",
)  # fmt: skip
GROW_WITH_REFERENCES = (
    "answer_correctness_token_recall", "answer_correctness_token_precision", "answer_correctness_token_f1",
    "rouge1_fmeasure", "rougeL_fmeasure", "chrf", "string_similarity_levenshtein", "exact_match", "string_presence",
)  # fmt: skip


@given(ROWS, TEXTS)
def test_one_more_context_or_reference_never_lowers_a_value(row: dict[str, Any], more: str) -> None:
    """What was supported stays supported, what was found stays found, and the best reference stays at least as good."""
    wider = row | {column: [*row[column], more] for column in ("contexts", "context_ids", "reference_answers")}
    for name in (*GROW_WITH_CONTEXTS, *GROW_WITH_REFERENCES):
        before, after = metric_named(name).score(frame(row, wider)).values
        assert not after < before - 1e-12, name


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_all_contexts_support_at_least_what_the_best_one_does(answer: str, contexts: list[str]) -> None:
    """Joined contexts never give less than unitxt's best chunk."""
    row = frame(GOOD | {"answer": in_one_form(answer), "contexts": list(map(in_one_form, contexts))})
    joined, best = FaithfulnessKPrecision().score(row), FaithfulnessKPrecision(aggregation="max").score(row)
    assert joined.values.iloc[0] >= best.values.iloc[0] or joined.reasons.iloc[0] == "no_text_contexts"


@pytest.mark.parametrize("name", ["rougeL_fmeasure", "string_similarity_levenshtein"])
def test_two_giant_texts_are_null_and_not_a_giant_wait(name: str) -> None:
    """What would take minutes for one row is not begun."""
    words = [f"w{number}" for number in range(100_000)]
    row = GOOD | {"answer": " ".join(words), "reference_answers": [" ".join(reversed(words))]}
    scores = compute(frame(row, GOOD), [name])
    assert scores[f"{name}_reason"].to_list() == ["too_long", None]


def test_metrics_with_one_matcher_look_for_facts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever metrics ask, facts are looked for once in the contexts of a row, and values stay.

    `facts_places` are looked for again, in a list of the contexts that hold a fact.
    """
    names = [name for name, one in REGISTRY.items() if name.startswith("facts_") and one.judge == "lexical"]
    rows = frame(GOOD, GOOD | {"contexts": ["Snow is white"]})
    alone = pd.concat([compute(rows, [name]) for name in [*names, "facts_recall@1"]], axis=1)
    gc.collect()
    held = len(matcher._FINDERS)
    made: list[Any] = []
    of = CanonicalLines.of
    monkeypatch.setattr(CanonicalLines, "of", lambda contexts: made.append(contexts) or of(contexts))
    assert compute(rows, [*names, "facts_recall@1"]).equals(alone)
    assert sum(isinstance(contexts, tuple) for contexts in made) == len(rows)
    gc.collect()
    assert len(matcher._FINDERS) == held, "what was found is forgotten with the frame"


@pytest.mark.parametrize(
    ("facts", "contexts"),
    [
        (["a"] * 10_000, ["a " * 250] * 2_000),
        ([f"absent {number}" for number in range(10_000)], ["a " * 250] * 2_000),
        (["a"] * 10_000, ["a"] * 2_000),
        ([f"absent {number}" for number in range(5_000)], ["a " * 500_000]),
    ],
)
def test_very_many_facts_are_null_and_not_a_giant_wait(facts: list[str], contexts: list[str]) -> None:
    """Steps are counted before they are taken: facts times characters, and contexts, of which no one may be short."""
    names = [name for name in FORMS if name.startswith("facts_") and not name.startswith("facts_ndcg_exact")]
    scores = compute(frame(GOOD | {"facts": facts, "contexts": contexts}, GOOD), names)
    for name in names:
        assert scores[f"{name}_reason"].to_list() == ["too_long", None], name


def test_a_long_missed_fact_in_long_contexts_is_null_for_the_longest_run() -> None:
    """Each word of a missed fact costs a search of all contexts; the plain recall is one search."""
    fact = " ".join(f"w{number}" for number in range(1_000))
    scores = compute(
        frame(GOOD | {"facts": [fact], "contexts": ["word " * 200_000]}), ["facts_longest_run", "facts_recall"]
    )
    assert scores["facts_longest_run_reason"].to_list() == ["too_long"]
    assert scores["facts_recall"].to_list() == [0.0]
