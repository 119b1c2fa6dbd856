"""Anchors: answers that are scored again and again, to see whether a judge or a model has changed."""

from evaluator.anchors.rescoring import Rescoring
from evaluator.anchors.settings import AnchorSettings

__all__ = ["AnchorSettings", "Rescoring"]
