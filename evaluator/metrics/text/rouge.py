"""ROUGE-1 and ROUGE-L: words, and words in order, that answer and reference have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from rapidfuzz.distance import LCSseq

from evaluator.metrics.cells import UnscorableRowError, checked_size
from evaluator.metrics.description import Description
from evaluator.metrics.language.porter_stemmer import stem
from evaluator.metrics.language.tokens import shared_tokens, tokens_of_any_script
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import ANY_SCRIPT, option
from evaluator.metrics.text.reference_metric import Compare, ReferenceMetric, odd_cases
from lake.spec.vocabulary import UnscoredReason

Measure = Literal["precision", "recall", "fmeasure"]
Variant = Literal["rouge1", "rougeL"]

_MOST = 4_000_000_000
"""Words of the answer times words of the reference: about a second's work for ROUGE-L."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_OTHER_LETTER = re.compile(r"(?![\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff\ufb00-\ufb06\uff21-\uff5a])[^\W\d_a-zA-Z]")
_SHARED = {
    "rouge1": "words that both have, each as often as in both",
    "rougeL": "longest common subsequence of their words",
}
_OVER = {
    "precision": "{} / words of the answer",
    "recall": "{} / words of the reference",
    "fmeasure": "harmonic mean of precision and recall; {}",
}


@dataclass(frozen=True)
class Rouge(ReferenceMetric):
    """ROUGE-1 or ROUGE-L against the reference with the best F-measure; 0 to 1, higher is better.

    The numbers are those of rouge_score with stemming: only ASCII letters and digits are words (`café` is `caf`), and
    words of more than three letters are stemmed. A side without a word is 0.0, even if both are. Where most letters of
    the answer, or of every reference, are of another script than Latin, it is null with `not_latin`: the form
    `..._any_script` compares such texts.
    """

    variant: Variant = "rougeL"
    measure: Measure = "fmeasure"
    tokenisation: Literal["porter", "any_script"] = field(
        default="porter",
        metadata=option(
            "`porter`: ASCII words, stemmed, as rouge_score; `any_script` (metric name `..._any_script`): the tokens "
            "of any script that the token metrics have, not stemmed",
            ANY_SCRIPT,
        ),
    )

    version = "2"

    @property
    def name(self) -> str:
        """Name in the registry: `rougeL_fmeasure`."""
        name = f"{self.variant}_{self.measure}"
        return name if self.tokenisation == "porter" else f"{name}_{self.tokenisation}"

    @property
    def about(self) -> Description:
        """What the documentation says of it."""
        shared = _SHARED[self.variant]
        return Description(
            asks={
                "precision": "Which share of the answer's words stands in the reference answer",
                "recall": "Which share of the reference answer's words stands in the answer",
                "fmeasure": "Do answer and reference answer say the same words",
            }[self.measure]
            + (", in its order?" if self.variant == "rougeL" else "?"),
            formula=_OVER[self.measure].format(shared) + "; of the reference with the best F-measure",
            source="Lin, ROUGE; rouge_score 0.1.2 with stemming, as ragas has it",
            odd_cases=odd_cases(),
            disagreement="Without stemming, or with another stemmer, other packages give other numbers.",
            aliases=("rouge_l",) if (self.variant, self.measure) == ("rougeL", "fmeasure") else (),
        )

    def comparer(self) -> Compare:
        """Give the measure against the best reference."""
        split = cache(rouge_words if self.tokenisation == "porter" else tokens_of_any_script)

        def compare(answer: str, references: Sequence[str]) -> float:
            if self.tokenisation == "porter" and answer.strip():
                references = [reference for reference in references if _is_latin(reference)]
                if not references or not _is_latin(answer):
                    raise UnscorableRowError(UnscoredReason.NOT_LATIN)
            return self._best(split(answer), [split(reference) for reference in references])

        return compare

    def _best(self, answer: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        shared: Callable[[Sequence[str], Sequence[str]], int] = _common if self.variant == "rouge1" else _in_order
        scores = [_scores(shared(answer, reference), len(answer), len(reference)) for reference in references]
        return max(scores, key=lambda score: score["fmeasure"])[self.measure]


def rouge_words(text: str) -> list[str]:
    """Give the ASCII words of a text in lower case, those of more than three letters as their stems."""
    return [stem(word) if len(word) > 3 else word for word in _ASCII_WORD.findall(text.lower())]


def _is_latin(text: str) -> bool:
    """Whether no more than half of the letters are of another script."""
    others = 0 if text.isascii() else len(_OTHER_LETTER.findall(text))
    return not others or 2 * others <= sum(map(str.isalpha, text))


def _scores(shared: int, answer: int, reference: int) -> dict[Measure, float]:
    if not shared:
        return {"precision": 0.0, "recall": 0.0, "fmeasure": 0.0}
    precision, recall = shared / answer, shared / reference
    return {"precision": precision, "recall": recall, "fmeasure": 2 * precision * recall / (precision + recall)}


def _common(answer: Sequence[str], reference: Sequence[str]) -> int:
    return shared_tokens(Counter(reference), Counter(answer))


def _in_order(answer: Sequence[str], reference: Sequence[str]) -> int:
    checked_size(len(answer) * len(reference), _MOST)
    return int(LCSseq.similarity(answer, reference))


METRICS: tuple[Metric, ...] = (
    Rouge("rouge1", "precision"),
    Rouge("rouge1", "recall"),
    Rouge("rouge1", "fmeasure"),
    Rouge("rougeL", "precision"),
    Rouge("rougeL", "recall"),
    Rouge("rougeL", "fmeasure"),
)
