"""Context relevance as perplexity: exact, and the same however it is batched."""

from __future__ import annotations

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, T5ForConditionalGeneration

from evaluator.metrics import ContextRelevancePerplexity, compute, metric_named
from evaluator.metrics.retrieval.contexts import PROMPT
from evaluator.models import Models, TargetLikelihood, seq2seq, target_likelihood
from evaluator.models.loading import MOST_TOKENS

QUESTION = "Which pass is the highest?"
CONTEXTS = ["The Col de l'Iseran is the highest paved pass.", "Snow.", "Alpine passes close in winter. " * 8]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


def plain(models: Models, question: str, context: str) -> float:
    """The product of the tokens' probabilities, one token after the other, to the power of 1 / tokens."""
    tokenizer = AutoTokenizer.from_pretrained(models.question_likelihood)
    model = T5ForConditionalGeneration.from_pretrained(models.question_likelihood).eval()
    source = tokenizer(PROMPT + context, return_tensors="pt")["input_ids"]
    target = tokenizer(question)["input_ids"]
    said, product = [model.config.decoder_start_token_id], 1.0
    for token in target:
        with torch.inference_mode():
            logits = model(input_ids=source, decoder_input_ids=torch.tensor([said])).logits
        product *= float(logits[0, -1].double().softmax(0)[token])
        said.append(token)
    return product ** (1 / len(target))


def value(models: Models, question: str, contexts: list[str], name: str = "context_relevance_perplexity") -> float:
    frame = pd.DataFrame({"question": [question], "contexts": [contexts]})
    metric = metric_named(name, models)
    return float(metric.score(frame).values.iloc[0])


@pytest.mark.parametrize("context", CONTEXTS)
def test_it_is_what_a_plain_loop_over_the_tokens_gives(models: Models, context: str) -> None:
    """Teacher forcing in one go is the same as asking for one token after the other, the end included."""
    assert value(models, QUESTION, [context]) == pytest.approx(plain(models, QUESTION, context), rel=1e-4)


def test_a_row_is_its_best_context_or_the_mean_of_the_first_k(models: Models) -> None:
    """The maximum is unitxt's; the mean over the first k is its announced context_relevance@k."""
    each = [value(models, QUESTION, [context]) for context in CONTEXTS]
    close = {"rel": 1e-5}
    assert value(models, QUESTION, CONTEXTS) == pytest.approx(max(each), **close)
    assert value(models, QUESTION, CONTEXTS, "context_relevance_perplexity@2") == pytest.approx(max(each[:2]), **close)
    mean = "context_relevance_perplexity_mean"
    assert value(models, QUESTION, CONTEXTS, mean) == pytest.approx(sum(each) / 3, **close)
    assert value(models, QUESTION, CONTEXTS, f"{mean}@2") == pytest.approx(sum(each[:2]) / 2, **close)
    assert value(models, QUESTION, CONTEXTS, f"{mean}@3") == value(models, QUESTION, CONTEXTS, mean)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(TEXTS.filter(str.strip), st.lists(TEXTS, min_size=1, max_size=4)), min_size=1, max_size=6))
def test_a_row_alone_has_the_value_that_it_has_among_others(models: Models, rows: list[tuple[str, list[str]]]) -> None:
    """Neither padding, nor the order, nor what was computed before changes a value by more than 1e-5."""
    frame = pd.DataFrame({"question": [q for q, _ in rows], "contexts": [c for _, c in rows]})
    together = ContextRelevancePerplexity(models=models).score(frame).values
    alone = [value(models.model_copy(update={"batch_tokens": 1}), *row) for row in rows]
    assert together.tolist() == pytest.approx(alone, rel=1e-5, abs=1e-12, nan_ok=True)


def test_an_encoding_that_is_kept_gives_the_same_value(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """A context that comes again is not encoded again; if there is no room to keep it, it is."""
    loaded = target_likelihood(models).loaded
    encoder = loaded.model.get_encoder()
    encoded: list[int] = []
    encoder.register_forward_hook(lambda *_: encoded.append(1))
    for room, times in ((seq2seq._KEPT_BYTES, 1), (0, 2)):
        monkeypatch.setattr(seq2seq, "_KEPT_BYTES", room)
        encoded.clear()
        likelihood = TargetLikelihood(loaded)
        first = likelihood.geometric_means([("A context.", QUESTION), ("A context.", "Why?")])
        again = likelihood.geometric_means([("A context.", QUESTION), ("A context.", "Why?")])
        assert first == again
        assert len(encoded) == times


def test_the_odd_rows(models: Models) -> None:
    """Nothing retrieved is 0, what is not known is null, and what cannot be read is null with its column."""
    frame = pd.DataFrame(
        {
            "question": [QUESTION, QUESTION, " ", None, ["q"], QUESTION],
            "contexts": [[], None, ["a"], ["a"], ["a"], "a"],
        }
    )
    scores = compute(frame, [ContextRelevancePerplexity(models=models)])
    assert scores["context_relevance_perplexity_reason"].tolist() == [
        "no_contexts", "no_contexts", "no_question", "no_question", "unreadable_question", "unreadable_contexts",
    ]  # fmt: skip
    assert scores["context_relevance_perplexity"].fillna(-1).tolist() == [0, -1, -1, -1, -1, -1]


@pytest.mark.slow
def test_a_giant_context_is_read_up_to_a_limit_and_the_row_says_so(models: Models) -> None:
    """One text of a megabyte must not hold up the others."""
    frame = pd.DataFrame({"question": [QUESTION], "contexts": [["word " * 200_000, "short"]]})
    scores = ContextRelevancePerplexity(models=models).score(frame)
    assert scores.details.iloc[0]["cut_contexts"] == 1
    same = PROMPT + "word " * 200_000, PROMPT + "word " * (MOST_TOKENS * 5)
    (one, other), _ = target_likelihood(models).geometric_means([(text, QUESTION) for text in same])
    assert one == other


def test_reduced_precision_is_another_version_with_nearly_the_same_values(models: Models) -> None:
    """Values of bfloat16 are never compared with values of float32."""
    reduced = models.model_copy(update={"dtype": "bfloat16"})
    exact, rough = ContextRelevancePerplexity(models=models), ContextRelevancePerplexity(models=reduced)
    assert (exact.version, rough.version) == ("2-small-t5", "2-small-t5-bfloat16")
    assert value(reduced, QUESTION, CONTEXTS) == pytest.approx(value(models, QUESTION, CONTEXTS), rel=0.1)
    assert value(reduced, QUESTION, CONTEXTS) != value(models, QUESTION, CONTEXTS)
