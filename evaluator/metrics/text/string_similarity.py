"""String similarity: how many edits turn the answer into a reference answer?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Hamming, Jaro, JaroWinkler, Levenshtein

from evaluator.metrics.cells import checked_size
from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.text.reference_metric import Compare, ReferenceMetric, odd_cases

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
class StringSimilarity(ReferenceMetric):
    """1 - normalised distance of answer and reference, of several references the best; 0 to 1, higher is better.

    Texts are compared as they are. Two empty texts are 1.0, one is 0.0. It takes time with the product of the lengths:
    two texts of more than 140,000 characters each, a second's work, are null with `too_long`.
    """

    distance: Distance = "levenshtein"

    version = "1"

    @property
    def name(self) -> str:
        """Name in the registry: `string_similarity_levenshtein`."""
        return f"string_similarity_{self.distance}"

    @property
    def about(self) -> Description:
        """What the documentation says of it."""
        return Description(
            asks="How alike are answer and reference answer, character by character?",
            formula=_FORMULAS[self.distance] + "; best reference",
            source="rapidfuzz, as in ragas (NonLLMStringSimilarity)",
            odd_cases=odd_cases("1.0 if a reference is empty too, else 0.0, both with `no_answer`"),
            aliases=("string_similarity",) if self.distance == "levenshtein" else (),
        )

    def comparer(self) -> Compare:
        """Give the similarity to the most alike reference."""
        return lambda answer, references: max(similarity(answer, given, self.distance) for given in references)


def similarity(one: str, other: str, distance: Distance = "levenshtein") -> float:
    """Give 1 - normalised distance of two texts. Raises UnscorableRowError with `too_long` for two giant ones."""
    checked_size(len(one) * len(other), _MOST)
    return _SIMILARITIES[distance](one, other)


METRICS: tuple[Metric, ...] = (
    StringSimilarity("levenshtein"),
    StringSimilarity("hamming"),
    StringSimilarity("jaro"),
    StringSimilarity("jaro_winkler"),
)
