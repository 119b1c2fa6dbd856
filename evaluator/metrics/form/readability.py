"""Readability: for how many years must one have gone to school to read the answer?"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from typing import Any, Literal

from evaluator.metrics.decorator import metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.detection import language_of
from evaluator.metrics.language.prose import prose
from evaluator.metrics.language.sentences import sentences
from evaluator.metrics.options import option
from evaluator.metrics.scores import Score
from lake.spec.vocabulary import UnscoredReason
from runtime.words import words

_LANGUAGE = "en"
_LONGEST_WORD = 40
"""Letters of a word that are read; no English word is longer, and a hostile one may be a megabyte."""

_APOSTROPHES = re.compile(r"['\u2019]")
_LETTERS = re.compile(r"[^\W\d_]+")
_FORMULAS = {
    "flesch_kincaid": "0.39 · words / sentences + 11.8 · syllables / words - 15.59",
    "ari": "4.71 · letters and digits / words + 0.5 · words / sentences - 21.43",
}
_SOURCES = {
    "flesch_kincaid": "Kincaid et al. 1975 (Flesch-Kincaid grade level); syllables by pyphen, as in textstat 0.7.3",
    "ari": "Senter and Smith 1967 (automated readability index)",
}
_DISAGREEMENTS = {
    "flesch_kincaid": "pyphen divides words as a typesetter does, and so misses syllables of one letter (`a-bout`, "
    "`cit-y`): in the English texts of this project's docs and demo 6 in 100 of those that the CMU dictionary has, "
    "which is 1.2 grades. Newer versions of textstat count by that dictionary, which they download; 0.7.3 rounds both "
    "means to one decimal first.",
    "ari": "textstat counts punctuation as characters too, and rounds both means first.",
}


def _characters(word: str) -> int:
    return sum(map(str.isalnum, word))


@lru_cache(maxsize=1 << 16)
def syllables(word: str) -> int:
    """Return the number of syllables of an English word, 1 at least, for a number too; a compound is its parts' sum."""
    hyphenation, parts = _hyphenation(), _LETTERS.findall(_APOSTROPHES.sub("", word))
    count = sum(len(hyphenation.positions(part[:_LONGEST_WORD])) + 1 for part in parts)
    # pyphen keeps every word that it has divided, for ever.
    hyphenation.hd.cache.clear()
    return max(1, count)


@cache
def _hyphenation() -> Any:
    # Loaded here, for it takes a moment, and most processes score no readability.
    import pyphen

    return pyphen.Pyphen(lang="en_US")


def _about(metric: Any) -> Description:
    is_kincaid = metric.formula == "flesch_kincaid"
    return Description(
        asks="For how many years must one have gone to school to read the answer?",
        formula=_FORMULAS[metric.formula],
        source=_SOURCES[metric.formula],
        odd_cases=OddCases(
            empty_answer="null with `no_answer`; null with `too_short` below three words, with `unknown_language` "
            "where it is not English"
        ),
        low=-3.4 if is_kincaid else -16.22,
        high=math.inf,
        direction="none",
        disagreement=_DISAGREEMENTS[metric.formula],
        aliases=("flesch_kincaid_grade_level",) if is_kincaid else ("ari_grade_level",),
    )


@metric(
    _about,
    needs=("answer",),
    version="2",
    name=lambda metric: "readability" if metric.formula == "flesch_kincaid" else f"readability_{metric.formula}",
    variants=({"formula": "flesch_kincaid"}, {"formula": "ari"}),
)
def readability(
    answer: str | None,
    *,
    formula: Literal["flesch_kincaid", "ari"] = option(
        "flesch_kincaid",
        "`flesch_kincaid`, or `ari`: the automated readability index (metric name `readability_ari`)",
    ),
) -> Score:
    """Grade of a school in the United States from which an English answer is understood; neither end is better.

    Words, sentences and syllables are those of the answer's prose: code, addresses, file names and citations are left
    out. Both formulas were fitted to English: an answer in another language, or in one that is not recognised, is null
    with `unknown_language`, and one of fewer than three words with `too_short`.

    The details have what was counted: `{"sentences": 2, "words": 17, "syllables": 24}`, or `characters`.
    """
    if answer is None or not answer.strip():
        return Score(None, UnscoredReason.NO_ANSWER)
    language = language_of(answer)
    if language.code != _LANGUAGE:
        known = {} if language.code is None else {"language": language.code}
        reason = UnscoredReason.TOO_SHORT if language.script is None else UnscoredReason.UNKNOWN_LANGUAGE
        return Score(None, reason, known)
    by_sentence = [said for sentence in sentences(prose(answer)) if (said := words(sentence))]
    said = [word for sentence in by_sentence for word in sentence]
    counted = {"sentences": len(by_sentence), "words": len(said)}
    per_sentence = len(said) / len(by_sentence)
    if formula == "ari":
        counted["characters"] = sum(map(_characters, said))
        value = 4.71 * counted["characters"] / len(said) + 0.5 * per_sentence - 21.43
    else:
        counted["syllables"] = sum(map(syllables, said))
        value = 0.39 * per_sentence + 11.8 * counted["syllables"] / len(said) - 15.59
    return Score(value, None, counted)
