"""Answers and questions about which answer relevancy asks no judge."""

import pytest

from evaluator.metrics import AnswerRelevancy
from evaluator.metrics.scores import Score
from lake.spec.vocabulary import UnscoredReason


@pytest.mark.parametrize(
    ("question", "answer", "score"),
    [
        ("Who?", "", Score(None, UnscoredReason.NO_ANSWER)),
        ("Who?", "I don't know.", Score(0.0, "refusal")),
        (" ", "Ann leads the team.", Score(None, UnscoredReason.NO_QUESTION)),
    ],
)
def test_what_needs_no_judge_is_scored_without_one(question: str, answer: str, score: Score) -> None:
    """A refusal is worth 0; what is missing has no value."""
    assert AnswerRelevancy().read_row(question, answer) == score
