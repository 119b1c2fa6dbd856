"""Answer reward and faithfulness by inference."""

from __future__ import annotations

import math

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from evaluator.metrics import AnswerReward, FaithfulnessNli, ModelUnavailableError, compute, metric_named
from evaluator.models import Models

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
SENTENCES = ["The Iseran pass is the highest.", "It is closed in winter.", "Nobody knows why."]
CONTEXTS = ["Alpine passes close in winter because of snow.", "The Col de l'Iseran is the highest paved pass."]


def logits(model: str, first: str, second: str) -> list[float]:
    """The model's own answer for one pair, as transformers gives it."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    classifier = AutoModelForSequenceClassification.from_pretrained(model).eval()
    with torch.inference_mode():
        found: list[float] = classifier(**tokenizer(first, second, return_tensors="pt")).logits[0].tolist()
    return found


def entailment(models: Models, premise: str, claim: str) -> float:
    return float(torch.tensor(logits(models.entailment, premise, claim)).double().softmax(0)[1])


def test_a_reward_is_the_sigmoid_of_the_models_logit(models: Models) -> None:
    """Question and answer are the pair, in this order."""
    frame = pd.DataFrame({"question": ["Which pass?"], "answer": [SENTENCES[0]]})
    logit = logits(models.answer_reward, "Which pass?", SENTENCES[0])[0]
    assert AnswerReward(models=models).score(frame).values[0] == pytest.approx(1 / (1 + math.exp(-logit)), rel=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(TEXTS.filter(str.strip), TEXTS), min_size=1, max_size=8))
def test_a_reward_does_not_depend_on_the_other_rows(models: Models, rows: list[tuple[str, str]]) -> None:
    """A batch of one gives what a batch of many gives, to 1e-5, and always from 0 to 1."""
    frame = pd.DataFrame({"question": [q for q, _ in rows], "answer": [a for _, a in rows]})
    metric = AnswerReward(models=models)
    together = metric.score(frame).values
    alone = [metric.score(frame.iloc[[index]]).values.iloc[0] for index in range(len(rows))]
    assert together.tolist() == pytest.approx(alone, abs=1e-5)
    assert together.between(0, 1).all()


def test_an_empty_answer_has_a_reward_and_a_remark(models: Models) -> None:
    """The model says something of it all the same; a missing answer or question is null."""
    frame = pd.DataFrame({"question": ["q", "q", None], "answer": ["", None, "a"]})
    scores = compute(frame, [AnswerReward(models=models)])
    assert scores["answer_reward_reason"].tolist() == ["no_answer", "no_answer", "no_question"]
    assert scores["answer_reward"].notna().tolist() == [True, False, False]


def test_a_cross_encoder_reads_answer_and_reference_together(models: Models) -> None:
    """The sigmoid of its logit for the pair, of several references the greatest; silence is 0."""
    pairs = [logits(models.cross_encoder, SENTENCES[0], reference)[0] for reference in CONTEXTS]
    frame = pd.DataFrame(
        {"answer": [SENTENCES[0], " ", None, "a"], "reference_answers": [CONTEXTS, ["r"], ["r"], None]}
    )
    scores = compute(frame, ["semantic_similarity_cross"], models)
    assert scores["semantic_similarity_cross"][0] == pytest.approx(1 / (1 + math.exp(-max(pairs))), rel=1e-5)
    assert scores["semantic_similarity_cross"][1] == 0.0
    assert scores["semantic_similarity_cross_reason"].tolist() == [None, "no_answer", "no_answer", "no_ground_truth"]
    assert metric_named("semantic_similarity_cross", models).version == "1-small-cross"
    with pytest.raises(ModelUnavailableError, match="is no cross-encoder of similarity: it has 3 outputs"):
        compute(frame, ["semantic_similarity_cross"], models.model_copy(update={"cross_encoder": models.entailment}))


@pytest.mark.slow
def test_a_giant_answer_is_cut_and_the_row_says_so(models: Models) -> None:
    """A megabyte is read up to what the model takes."""
    frame = pd.DataFrame({"question": ["q"], "answer": ["word " * 200_000]})
    assert AnswerReward(models=models).score(frame).details.iloc[0] == {"cut": True}


@pytest.mark.parametrize("contexts", [CONTEXTS, CONTEXTS[::-1]])
def test_faithfulness_is_the_mean_over_sentences_of_the_best_context(models: Models, contexts: list[str]) -> None:
    """Each sentence takes the context that entails it most; its rank is in the details."""
    frame = pd.DataFrame({"answer": [" ".join(SENTENCES)], "contexts": [contexts]})
    scores = FaithfulnessNli(models=models).score(frame)
    best = [max((entailment(models, context, claim), context) for context in contexts) for claim in SENTENCES]
    assert scores.values.iloc[0] == pytest.approx(sum(probability for probability, _ in best) / 3, rel=1e-5)
    sentences = scores.details.iloc[0]["sentences"]
    assert [(one["sentence"], contexts[one["context"]]) for one in sentences] == [
        (claim, context) for claim, (_, context) in zip(SENTENCES, best, strict=True)
    ]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3)), min_size=1, max_size=5), st.randoms())
def test_faithfulness_knows_no_order_of_contexts_and_no_other_rows(
    models: Models, rows: list[tuple[str, list[str]]], random: object
) -> None:
    """A batch of one gives what a batch of many gives; contexts in another order or twice make no difference."""
    metric = FaithfulnessNli(models=models)
    frame = pd.DataFrame({"answer": [a for a, _ in rows], "contexts": [c for _, c in rows]})
    turned = frame.assign(contexts=[[*reversed(c), *c] for c in frame["contexts"]])
    together = metric.score(frame).values.fillna(-1)
    alone = [metric.score(turned.iloc[[index]]).values.fillna(-1).iloc[0] for index in range(len(rows))]
    assert together.tolist() == pytest.approx(alone, abs=1e-5)


def test_a_long_context_is_read_in_windows(models: Models) -> None:
    """What a context says after the model's limit is read too: another end is another value."""
    long = "Filler text without any meaning. " * 60
    ends = [*CONTEXTS, *SENTENCES, "Wholly other words!", "42"]
    frame = pd.DataFrame({"answer": [SENTENCES[1]] * len(ends), "contexts": [[long + end] for end in ends]})
    assert FaithfulnessNli(models=models).score(frame).values.nunique() > 1


def test_the_odd_rows(models: Models) -> None:
    """Nothing can be said without an answer, a claim or a context."""
    frame = pd.DataFrame(
        {"answer": ["", None, "...", "A.", "A.", "A. " * 9_000 + "B."], "contexts": [["c"], ["c"], ["c"], [], None, 1]}
    )
    assert compute(frame, [FaithfulnessNli(models=models)])["faithfulness_nli_reason"].tolist() == [
        "no_answer", "no_answer", "no_claims", "no_contexts", "no_contexts", "unreadable_contexts",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (AnswerReward, "is no reward model: it has 3 outputs"),
        (FaithfulnessNli, "has no label `entailment` but label_0"),
    ],
)
def test_a_model_of_another_kind_is_an_error(models: Models, metric: type, message: str) -> None:
    """A model that loads but cannot do the work is as good as missing."""
    swapped = models.model_copy(update={"answer_reward": models.entailment, "entailment": models.answer_reward})
    frame = pd.DataFrame({"question": ["q"], "answer": ["a"], "contexts": [["c"]]})
    with pytest.raises(ModelUnavailableError, match=message):
        metric(models=swapped).score(frame)
