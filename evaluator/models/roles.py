"""The runner of each role's model: one a loaded model, so that what it keeps of texts is shared by all that ask."""

from __future__ import annotations

from functools import cache

from evaluator.models.classifier import TextClassifier
from evaluator.models.encoder import SentenceEncoder
from evaluator.models.loading import LoadedModel, load
from evaluator.models.seq2seq import TargetLikelihood
from evaluator.models.settings import Models, Role

_likelihood_of = cache(TargetLikelihood)


def target_likelihood(models: Models) -> TargetLikelihood:
    """Give the model of role `question_likelihood`; raises ModelUnavailableError."""
    return _likelihood_of(load(models, "question_likelihood"))


def sentence_encoder(models: Models) -> SentenceEncoder:
    """Give the model of role `sentence_encoder`; raises ModelUnavailableError."""
    return _encoder_of(load(models, "sentence_encoder"))


def text_classifier(models: Models, role: Role) -> TextClassifier:
    """Give the model of a role that classifies texts or pairs of texts; raises ModelUnavailableError."""
    return TextClassifier(load(models, role))


@cache
def _encoder_of(loaded: LoadedModel) -> SentenceEncoder:
    return SentenceEncoder.of(loaded)
