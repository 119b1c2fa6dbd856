"""Numbers of judged metrics from the verdicts of a judge: arithmetic alone, whoever gave the verdicts.

A verdict is True, False, `UNDECIDED` or None where it is missing, and the result is a `Judged`: a value, or null with
a reason and the bounds that hold whatever the missing verdicts are.
"""

from evaluator.metrics.llm.verdicts.answers import answer_relevancy, aspect_critique, odd_strictness
from evaluator.metrics.llm.verdicts.claim_matrix import (
    ClaimMatrix,
    ClaimNumbers,
    NoiseSensitivity,
    claim_numbers,
    noise_sensitivity,
)
from evaluator.metrics.llm.verdicts.claim_shares import (
    Segment,
    all_supported,
    answer_correctness,
    contradicted_share,
    factual_f_beta,
    factual_f_beta_of_verdicts,
    macro_share,
    right_share,
    segment_inference,
    supported_share,
)
from evaluator.metrics.llm.verdicts.contexts import (
    context_entity_recall,
    context_precision,
    context_relevance_sentences,
)
from evaluator.metrics.llm.verdicts.conversations import conversation_completeness, knowledge_retention, repetition
from evaluator.metrics.llm.verdicts.grades import mean_grade, probability_of_yes, weighted_grade
from evaluator.metrics.llm.verdicts.judged import UNDECIDED, Judged, Verdict
from evaluator.metrics.llm.verdicts.topics import topic_adherence_f1, topic_adherence_precision, topic_adherence_recall

__all__ = [
    "UNDECIDED",
    "ClaimMatrix",
    "ClaimNumbers",
    "Judged",
    "NoiseSensitivity",
    "Segment",
    "Verdict",
    "all_supported",
    "answer_correctness",
    "answer_relevancy",
    "aspect_critique",
    "claim_numbers",
    "context_entity_recall",
    "context_precision",
    "context_relevance_sentences",
    "contradicted_share",
    "conversation_completeness",
    "factual_f_beta",
    "factual_f_beta_of_verdicts",
    "knowledge_retention",
    "macro_share",
    "mean_grade",
    "noise_sensitivity",
    "odd_strictness",
    "probability_of_yes",
    "repetition",
    "right_share",
    "segment_inference",
    "supported_share",
    "topic_adherence_f1",
    "topic_adherence_precision",
    "topic_adherence_recall",
    "weighted_grade",
]
