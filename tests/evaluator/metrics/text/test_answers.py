"""Answers against references and contexts by their words: the worked examples, and the reference packages' numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import Bleu, ExactMatch, FaithfulnessKPrecision, Metric, compute, metric_named
from evaluator.metrics.language.porter_stemmer import stem

PEERS = json.loads((Path(__file__).parents[1] / "peers.json").read_text(encoding="utf-8"))
AGAINST_REFERENCES = (
    "answer_correctness_token_recall", "answer_correctness_token_precision", "answer_correctness_token_f1",
    "rouge1_precision", "rouge1_recall", "rouge1_fmeasure", "rougeL_precision", "rougeL_recall", "rougeL_fmeasure",
    "bleu", "chrf", "string_similarity_levenshtein", "string_similarity_hamming", "string_similarity_jaro",
    "string_similarity_jaro_winkler", "exact_match", "string_presence",
)  # fmt: skip
TEXTS = st.text(alphabet=st.sampled_from("ab .the\n你ガ"), max_size=20)


def value(metric: Metric | str, **row: Any) -> float:
    named = metric_named(metric) if isinstance(metric, str) else metric
    frame = pd.DataFrame({column: pd.Series([cell], dtype=object) for column, cell in row.items()})
    return float(named.score(frame).values.iloc[0])


def against(metric: Metric | str, answer: Any, *references: Any) -> float:
    return value(metric, answer=answer, reference_answers=list(references))


@pytest.mark.parametrize(("word", "stemmed"), PEERS["stems"].items())
def test_a_stem_is_nltks(word: str, stemmed: str) -> None:
    """ROUGE's reference package stems with NLTK's extensions of Porter's rules."""
    if len(word) > 3:
        assert stem(word) == stemmed


@pytest.mark.parametrize("record", PEERS["texts"])
def test_numbers_are_those_of_the_reference_packages(record: dict[str, Any]) -> None:
    """sacrebleu and rouge_score on marks, numbers, several references, other scripts and empty sides.

    The 0 of rouge_score for another script than Latin is null.
    """
    expected = dict(record["expected"])
    if not "".join([record["answer"], *record["references"]]).isascii():
        expected = {name: value for name, value in expected.items() if not name.startswith("rouge")}
    corpus = expected.pop("bleu_corpus")
    ours = {name: against(name, record["answer"], *record["references"]) for name in expected}
    assert ours == pytest.approx(expected, abs=1e-12)
    assert against(Bleu(effective_order=False), record["answer"], *record["references"]) == pytest.approx(corpus)


@pytest.mark.parametrize(
    ("answer", "references", "reason"),
    [
        ("Возврат в течение тридцати дней.", ["Возврат в течение тридцати дней."], "not_latin"),
        ("你好", ["你好"], "not_latin"),
        ("Επιστροφή σε 30 ημέρες", ["30 days"], "not_latin"),
        ("30 days", ["30 ημέρες"], "not_latin"),
        ("30 days", ["30 ημέρες", "30 days"], None),
        ("Возврат через REST API gateway", ["REST API gateway"], None),
        ("École à Orléans", ["École à Orléans"], None),
        ("", ["你好"], "no_answer"),
    ],
)
def test_rouge_of_another_script_is_null_and_says_so(answer: str, references: list[str], reason: str | None) -> None:
    """The package knows ASCII words alone; `..._any_script` compares such texts."""
    row = pd.DataFrame({"answer": [answer], "reference_answers": [references]})
    for name in ("rouge1_recall", "rouge1_fmeasure", "rougeL_fmeasure"):
        scores = metric_named(name).score(row)
        assert scores.reasons.iloc[0] == reason
        assert (scores.values.isna().iloc[0]) == (reason == "not_latin")
        assert metric_named(f"{name}_any_script").score(row).values.notna().all()


@pytest.mark.parametrize(
    ("metric", "answer", "references", "expected"),
    [
        ("string_similarity_levenshtein", "kitten", ["sitting"], 1 - 3 / 7),
        ("string_similarity_levenshtein", "", [""], 1.0),
        ("string_similarity_levenshtein", "", ["abc", ""], 1.0),
        ("string_similarity_hamming", "Paris", ["The answer is Paris"], 0.0),
        ("exact_match", "The cat", ["the cat"], 0.0),
        (ExactMatch(normalised=True), "The cat!", ["dog", "cat"], 1.0),
        ("exact_match", "", [""], 1.0),
        ("string_presence", "It is Paris.", ["Rome", "Paris"], 1.0),
        ("string_presence", "It is Paris.", ["", "Rome"], 0.0),
        ("answer_correctness_token_recall", "state-of-the-art", ["state of the art"], 0.0),
        ("answer_correctness_token_recall", "at 3.14", ["314"], 1.0),
        ("rougeL_fmeasure", "running runners ran", ["run runner run"], 2 / 3),
        ("rougeL_fmeasure", "café", ["café"], 1.0),
        ("rougeL_fmeasure_any_script", "你好", ["你好"], 1.0),
        ("rouge1_recall", "one two three", ["one", "one two three four five six"], 1 / 2),
        ("rouge1_fmeasure", "cats", ["cat"], 1.0),
        ("rouge1_fmeasure", "its", ["it"], 0.0),
        ("bleu", "The cat sat", ["The cat sat"], 1.0),
        (Bleu(effective_order=False), "The cat sat", ["The cat sat"], 0.0),
        ("chrf", " ", ["abc"], 0.0),
    ],
)
def test_a_worked_example(metric: Metric | str, answer: str, references: list[str], expected: float) -> None:
    """What the packages' traps are explained with, and the option that leads to the other number."""
    assert against(metric, answer, *references) == pytest.approx(expected)


def test_each_token_measure_takes_its_own_best_reference() -> None:
    """Precision and recall can be 1 by two references where no F1 is."""
    references = "one", "one two three four five six"
    answer = "one two three"
    assert against("answer_correctness_token_precision", answer, *references) == 1.0
    assert against("answer_correctness_token_recall", answer, *references) == 1.0
    assert against("answer_correctness_token_f1", answer, *references) == pytest.approx(2 / 3)


def test_k_precision_joins_the_contexts_and_relevance_takes_the_best() -> None:
    """Three one-word contexts cover a three-word text to 1 together, and to 1/3 each."""
    contexts = ["one", "two", "three"]
    assert value("faithfulness_kprecision", answer="one two three", contexts=contexts) == 1.0
    best = FaithfulnessKPrecision(aggregation="max")
    assert value(best, answer="one two three", contexts=contexts) == pytest.approx(1 / 3)
    relevance = value("context_relevance_token_precision", question="one two three", contexts=contexts)
    assert relevance == pytest.approx(1 / 3)
    assert value("context_relevance_token_precision@1", question="two", contexts=contexts) == 0.0


@pytest.mark.parametrize("name", AGAINST_REFERENCES)
@pytest.mark.parametrize(
    ("answer", "references", "expected", "reason"),
    [
        ("a1", [], None, "no_ground_truth"),
        ("a1", None, None, "no_ground_truth"),
        (None, ["a1"], None, "no_answer"),
        ("", ["a1"], 0.0, "no_answer"),
        (" ", ["b1"], 0.0, "no_answer"),
        ("a1", "a1", None, "unreadable_reference_answers"),
        (["a1"], ["a1"], None, "unreadable_answer"),
        ("a1 b2 c3", ["x", "a1 b2 c3"], 1.0, None),
    ],
)
def test_an_empty_side_is_null_or_zero(
    name: str, answer: Any, references: Any, expected: float | None, reason: str | None
) -> None:
    """No references are null, an empty answer is 0 so that silence cannot lift a mean, and both say why."""
    cells = {"answer": answer, "reference_answers": references}
    frame = pd.DataFrame({column: pd.Series([cell], dtype=object) for column, cell in cells.items()})
    scores = compute(frame, [name])
    found = scores[name].iloc[0]
    assert scores[f"{name}_reason"].iloc[0] == reason
    assert (None if found != found else found) == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("question", "contexts", "expected", "reason"),
    [
        ("one", [], 0.0, "no_contexts"),
        ("one", None, None, "no_contexts"),
        (None, ["one"], None, "no_question"),
        ("", ["one"], 0.0, "no_question"),
        ("one", ["zero", "one"], 1.0, None),
    ],
)
def test_a_question_without_contexts_is_zero(
    question: Any, contexts: Any, expected: float | None, reason: str | None
) -> None:
    """Nothing retrieved covers nothing of the question; what is not known is null."""
    name = "context_relevance_token_precision"
    cells = {"question": question, "contexts": contexts}
    scores = compute(pd.DataFrame({c: pd.Series([v], dtype=object) for c, v in cells.items()}), [name])
    found = scores[name].iloc[0]
    assert (None if found != found else found, scores[f"{name}_reason"].iloc[0]) == (expected, reason)


@given(TEXTS, TEXTS)
def test_a_text_is_itself_and_no_more_than_that(answer: str, reference: str) -> None:
    """An answer is to itself what no other is more, by every measure of likeness that is symmetric."""
    for name in (
        "answer_correctness_token_f1",
        "rougeL_fmeasure_any_script",
        "string_similarity_levenshtein",
        "exact_match",
    ):
        there, back = against(name, answer, reference), against(name, reference, answer)
        assert there == pytest.approx(back)
        assert there <= against(name, answer, answer) + 1e-12 or not answer.strip()


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.randoms())
def test_the_order_of_references_does_not_matter(answer: str, references: list[str], random: Any) -> None:
    """References are a set; only of two with the same F-measure does ROUGE take the first."""
    mixed = references[:]
    random.shuffle(mixed)
    for name in AGAINST_REFERENCES:
        if not name.endswith(("_precision", "_recall")) or name.startswith("answer"):
            expected = pytest.approx(against(name, answer, *references), nan_ok=True)
            assert against(name, answer, *mixed) == expected


def test_the_words_that_stand_in_no_context_are_in_the_details() -> None:
    """As characters of the answer, of all contexts together, at most 200 places; nothing where all is covered."""

    def details(answer: str, *contexts: str, **options: Any) -> dict[str, Any]:
        cells = {"answer": answer, "contexts": list(contexts)}
        frame = pd.DataFrame({name: pd.Series([cell], dtype=object) for name, cell in cells.items()})
        return dict(FaithfulnessKPrecision(**options).score(frame).details.iloc[0])

    assert details("Paris is big, very big.", "Paris", "is very") == {"unsupported": [(9, 13), (19, 23)]}
    assert details("Paris is big", "Paris", "is big", aggregation="max") == {}
    assert details("cat cat", "cat") == {}
    many = details("cat dog " * 1000, "cat")
    assert (len(many["unsupported"]), many["more_unsupported"]) == (200, 800)


@pytest.mark.parametrize(
    ("answer", "context", "expected"),
    [
        ("Der Zins ist 35 Prozent.", "Der Zins ist 3,5 Prozent.", 0.8),
        ("Der Zins ist 3.5 %.", "Der Zins ist 3,5 %.", 1.0),
        ("It is 1000 euros.", "It is 1 000 euros.", 1.0),
        ("It costs €1.000 a year.", "It costs 1000 € a year.", 1.0),
        ("It is -20 degrees.", "It is 20 degrees.", 0.75),
        ("Take 5 mg daily.", "Take 5 g daily.", 0.5),
        ("Open 2024-05-02 on.", "Open 2024-05-01 on.", 2 / 3),
        ("It takes 3-5 days.", "It takes 3–5 days.", 1.0),
    ],
)
def test_k_precision_compares_numbers_by_value(answer: str, context: str, expected: float) -> None:
    """A number in another format is the same, another number is none of the context's; unitxt's own form reads none."""
    assert value("faithfulness_kprecision", answer=answer, contexts=[context]) == pytest.approx(expected)
    as_unitxt = value(FaithfulnessKPrecision(aggregation="max"), answer="It is 3,5.", contexts=["It is 35."])
    assert as_unitxt == 1.0
