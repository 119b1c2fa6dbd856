"""Claims of answer and reference answer with a judge's verdicts on them, from which the claim metrics are computed.

They take one call a row, and a second one where there is a reference answer.
"""

from evaluator.metrics.llm.claims.answer_claims import AnswerClaims, Claim
from evaluator.metrics.llm.claims.claim_by_claim import ask_claim_by_claim, prompts_claim_by_claim
from evaluator.metrics.llm.claims.reference_claims import ReferenceClaim, ReferenceClaims
from evaluator.metrics.llm.claims.row_claims import RowClaims, ask_claims, prompts
from evaluator.metrics.llm.claims.row_texts import CUT, RowTexts, sentences_of

__all__ = [
    "CUT",
    "AnswerClaims",
    "Claim",
    "ReferenceClaim",
    "ReferenceClaims",
    "RowClaims",
    "RowTexts",
    "ask_claim_by_claim",
    "ask_claims",
    "prompts",
    "prompts_claim_by_claim",
    "sentences_of",
]
