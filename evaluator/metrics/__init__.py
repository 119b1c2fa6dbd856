"""RAG metrics as functions over a pandas frame whose columns have the field's names.

Columns: `question` and `answer` (text); `contexts`, `context_ids`, `reference_answers`, `reference_contexts`,
`reference_context_ids` and `facts` (lists of text, contexts in rank order); `duration_ms`, `price` and
`deployment_price` (numbers). A metric reads those that it `needs`.
"""

from evaluator.metrics.aggregation import Aggregation, aggregate
from evaluator.metrics.answer_correctness import AnswerCorrectnessClaims
from evaluator.metrics.answer_relevancy import AnswerRelevancy
from evaluator.metrics.answer_reward import AnswerReward
from evaluator.metrics.aspects import AspectCritique
from evaluator.metrics.bleu import Bleu
from evaluator.metrics.chrf import Chrf
from evaluator.metrics.citation_validity import CitationValidity, citations
from evaluator.metrics.claims import (
    ClaimsF1,
    CorrectnessClaims,
    CoverageClaims,
    FactualCorrectness,
    FaithfulnessClaims,
    Groundedness,
    Hallucination,
    SelfKnowledge,
)
from evaluator.metrics.claims_of_contexts import (
    ContextPrecision,
    ContextPrecisionQuestion,
    ContextPrecisionUnranked,
    ContextRecall,
    ContextRelevanceShare,
    ContextUtilization,
    ContextUtilizationClaims,
    NoiseSensitivityIrrelevant,
    NoiseSensitivityRelevant,
)
from evaluator.metrics.combination import Combination, CombinationError, combination
from evaluator.metrics.context import ContextPresent
from evaluator.metrics.context_entities import ContextEntityRecall
from evaluator.metrics.correctness import (
    AnswerCorrectnessTokenF1,
    AnswerCorrectnessTokenPrecision,
    AnswerCorrectnessTokenRecall,
)
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.embedding_matcher import EMBEDDING, EmbeddingMatcher
from evaluator.metrics.exact import ExactMatch, StringPresence
from evaluator.metrics.fact_order import FactsMrr, FactsMrrFirst, FactsNdcg
from evaluator.metrics.fact_sets import FactsF1, FactsPrecision, FactsRecall
from evaluator.metrics.faithfulness import FaithfulnessKPrecision
from evaluator.metrics.faithfulness_nli import FaithfulnessNli
from evaluator.metrics.form import AnswerLength, EmptyAnswer
from evaluator.metrics.highlights import highlights
from evaluator.metrics.id_order import ContextCorrectness, MeanAveragePrecision, MeanAveragePrecisionTrec, Ndcg
from evaluator.metrics.id_repeats import IdRepeats
from evaluator.metrics.id_sets import HitRate, IdF1, IdPrecision, IdRecall, RPrecision
from evaluator.metrics.judged_answer import AnswerRelevanceSentences, RefusalJudged
from evaluator.metrics.language_match import LanguageMatch
from evaluator.metrics.languages import Language, language_of
from evaluator.metrics.llm_metric import JudgeUnavailableError, LlmMetric
from evaluator.metrics.matchers import CITATION, EXACT, TRIMMED, CitationMatcher, ExactMatcher, fact_ranks
from evaluator.metrics.matching import ABSENT, FactMatcher, FactsFound
from evaluator.metrics.measured import MEASURED_COLUMNS, Cost, Latency
from evaluator.metrics.metric import Metric, MissingColumnError, Score, Scores
from evaluator.metrics.near_misses import CommonRun, FactsLongestRun, longest_common_run
from evaluator.metrics.needed_sentences import ContextRelevanceSentences
from evaluator.metrics.perplexity import ContextRelevancePerplexity
from evaluator.metrics.ragas_score import left_out, ragas_score
from evaluator.metrics.reference_contexts import NonLlmContextPrecision, NonLlmContextRecall
from evaluator.metrics.refusal import Refusal
from evaluator.metrics.registry import ALIASES, REGISTRY, UnknownMetricError, compute, metric_named, needs_ground_truth
from evaluator.metrics.relevance import ContextRelevanceTokenPrecision
from evaluator.metrics.repeated_text import RepeatedText
from evaluator.metrics.retrieval_columns import RetrievalColumns, columns_of, retrieval_columns
from evaluator.metrics.rouge import Rouge
from evaluator.metrics.semantic_similarity import SemanticSimilarity, cosine
from evaluator.metrics.sentence_split import sentences
from evaluator.metrics.similarity import StringSimilarity
from evaluator.metrics.statement import STATEMENT, StatementMatcher
from evaluator.metrics.tokens import tokens, tokens_of_any_script
from evaluator.models import Models, ModelUnavailableError

__all__ = [
    "ABSENT",
    "ALIASES",
    "CITATION",
    "EMBEDDING",
    "EXACT",
    "MEASURED_COLUMNS",
    "REGISTRY",
    "STATEMENT",
    "TRIMMED",
    "Aggregation",
    "AnswerCorrectnessClaims",
    "AnswerCorrectnessTokenF1",
    "AnswerCorrectnessTokenPrecision",
    "AnswerCorrectnessTokenRecall",
    "AnswerLength",
    "AnswerRelevanceSentences",
    "AnswerRelevancy",
    "AnswerReward",
    "AspectCritique",
    "Bleu",
    "Chrf",
    "CitationMatcher",
    "CitationValidity",
    "ClaimsF1",
    "Combination",
    "CombinationError",
    "CommonRun",
    "ContextCorrectness",
    "ContextEntityRecall",
    "ContextPrecision",
    "ContextPrecisionQuestion",
    "ContextPrecisionUnranked",
    "ContextPresent",
    "ContextRecall",
    "ContextRelevancePerplexity",
    "ContextRelevanceSentences",
    "ContextRelevanceShare",
    "ContextRelevanceTokenPrecision",
    "ContextUtilization",
    "ContextUtilizationClaims",
    "CorrectnessClaims",
    "Cost",
    "CoverageClaims",
    "Description",
    "EmbeddingMatcher",
    "EmptyAnswer",
    "ExactMatch",
    "ExactMatcher",
    "FactMatcher",
    "FactsF1",
    "FactsFound",
    "FactsLongestRun",
    "FactsMrr",
    "FactsMrrFirst",
    "FactsNdcg",
    "FactsPrecision",
    "FactsRecall",
    "FactualCorrectness",
    "FaithfulnessClaims",
    "FaithfulnessKPrecision",
    "FaithfulnessNli",
    "Groundedness",
    "Hallucination",
    "HitRate",
    "IdF1",
    "IdPrecision",
    "IdRecall",
    "IdRepeats",
    "JudgeUnavailableError",
    "Language",
    "LanguageMatch",
    "Latency",
    "LlmMetric",
    "MeanAveragePrecision",
    "MeanAveragePrecisionTrec",
    "Metric",
    "MissingColumnError",
    "ModelUnavailableError",
    "Models",
    "Ndcg",
    "NoiseSensitivityIrrelevant",
    "NoiseSensitivityRelevant",
    "NonLlmContextPrecision",
    "NonLlmContextRecall",
    "OddCases",
    "RPrecision",
    "Refusal",
    "RefusalJudged",
    "RepeatedText",
    "RetrievalColumns",
    "Rouge",
    "Score",
    "Scores",
    "SelfKnowledge",
    "SemanticSimilarity",
    "StatementMatcher",
    "StringPresence",
    "StringSimilarity",
    "UnknownMetricError",
    "aggregate",
    "citations",
    "columns_of",
    "combination",
    "compute",
    "cosine",
    "fact_ranks",
    "highlights",
    "language_of",
    "left_out",
    "longest_common_run",
    "metric_named",
    "needs_ground_truth",
    "ragas_score",
    "retrieval_columns",
    "sentences",
    "tokens",
    "tokens_of_any_script",
]
