"""Overlap of an answer with reference answers: as strings, and in tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rapidfuzz.distance import Hamming, Jaro, JaroWinkler, Levenshtein

from evaluator.metrics.cells import checked_size
from evaluator.metrics.decorator import Decorator, made_metric
from evaluator.metrics.description import Description
from evaluator.metrics.language.tokens import Tokenisation, shared_tokens, token_counter, tokens
from evaluator.metrics.options import option, tokenisation_option
from evaluator.metrics.text.reference_metric import Compare, ReferenceMetric, odd_cases, reference_metric

_SOURCE = "unitxt (token overlap), after SQuAD's evaluation script"
_DISAGREEMENT = "Two texts without a token are 0 in unitxt, as here, and equal in SQuAD's own script. " + (
    "With several references each of precision, recall and F1 takes its own best one, as in unitxt, so F1 need not be "
    "the harmonic mean of the other two. unitxt raises an exception without references, and counts a Chinese or "
    "Thai text as one token (the form `..._squad`)."
)
_MOST = 20_000_000_000

Distance = Literal["levenshtein", "hamming", "jaro", "jaro_winkler"]

_SIMILARITIES: Mapping[Distance, Callable[[str, str], float]] = {
    "levenshtein": Levenshtein.normalized_similarity,
    "hamming": Hamming.normalized_similarity,
    "jaro": Jaro.normalized_similarity,
    "jaro_winkler": JaroWinkler.normalized_similarity,
}
_FORMULAS: Mapping[Distance, str] = {
    "levenshtein": "1 - inserted, deleted and replaced characters / length of the longer text",
    "hamming": "1 - ranks at which the characters differ / length of the longer text, the shorter one padded",
    "jaro": "Jaro: mean of the matched share of either text and of the matches in the same order",
    "jaro_winkler": "Jaro, raised by up to four equal first characters",
}


@dataclass(frozen=True)
class TokenMetric(ReferenceMetric):
    """A share of the tokens that answer and reference have in common, of several references the best; 0 to 1.

    Tokens and overlap are unitxt's, but for scripts without spaces between words: their texts are cut into small
    tokens, where unitxt takes a text for one. Where nothing is shared, or a side has no token, it is 0.0, even if both
    have none.
    """

    tokenisation: Tokenisation = tokenisation_option()

    def comparer(self) -> Compare:
        """Return the best overlap with a reference."""
        count, value = token_counter(self.tokenisation), self.bound

        def overlap(answer: str, reference: str) -> float:
            said, expected = count(answer), count(reference)
            shared = shared_tokens(expected, said)
            return float(value(shared, sum(said.values()), sum(expected.values()))) if shared else 0.0

        return lambda answer, references: max(overlap(answer, reference) for reference in references)


def token_metric(about: Description) -> Decorator:
    """Make a metric of a function of the numbers of tokens: shared, of the answer, of the reference."""
    return made_metric(TokenMetric, about, version="2", listed="answer_correctness_token")


@token_metric(
    Description(
        asks="Which share of the reference answer's words does the answer say?",
        formula="Σ over tokens: min(count in answer, count in reference) / tokens of the reference; best reference",
        source="unitxt (answer_correctness)",
        odd_cases=odd_cases(),
        disagreement=_DISAGREEMENT,
        aliases=("answer_correctness", "token_recall"),
        former_names=("answer_correctness_token_recall_any_script",),
    )
)
def answer_correctness_token_recall(shared: int, _said: int, expected: int) -> float:
    """Share of a reference's tokens that the answer holds, of several references the best; higher is better.

    Long answers score well: read it beside `answer_correctness_token_f1`.
    """
    return shared / expected


@token_metric(
    Description(
        asks="Which share of the answer's words stands in the reference answer?",
        formula="Σ over tokens: min(count in answer, count in reference) / tokens of the answer; best reference",
        source=_SOURCE,
        odd_cases=odd_cases(),
        disagreement=_DISAGREEMENT,
        aliases=("token_precision",),
        former_names=("answer_correctness_token_precision_any_script",),
    )
)
def answer_correctness_token_precision(shared: int, said: int, _expected: int) -> float:
    """Share of the answer's tokens that a reference holds, of several references the best; higher is better."""
    return shared / said


@token_metric(
    Description(
        asks="Does the answer say what the reference answer says, and no more?",
        formula="2 · precision · recall / (precision + recall), of tokens; best reference",
        source=_SOURCE,
        odd_cases=odd_cases(),
        disagreement=_DISAGREEMENT,
        aliases=("token_f1", "squad_f1"),
        former_names=("answer_correctness_token_f1_any_script",),
    )
)
def answer_correctness_token_f1(shared: int, said: int, expected: int) -> float:
    """Harmonic mean of token precision and recall against one reference, of several the best; higher is better."""
    return 2 * shared / (said + expected)


@reference_metric(
    Description(
        asks="Is the answer the reference answer?",
        formula="1 if the answer equals a reference, else 0",
        source="ragas (ExactMatch)",
        odd_cases=odd_cases("1.0 if a reference is empty too, else 0.0, both with `no_answer`"),
        disagreement="SQuAD's exact match normalises both texts first (`normalised=True`).",
        binary=True,
    )
)
def exact_match(
    *,
    normalised: bool = option(
        False,
        "`True`: case, punctuation and articles do not count, as in SQuAD's exact match",
        is_in_version=True,
    ),
) -> Compare:
    """1.0 if the answer is one of the references, else 0.0; higher is better.

    Texts are compared as they are, and two empty texts match. `normalised=True` compares their tokens instead, as
    SQuAD's exact match: without case, punctuation and articles.
    """
    if normalised:
        return lambda answer, references: float(tokens(answer) in [tokens(reference) for reference in references])
    return lambda answer, references: float(answer in references)


@reference_metric(
    Description(
        asks="Does the answer hold the reference answer?",
        formula="1 if a reference is a substring of the answer, else 0",
        source="ragas (StringPresence)",
        odd_cases=odd_cases(),
        disagreement="An empty reference is 1.0 in ragas; here it is no reference.",
        binary=True,
    ),
    keeps_empty=False,
)
def string_presence() -> Compare:
    """1.0 if the answer holds one of the references as it is, else 0.0; higher is better.

    An empty reference is in everything and says nothing: it is left out, and none other is null with `no_ground_truth`.
    """
    return lambda answer, references: float(any(reference in answer for reference in references))


def _about_similarity(metric: Any) -> Description:
    return Description(
        asks="How alike are answer and reference answer, character by character?",
        formula=_FORMULAS[metric.distance] + "; best reference",
        source="rapidfuzz, as in ragas (NonLLMStringSimilarity)",
        odd_cases=odd_cases("1.0 if a reference is empty too, else 0.0, both with `no_answer`"),
        aliases=("string_similarity",) if metric.distance == "levenshtein" else (),
    )


@reference_metric(
    _about_similarity,
    name=lambda metric: f"string_similarity_{metric.distance}",
    variants=[{"distance": distance} for distance in _SIMILARITIES],
)
def string_similarity(*, distance: Distance = "levenshtein") -> Compare:
    """1 - normalised distance of answer and reference, of several references the best; 0 to 1, higher is better.

    Texts are compared as they are. Two empty texts are 1.0, one is 0.0. It takes time with the product of the lengths:
    two texts of more than 140,000 characters each, a second's work, are null with `too_long`.
    """
    return lambda answer, references: max(similarity(answer, given, distance) for given in references)


def similarity(one: str, other: str, distance: Distance = "levenshtein") -> float:
    """Return 1 - normalised distance of two texts. Raises UnscorableRowError with `too_long` for two giant ones."""
    checked_size(len(one) * len(other), _MOST)
    return _SIMILARITIES[distance](one, other)
