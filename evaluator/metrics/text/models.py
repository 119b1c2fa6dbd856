"""Metrics of the answer's text by a model: whether it means what a reference does, and whether people would like it."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

import numpy as np
import numpy.typing as npt

from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.model_metric import model_metric
from evaluator.metrics.scores import Score, ScoredBy
from evaluator.metrics.text.reference_metric import odd_cases
from evaluator.models import Models, ModelUnavailableError, Role, sentence_encoder, text_classifier
from lake.spec.vocabulary import UnscoredReason


def _rewards(models: Models, pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[float, bool]]:
    return _sigmoids(models, "answer_reward", "reward model", pairs)


def _similarities(models: Models, pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[float, bool]]:
    return _sigmoids(models, "cross_encoder", "cross-encoder of similarity", pairs)


def _sigmoids(models: Models, role: Role, what: str, pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[float, bool]]:
    """Return the sigmoid of the model's one logit for each pair, and whether the pair was cut."""
    classifier = text_classifier(models, role)
    if len(classifier.labels) != 1:
        raise ModelUnavailableError(
            f"model {models.named(role)!r} is no {what}: it has {len(classifier.labels)} outputs, not "
            f"one; set evaluator.models.{role} to one that has"
        )
    logits, cut = classifier.logits(pairs)
    return [(_sigmoid(float(logit)), is_cut) for logit, is_cut in zip(logits[:, 0], cut, strict=True)]


def _sigmoid(logit: float) -> float:
    # exp of a large number overflows, of a small one it does not.
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


@model_metric(
    Description(
        asks="Would people prefer this answer to another one?",
        formula="1 / (1 + exp(-logit(question, answer)))",
        source="unitxt (metrics.rag.reward: answer reward), OpenAssistant/reward-model-deberta-v3-large-v2",
        odd_cases=OddCases(empty_answer="what the model says of it, with `no_answer`; null for a missing cell"),
    ),
    needs=("question", "answer"),
    role="answer_reward",
    run=_rewards,
)
def answer_reward(
    question: str | None, answer: str | None
) -> Generator[list[tuple[str, str]], list[tuple[float, bool]], Score]:
    """Sigmoid of the one logit of a reward model for (question, answer); 0 to 1, higher is better.

    Such a model is trained to compare two answers to one question: as an absolute number it is not calibrated. A pair
    that is longer than the model reads is cut, the longer text first, and `cut` in the details says so.
    """
    if question is None or not question.strip():
        return Score(None, UnscoredReason.NO_QUESTION)
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    ((value, is_cut),) = yield [(question, answer)]
    return Score(value, None if answer.strip() else UnscoredReason.NO_ANSWER, {"cut": True} if is_cut else {})


def cosine(one: npt.ArrayLike, other: npt.ArrayLike) -> float | None:
    """Return the cosine of two vectors, -1 to 1; None where one of them is 0."""
    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    lengths = float(np.linalg.norm(first)) * float(np.linalg.norm(second))
    return min(max(float(first @ second) / lengths, -1.0), 1.0) if lengths else None


def _cosines(models: Models, pairs: Sequence[tuple[str, str]]) -> Sequence[float | None]:
    encoder = sentence_encoder(models)
    distinct = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = dict(zip(distinct, encoder.vectors(distinct), strict=True))
    return [cosine(vectors[one], vectors[other]) for one, other in pairs]


@model_metric(
    Description(
        asks="Does the answer mean what a reference answer means?",
        formula="max over references: e(answer) · e(reference) / (|e(answer)| |e(reference)|)",
        source="ragas 0.4.3 (SemanticSimilarity)",
        odd_cases=odd_cases("0.0 with `no_answer`, null with it for a missing cell"),
        low=-1.0,
        disagreement="ragas embeds an empty answer as one space and so gives it some number; silence is 0 here.",
        aliases=("answer_similarity",),
    ),
    needs=("answer", "reference_answers"),
    role="sentence_encoder",
    run=_cosines,
    judge=ScoredBy.EMBEDDING,
)
def semantic_similarity(
    answer: str | None, references: Sequence[str] | None
) -> Generator[list[tuple[str, str]], list[float | None], Score]:
    """Cosine of the embeddings of answer and reference, of several references the best; -1 to 1, higher is better.

    Any sentence encoder serves (a bi-encoder, not a cross-encoder). Of a text longer than the encoder reads only the
    beginning counts. Texts that contradict each other about the same thing are similar.
    """
    if not references:
        return Score(None, UnscoredReason.NO_GROUND_TRUTH)
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if not answer.strip():
        return Score(0.0, UnscoredReason.NO_ANSWER)
    found = yield [(answer, reference) for reference in references]
    known = [value for value in found if value is not None]
    return Score(max(known)) if known else Score(None, UnscoredReason.ZERO_VECTOR)


@model_metric(
    Description(
        asks="Does the answer mean what a reference answer means, by a model that reads both together?",
        formula="max over references: 1 / (1 + exp(-output of the model for (answer, reference)))",
        source="RAGAS (answer similarity with a cross-encoder); sentence-transformers (CrossEncoder of STS-B)",
        odd_cases=odd_cases("0.0 with `no_answer`, null with it for a missing cell"),
        disagreement="RAGAS 0.4.3 makes 1 or 0 of it by a threshold; here it is the number, as the cosine is.",
    ),
    needs=("answer", "reference_answers"),
    role="cross_encoder",
    run=_similarities,
)
def semantic_similarity_cross(
    answer: str | None, references: Sequence[str] | None
) -> Generator[list[tuple[str, str]], list[tuple[float, bool]], Score]:
    """How alike a cross-encoder finds answer and reference, of several references the best; 0 to 1, higher is better.

    It reads both texts together, and so tells apart what the cosine of two embeddings does not, at the price of a run
    of the model for each pair. Any sequence classifier with one output serves. A pair that is longer than the model
    reads is cut, the longer text first, and `cut` in the details says so.
    """
    if not references:
        return Score(None, UnscoredReason.NO_GROUND_TRUTH)
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if not answer.strip():
        return Score(0.0, UnscoredReason.NO_ANSWER)
    value, is_cut = max((yield [(answer, reference) for reference in references]))
    return Score(value, None, {"cut": True} if is_cut else {})
