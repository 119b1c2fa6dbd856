"""Local models of Hugging Face behind some metrics: found on this machine, loaded once, run in batches.

Importing this package does not import torch.
"""

from evaluator.models.classifier import TextClassifier, text_classifier
from evaluator.models.encoder import SentenceEncoder, sentence_encoder, unit_vectors
from evaluator.models.loading import ModelUnavailableError
from evaluator.models.seq2seq import TargetLikelihood, target_likelihood
from evaluator.models.settings import DEFAULT_MODELS, Models, Role

__all__ = [
    "DEFAULT_MODELS",
    "ModelUnavailableError",
    "Models",
    "Role",
    "SentenceEncoder",
    "TargetLikelihood",
    "TextClassifier",
    "sentence_encoder",
    "target_likelihood",
    "text_classifier",
    "unit_vectors",
]
