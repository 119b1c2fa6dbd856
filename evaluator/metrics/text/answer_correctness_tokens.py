"""Answer correctness by tokens: how much of a reference answer does the answer say, and how much else?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from evaluator.metrics.description import Description
from evaluator.metrics.language.tokens import (
    TokenCounts,
    Tokenisation,
    shared_tokens,
    token_counter,
)
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import TOKENISATION, tokenised_name
from evaluator.metrics.text.reference_metric import Compare, ReferenceMetric, odd_cases

_SOURCE = "unitxt (token overlap), after SQuAD's evaluation script"
_DISAGREEMENT = "Two texts without a token are 0 in unitxt, as here, and equal in SQuAD's own script. " + (
    "With several references each of precision, recall and F1 takes its own best one, as in unitxt, so F1 need not be "
    "the harmonic mean of the other two. unitxt raises an exception without references, and counts a Chinese or "
    "Thai text as one token (the form `..._squad`)."
)


@dataclass(frozen=True)
class TokenOverlap(ReferenceMetric, ABC):
    """A share of the tokens that answer and reference have in common, of several references the best; 0 to 1.

    Tokens and overlap are unitxt's, but for scripts without spaces between words: their texts are cut into small
    tokens, where unitxt takes a text for one. Where nothing is shared, or a side has no token, it is 0.0, even if both
    have none.
    """

    tokenisation: Tokenisation = field(default="any_script", metadata=TOKENISATION)

    title: ClassVar[str]
    version = "2"

    @property
    def name(self) -> str:
        """Name in the registry, with the tokenisation."""
        return tokenised_name(self.title, self.tokenisation)

    def comparer(self) -> Compare:
        """Give the best overlap with a reference."""
        count = token_counter(self.tokenisation)
        return lambda answer, references: max(self._overlap(answer, reference, count) for reference in references)

    def _overlap(self, answer: str, reference: str, count: Callable[[str], TokenCounts]) -> float:
        said, expected = count(answer), count(reference)
        shared = shared_tokens(expected, said)
        return self.value(shared, sum(said.values()), sum(expected.values())) if shared else 0.0

    @abstractmethod
    def value(self, shared: int, said: int, expected: int) -> float:
        """Give the value from the numbers of tokens: shared, of the answer, of the reference."""


@dataclass(frozen=True)
class AnswerCorrectnessTokenRecall(TokenOverlap):
    """Share of a reference's tokens that the answer holds, of several references the best; higher is better.

    Long answers score well: read it beside `answer_correctness_token_f1`.
    """

    title = "answer_correctness_token_recall"
    about = Description(
        asks="Which share of the reference answer's words does the answer say?",
        formula="Σ over tokens: min(count in answer, count in reference) / tokens of the reference; best reference",
        source="unitxt (answer_correctness)",
        odd_cases=odd_cases(),
        disagreement=_DISAGREEMENT,
        aliases=("answer_correctness", "token_recall"),
        former_names=("answer_correctness_token_recall_any_script",),
    )

    def value(self, shared: int, said: int, expected: int) -> float:  # noqa: ARG002
        """Give recall."""
        return shared / expected


@dataclass(frozen=True)
class AnswerCorrectnessTokenPrecision(TokenOverlap):
    """Share of the answer's tokens that a reference holds, of several references the best; higher is better."""

    title = "answer_correctness_token_precision"
    about = Description(
        asks="Which share of the answer's words stands in the reference answer?",
        formula="Σ over tokens: min(count in answer, count in reference) / tokens of the answer; best reference",
        source=_SOURCE,
        odd_cases=odd_cases(),
        disagreement=_DISAGREEMENT,
        aliases=("token_precision",),
        former_names=("answer_correctness_token_precision_any_script",),
    )

    def value(self, shared: int, said: int, expected: int) -> float:  # noqa: ARG002
        """Give precision."""
        return shared / said


@dataclass(frozen=True)
class AnswerCorrectnessTokenF1(TokenOverlap):
    """Harmonic mean of token precision and recall against one reference, of several the best; higher is better."""

    title = "answer_correctness_token_f1"
    about = Description(
        asks="Does the answer say what the reference answer says, and no more?",
        formula="2 · precision · recall / (precision + recall), of tokens; best reference",
        source=_SOURCE,
        odd_cases=odd_cases(),
        disagreement=_DISAGREEMENT,
        aliases=("token_f1", "squad_f1"),
        former_names=("answer_correctness_token_f1_any_script",),
    )

    def value(self, shared: int, said: int, expected: int) -> float:
        """Give F1."""
        return 2 * shared / (said + expected)


METRICS: tuple[Metric, ...] = (
    AnswerCorrectnessTokenRecall(),
    AnswerCorrectnessTokenPrecision(),
    AnswerCorrectnessTokenF1(),
)
