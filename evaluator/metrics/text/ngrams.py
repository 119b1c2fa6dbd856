"""Runs of words and characters that answer and reference have in common: BLEU, chrF and ROUGE."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from math import exp, log
from typing import Any, Literal

from rapidfuzz.distance import LCSseq

from evaluator.metrics.cells import UnscorableRowError, checked_size
from evaluator.metrics.description import Description
from evaluator.metrics.language.porter_stemmer import stem
from evaluator.metrics.language.tokens import shared_tokens, tokens_of_any_script
from evaluator.metrics.options import ANY_SCRIPT, option
from evaluator.metrics.text.reference_metric import Compare, odd_cases, reference_metric
from lake.spec.vocabulary import UnscoredReason

_LONGEST_WORDS, _LONGEST_CHARACTERS = 4, 6
_RECALL_WEIGHT = 4  # Beta of chrF is 2, and squared.
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_SPLITS = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)

Measure = Literal["precision", "recall", "fmeasure"]
Variant = Literal["rouge1", "rougeL"]

_MOST_PAIRS = 4_000_000_000
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

Counts = dict[tuple[str, ...], int]
CharacterCounts = Sequence[Counter[str]]


@reference_metric(
    Description(
        asks="Do answer and reference answers say the same words in the same short runs?",
        formula="brevity penalty · exp(mean over n = 1..4 of log(share of the answer's n-grams that a reference has))",
        source="Papineni et al., BLEU; sacrebleu 2.6.0, sentence BLEU with effective order, / 100",
        odd_cases=odd_cases(),
        disagreement="ragas takes corpus BLEU of one text without effective order (`effective_order=False`) and cuts "
        "texts at `. `, pairing the parts wrongly: two different texts of two sentences are 1.0 there. Text "
        "without spaces is one token: use `chrf` for Chinese, Japanese and Thai.",
    )
)
def bleu(
    *,
    effective_order: bool = option(
        True,
        "`False`: texts under four tokens are 0.0, even identical ones, as corpus BLEU of one text in ragas",
        is_in_version=True,
    ),
) -> Compare:
    """BLEU-4 of the answer against all references at once, from 0 to 1, higher is better.

    The number is sacrebleu's sentence BLEU / 100: tokens as mteval-v13a splits them, orders without a match smoothed
    by halving, and orders that the answer is too short for left out. Nothing in common is 0.0.
    """
    count = cache(_word_ngrams)

    def compare(answer: str, references: Sequence[str]) -> float:
        return _bleu(count(answer), [count(reference) for reference in references], effective_order)

    return compare


def _bleu(answer: Counts, references: Sequence[Counts], effective_order: bool) -> float:
    correct, total = [0] * _LONGEST_WORDS, [0] * _LONGEST_WORDS
    for ngram, count in answer.items():
        total[len(ngram) - 1] += count
        correct[len(ngram) - 1] += min(count, max(reference.get(ngram, 0) for reference in references))
    if not any(correct):
        return 0.0
    length = total[0]
    nearest = min((_words(reference) for reference in references), key=lambda words: (abs(words - length), words))
    penalty = exp(1 - nearest / length) if length < nearest else 1.0
    return penalty * _mean_precision(correct, total, effective_order)


def _mean_precision(correct: Sequence[int], total: Sequence[int], effective_order: bool) -> float:
    logs: list[float] = []
    smoothing = 1
    for right, of in zip(correct, total, strict=True):
        if not of:
            break
        smoothing *= 1 if right else 2
        logs.append(log(right / of if right else 1 / (smoothing * of)))
    if len(logs) < _LONGEST_WORDS and not effective_order:
        return 0.0
    return exp(sum(logs) / len(logs))


def _words(ngrams: Counts) -> int:
    return sum(count for ngram, count in ngrams.items() if len(ngram) == 1)


def _word_ngrams(text: str) -> Counts:
    words = tokens_13a(text)
    return Counter(tuple(words[i : i + n]) for n in range(1, _LONGEST_WORDS + 1) for i in range(len(words) - n + 1))


def tokens_13a(text: str) -> list[str]:
    """Split a text as mteval-v13a does: marks are tokens, but for those inside numbers."""
    line = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        line = line.replace(entity, character)
    line = f" {line} "
    for pattern, replacement in _SPLITS:
        line = pattern.sub(replacement, line)
    return line.split()


@reference_metric(
    Description(
        asks="Do answer and reference answer share their spelling, whatever the script?",
        formula="5 · P · R / (4 · P + R), P and R the means over n = 1..6 of precision and recall of character n-grams",
        source="Popović, chrF; sacrebleu 2.6.0 (chrF2), / 100",
        odd_cases=odd_cases(),
        disagreement="Moses and NLTK smooth lengths without a match instead of leaving them out.",
    )
)
def chrf() -> Compare:
    """F2 of the runs of 1 to 6 characters that answer and reference share, of several references the best; 0 to 1.

    The number is sacrebleu's chrF2 / 100: spaces do not count, and lengths that one side has no run of are left out.
    A blank side is 0.0. Higher is better.
    """
    count = cache(_character_ngrams)
    return lambda answer, references: max(_chrf(count(answer), count(reference)) for reference in references)


def _character_ngrams(text: str) -> CharacterCounts:
    line = "".join(text.split())
    return [Counter(line[i : i + n] for i in range(len(line) - n + 1)) for n in range(1, _LONGEST_CHARACTERS + 1)]


def _chrf(answer: CharacterCounts, reference: CharacterCounts) -> float:
    precisions: list[float] = []
    recalls: list[float] = []
    for said, expected in zip(answer, reference, strict=True):
        if said and expected:
            shared = sum(min(count, expected[ngram]) for ngram, count in said.items() if ngram in expected)
            precisions.append(shared / said.total())
            recalls.append(shared / expected.total())
    if not any(precisions):
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return (1 + _RECALL_WEIGHT) * precision * recall / (_RECALL_WEIGHT * precision + recall)


def _about_rouge(metric: Any) -> Description:
    shared = _SHARED[metric.variant]
    return Description(
        asks={
            "precision": "Which share of the answer's words stands in the reference answer",
            "recall": "Which share of the reference answer's words stands in the answer",
            "fmeasure": "Do answer and reference answer say the same words",
        }[metric.measure]
        + (", in its order?" if metric.variant == "rougeL" else "?"),
        formula=_OVER[metric.measure].format(shared) + "; of the reference with the best F-measure",
        source="Lin, ROUGE; rouge_score 0.1.2 with stemming, as ragas has it",
        odd_cases=odd_cases(),
        disagreement="Without stemming, or with another stemmer, other packages give other numbers.",
        aliases=("rouge_l",) if (metric.variant, metric.measure) == ("rougeL", "fmeasure") else (),
    )


def _rouge_name(metric: Any) -> str:
    name = f"{metric.variant}_{metric.measure}"
    return name if metric.tokenisation == "porter" else f"{name}_{metric.tokenisation}"


@reference_metric(
    _about_rouge,
    version="2",
    name=_rouge_name,
    variants=[
        {"variant": variant, "measure": measure}
        for variant in ("rouge1", "rougeL")
        for measure in ("precision", "recall", "fmeasure")
    ],
)
def rouge(
    *,
    variant: Variant = "rougeL",
    measure: Measure = "fmeasure",
    tokenisation: Literal["porter", "any_script"] = option(
        "porter",
        "`porter`: ASCII words, stemmed, as rouge_score; `any_script` (metric name `..._any_script`): the tokens of "
        "any script that the token metrics have, not stemmed",
        ANY_SCRIPT,
    ),
) -> Compare:
    """ROUGE-1 or ROUGE-L against the reference with the best F-measure; 0 to 1, higher is better.

    The numbers are those of rouge_score with stemming: only ASCII letters and digits are words (`café` is `caf`), and
    words of more than three letters are stemmed. A side without a word is 0.0, even if both are. Where most letters of
    the answer, or of every reference, are of another script than Latin, it is null with `not_latin`: the form
    `..._any_script` compares such texts.
    """
    split = cache(rouge_words if tokenisation == "porter" else tokens_of_any_script)
    shared: Callable[[Sequence[str], Sequence[str]], int] = _common if variant == "rouge1" else _in_order

    def compare(answer: str, references: Sequence[str]) -> float:
        if tokenisation == "porter" and answer.strip():
            references = [reference for reference in references if _is_latin(reference)]
            if not references or not _is_latin(answer):
                raise UnscorableRowError(UnscoredReason.NOT_LATIN)
        said, expected = split(answer), [split(reference) for reference in references]
        scores = [_scores(shared(said, one), len(said), len(one)) for one in expected]
        return max(scores, key=lambda score: score["fmeasure"])[measure]

    return compare


def rouge_words(text: str) -> list[str]:
    """Return the ASCII words of a text in lower case, those of more than three letters as their stems."""
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
    checked_size(len(answer) * len(reference), _MOST_PAIRS)
    return int(LCSseq.similarity(answer, reference))
