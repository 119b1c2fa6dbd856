"""What a judge finds in one row: the facts of answer and reference answer, with verdicts and contexts.

All metrics of claims are arithmetic on these findings. They take one call a row, and a second one where there is a
reference answer.
"""

from evaluator.findings.answer import AnswerFindings, Fact
from evaluator.findings.apart import find_apart, prompts_apart
from evaluator.findings.asking import Findings, find, prompts
from evaluator.findings.reference import ReferenceFact, ReferenceFindings
from evaluator.findings.row import Row, sentences_of

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
