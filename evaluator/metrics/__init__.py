"""RAG metrics as functions over a pandas frame whose columns have the field's names.

Columns: `question` and `answer` (text); `contexts`, `context_ids`, `reference_answers`, `reference_contexts`,
`reference_context_ids` and `facts` (lists of text, contexts in rank order). A metric reads those that it `needs`.
"""

from evaluator.metrics.citation import ABSENT, fact_ranks
from evaluator.metrics.context import ContextPresent
from evaluator.metrics.correctness import AnswerCorrectnessTokenRecall
from evaluator.metrics.facts import FactsRecall
from evaluator.metrics.faithfulness import FaithfulnessKPrecision
from evaluator.metrics.metric import Metric, MissingColumnError, Score, Scores
from evaluator.metrics.registry import REGISTRY, UnknownMetricError, compute, metric_named, needs_ground_truth
from evaluator.metrics.tokens import tokens

__all__ = [
    "ABSENT",
    "REGISTRY",
    "AnswerCorrectnessTokenRecall",
    "ContextPresent",
    "FactsRecall",
    "FaithfulnessKPrecision",
    "Metric",
    "MissingColumnError",
    "Score",
    "Scores",
    "UnknownMetricError",
    "compute",
    "fact_ranks",
    "metric_named",
    "needs_ground_truth",
    "tokens",
]
