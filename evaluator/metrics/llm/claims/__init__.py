"""What a judge finds in one row: the facts of answer and reference answer, with verdicts and contexts.

All metrics of claims are arithmetic on these findings. They take one call a row, and a second one where there is a
reference answer.
"""

from evaluator.metrics.llm.claims.answer import AnswerFindings, Fact
from evaluator.metrics.llm.claims.asking import Findings, find, prompts
from evaluator.metrics.llm.claims.claim_by_claim import find_apart, prompts_apart
from evaluator.metrics.llm.claims.reference import ReferenceFact, ReferenceFindings
from evaluator.metrics.llm.claims.row import Row, sentences_of

__all__ = [
    "AnswerFindings",
    "Fact",
    "Findings",
    "ReferenceFact",
    "ReferenceFindings",
    "Row",
    "find",
    "find_apart",
    "prompts",
    "prompts_apart",
    "sentences_of",
]
