"""Numbers of judged metrics from the verdicts of a judge: arithmetic alone, whoever gave the verdicts.

A verdict is True, False, `UNDECIDED` or None where it is missing, and the result is a `Judged`: a value, or null with
a reason and the bounds that hold whatever the missing verdicts are.
"""

from evaluator.metrics.llm.verdicts.answer_relevancy import answer_relevancy
from evaluator.metrics.llm.verdicts.aspect_critique import aspect_critique, odd_strictness
from evaluator.metrics.llm.verdicts.claim_matrix import (
    ClaimMatrix,
    ClaimNumbers,
    NoiseSensitivity,
    claim_numbers,
    noise_sensitivity,
)
from evaluator.metrics.llm.verdicts.context_entity_recall import context_entity_recall
from evaluator.metrics.llm.verdicts.context_precision import context_precision
from evaluator.metrics.llm.verdicts.context_relevance_sentences import context_relevance_sentences
from evaluator.metrics.llm.verdicts.factual_f_beta import answer_correctness, factual_f_beta, factual_f_beta_of_verdicts
from evaluator.metrics.llm.verdicts.judged import UNDECIDED, Judged, Verdict
from evaluator.metrics.llm.verdicts.segment_inference import Segment, segment_inference
from evaluator.metrics.llm.verdicts.supported_share import (
    all_supported,
    contradicted_share,
    macro_share,
    right_share,
    supported_share,
)

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
    "factual_f_beta",
    "factual_f_beta_of_verdicts",
    "macro_share",
    "noise_sensitivity",
    "odd_strictness",
    "right_share",
    "segment_inference",
    "supported_share",
]
