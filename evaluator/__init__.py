"""The evaluator: scores what is new in the lake, and turns liked answers into ground truth."""

from evaluator.service import Evaluator, Failure, PassResult
from evaluator.settings import EvaluatorSettings

__all__ = ["Evaluator", "EvaluatorSettings", "Failure", "PassResult"]
