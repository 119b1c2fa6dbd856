"""RAG metrics as functions over a pandas frame whose columns have the field's names.

Columns: `question` and `answer` (text); `contexts`, `context_ids`, `reference_answers`, `reference_contexts`,
`reference_context_ids` and `facts` (lists of text, contexts in rank order); `duration_ms`, `price` and
`deployment_price` (numbers); `conversation` (a list of turns). A metric reads those that it `needs`.

The class of each metric of the registry can be imported from here: `from evaluator.metrics import FactsRecall`.
"""

from typing import Any

from evaluator.metrics.aggregation import Aggregation, aggregate, left_out, ragas_score
from evaluator.metrics.cell_frame import CellFrame, scores_of
from evaluator.metrics.cells import UNREADABLE, Turn
from evaluator.metrics.combination import Combination, CombinationError, combination
from evaluator.metrics.compute import compute
from evaluator.metrics.decorator import metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.form.citations import citations
from evaluator.metrics.language.detection import Language, language_of
from evaluator.metrics.language.sentences import sentences
from evaluator.metrics.language.tokens import tokens, tokens_of_any_script
from evaluator.metrics.llm.llm_metric import JudgeUnavailableError, LlmMetric
from evaluator.metrics.matchers.citation import AIDIAL_RAG_EVAL, CITATION, TRIMMED, CitationMatcher, fact_ranks
from evaluator.metrics.matchers.embedding import EMBEDDING, EmbeddingMatcher
from evaluator.metrics.matchers.exact import EXACT, ExactMatcher
from evaluator.metrics.matchers.matcher import ABSENT, FactMatcher, FactsFound
from evaluator.metrics.matchers.statement import STATEMENT, StatementMatcher
from evaluator.metrics.options import option
from evaluator.metrics.plugins import problem_of
from evaluator.metrics.registry import ALIASES, CLASSES, REGISTRY, UnknownMetricError, metric_named, metrics_named
from evaluator.metrics.retrieval.facts_longest_run import CommonRun, longest_common_run
from evaluator.metrics.retrieval.retrieval_columns import RetrievalColumns, columns_of, highlights, retrieval_columns
from evaluator.metrics.scores import (
    MEASURED_COLUMNS,
    Metric,
    MissingColumnError,
    Score,
    Scores,
    is_of_conversations,
    needs_ground_truth,
)
from evaluator.metrics.text.models import cosine
from evaluator.models import Models, ModelUnavailableError

__all__ = [
    "ABSENT",
    "AIDIAL_RAG_EVAL",
    "ALIASES",
    "CITATION",
    "EMBEDDING",
    "EXACT",
    "MEASURED_COLUMNS",
    "REGISTRY",
    "STATEMENT",
    "TRIMMED",
    "UNREADABLE",
    "Aggregation",
    "CellFrame",
    "CitationMatcher",
    "Combination",
    "CombinationError",
    "CommonRun",
    "Description",
    "EmbeddingMatcher",
    "ExactMatcher",
    "FactMatcher",
    "FactsFound",
    "JudgeUnavailableError",
    "Language",
    "LlmMetric",
    "Metric",
    "MissingColumnError",
    "ModelUnavailableError",
    "Models",
    "OddCases",
    "RetrievalColumns",
    "Score",
    "Scores",
    "StatementMatcher",
    "Turn",
    "UnknownMetricError",
    "aggregate",
    "citations",
    "columns_of",
    "combination",
    "compute",
    "cosine",
    "fact_ranks",
    "highlights",
    "is_of_conversations",
    "language_of",
    "left_out",
    "longest_common_run",
    "metric",
    "metric_named",
    "metrics_named",
    "needs_ground_truth",
    "option",
    "problem_of",
    "ragas_score",
    "retrieval_columns",
    "scores_of",
    "sentences",
    "tokens",
    "tokens_of_any_script",
]
__all__.extend(CLASSES)


def __getattr__(name: str) -> Any:
    try:
        return CLASSES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
