"""BLEU of one answer, as sacrebleu computes it for a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import exp, log

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import option, version_with
from evaluator.metrics.text.reference_metric import Compare, ReferenceMetric, odd_cases

_LONGEST = 4
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_SPLITS = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)

Counts = dict[tuple[str, ...], int]


@dataclass(frozen=True)
class Bleu(ReferenceMetric):
    """BLEU-4 of the answer against all references at once, from 0 to 1, higher is better.

    The number is sacrebleu's sentence BLEU / 100: tokens as mteval-v13a splits them, orders without a match smoothed
    by halving, and orders that the answer is too short for left out. Nothing in common is 0.0.
    """

    effective_order: bool = field(
        default=True,
        metadata=option(
            "`False`: texts under four tokens are 0.0, even identical ones, as corpus BLEU of one text in ragas"
        ),
    )

    name = "bleu"
    about = Description(
        asks="Do answer and reference answers say the same words in the same short runs?",
        formula="brevity penalty · exp(mean over n = 1..4 of log(share of the answer's n-grams that a reference has))",
        source="Papineni et al., BLEU; sacrebleu 2.6.0, sentence BLEU with effective order, / 100",
        odd_cases=odd_cases(),
        disagreement="ragas takes corpus BLEU of one text without effective order (`effective_order=False`) and cuts "
        "texts at `. `, pairing the parts wrongly: two different texts of two sentences are 1.0 there. Text "
        "without spaces is one token: use `chrf` for Chinese, Japanese and Thai.",
    )

    @property
    def version(self) -> str:
        """Version of the arithmetic, with the option that changes it."""
        return version_with(self, "1", "effective_order")

    def comparer(self) -> Compare:
        """Give BLEU."""
        count = cache(_ngrams)
        return lambda answer, references: self._bleu(count(answer), [count(reference) for reference in references])

    def _bleu(self, answer: Counts, references: Sequence[Counts]) -> float:
        correct, total = [0] * _LONGEST, [0] * _LONGEST
        for ngram, count in answer.items():
            total[len(ngram) - 1] += count
            correct[len(ngram) - 1] += min(count, max(reference.get(ngram, 0) for reference in references))
        if not any(correct):
            return 0.0
        length = total[0]
        nearest = min((_words(reference) for reference in references), key=lambda words: (abs(words - length), words))
        penalty = exp(1 - nearest / length) if length < nearest else 1.0
        return penalty * self._mean_precision(correct, total)

    def _mean_precision(self, correct: Sequence[int], total: Sequence[int]) -> float:
        logs: list[float] = []
        smoothing = 1
        for right, of in zip(correct, total, strict=True):
            if not of:
                break
            smoothing *= 1 if right else 2
            logs.append(log(right / of if right else 1 / (smoothing * of)))
        if len(logs) < _LONGEST and not self.effective_order:
            return 0.0
        return exp(sum(logs) / len(logs))


def _words(ngrams: Counts) -> int:
    return sum(count for ngram, count in ngrams.items() if len(ngram) == 1)


def _ngrams(text: str) -> Counts:
    words = tokens_13a(text)
    return Counter(tuple(words[i : i + n]) for n in range(1, _LONGEST + 1) for i in range(len(words) - n + 1))


def tokens_13a(text: str) -> list[str]:
    """Split a text as mteval-v13a does: marks are tokens, but for those inside numbers."""
    line = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        line = line.replace(entity, character)
    line = f" {line} "
    for pattern, replacement in _SPLITS:
        line = pattern.sub(replacement, line)
    return line.split()


METRICS: tuple[Metric, ...] = (Bleu(),)
