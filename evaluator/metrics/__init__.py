"""RAG metrics as functions over a pandas frame whose columns have the field's names.

Columns: `question` and `answer` (text); `contexts`, `context_ids`, `reference_answers`, `reference_contexts`,
`reference_context_ids` and `facts` (lists of text, contexts in rank order); `duration_ms`, `price` and
`deployment_price` (numbers). A metric reads those that it `needs`.
"""

from evaluator.metrics.aggregation import Aggregation, aggregate
from evaluator.metrics.combination import Combination, CombinationError, combination
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.form.answer_length import AnswerLength, EmptyAnswer
from evaluator.metrics.form.citation_validity import CitationValidity, citations
from evaluator.metrics.form.language_match import LanguageMatch
from evaluator.metrics.form.measured import MEASURED_COLUMNS, Cost, Latency
from evaluator.metrics.form.refusal import Refusal
from evaluator.metrics.form.repeated_text import RepeatedText
from evaluator.metrics.language.detection import Language, language_of
from evaluator.metrics.language.sentences import sentences
from evaluator.metrics.language.tokens import tokens, tokens_of_any_script
from evaluator.metrics.llm.answer_claims import (
    ClaimsF1,
    CorrectnessClaims,
    CoverageClaims,
    FactualCorrectness,
    FaithfulnessClaims,
    Groundedness,
    Hallucination,
    SelfKnowledge,
)
from evaluator.metrics.llm.answer_correctness_claims import AnswerCorrectnessClaims
from evaluator.metrics.llm.answer_relevancy import AnswerRelevancy
from evaluator.metrics.llm.aspects import AspectCritique
from evaluator.metrics.llm.context_claims import (
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
from evaluator.metrics.llm.context_entity_recall import ContextEntityRecall
from evaluator.metrics.llm.context_relevance_sentences import ContextRelevanceSentences
from evaluator.metrics.llm.judged_answer import AnswerRelevanceSentences, RefusalJudged
from evaluator.metrics.llm.llm_metric import JudgeUnavailableError, LlmMetric
from evaluator.metrics.matchers.citation import CITATION, EXACT, TRIMMED, CitationMatcher, ExactMatcher, fact_ranks
from evaluator.metrics.matchers.embedding import EMBEDDING, EmbeddingMatcher
from evaluator.metrics.matchers.matcher import ABSENT, FactMatcher, FactsFound
from evaluator.metrics.matchers.statement import STATEMENT, StatementMatcher
from evaluator.metrics.metric import Metric, MissingColumnError, Score, Scores
from evaluator.metrics.ragas_score import left_out, ragas_score
from evaluator.metrics.registry import ALIASES, REGISTRY, UnknownMetricError, compute, metric_named, needs_ground_truth
from evaluator.metrics.retrieval.context_present import ContextPresent
from evaluator.metrics.retrieval.context_relevance_perplexity import ContextRelevancePerplexity
from evaluator.metrics.retrieval.context_relevance_token_precision import ContextRelevanceTokenPrecision
from evaluator.metrics.retrieval.fact_order import FactsMrr, FactsMrrFirst, FactsNdcg
from evaluator.metrics.retrieval.facts_longest_run import CommonRun, FactsLongestRun, longest_common_run
from evaluator.metrics.retrieval.facts_precision_recall import FactsF1, FactsPrecision, FactsRecall
from evaluator.metrics.retrieval.highlights import highlights
from evaluator.metrics.retrieval.id_order import (
    ContextCorrectness,
    MeanAveragePrecision,
    MeanAveragePrecisionTrec,
    Ndcg,
)
from evaluator.metrics.retrieval.id_repeats import IdRepeats
from evaluator.metrics.retrieval.id_sets import HitRate, IdF1, IdPrecision, IdRecall, RPrecision
from evaluator.metrics.retrieval.non_llm_context import NonLlmContextPrecision, NonLlmContextRecall
from evaluator.metrics.retrieval.retrieval_columns import RetrievalColumns, columns_of, retrieval_columns
from evaluator.metrics.text.answer_correctness_tokens import (
    AnswerCorrectnessTokenF1,
    AnswerCorrectnessTokenPrecision,
    AnswerCorrectnessTokenRecall,
)
from evaluator.metrics.text.answer_reward import AnswerReward
from evaluator.metrics.text.bleu import Bleu
from evaluator.metrics.text.chrf import Chrf
from evaluator.metrics.text.exact_match import ExactMatch, StringPresence
from evaluator.metrics.text.faithfulness_kprecision import FaithfulnessKPrecision
from evaluator.metrics.text.faithfulness_nli import FaithfulnessNli
from evaluator.metrics.text.rouge import Rouge
from evaluator.metrics.text.semantic_similarity import SemanticSimilarity, cosine
from evaluator.metrics.text.string_similarity import StringSimilarity
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
