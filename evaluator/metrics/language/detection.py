"""Language of a text, recognised by its script and by words that nearly every text of a language has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

import yaml

from evaluator.metrics.language.prose import prose

_MOST_CHARACTERS = 20_000
_LEAST_WORDS = 3
_LEAST_SIGNS = 1.3
_LEAST_SHARE = 0.1
_LEAD = 1.5

_UNSPACED_LETTERS_OF_A_WORD = 2
_SCRIPTS: Mapping[str, str] = {
    "Latin": "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff",
    "Cyrillic": "\u0400-\u052f",
    "Arabic": "\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff",
    "Devanagari": "\u0900-\u0963\u0971-\u097f",
    "el": "\u0370-\u0373\u0376-\u03ff\u1f00-\u1fff",
    "he": "\u05d0-\u05ea",
    "hy": "\u0531-\u0587",
    "ka": "\u10a0-\u10ff",
    "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
    "bn": "\u0980-\u09e5",
    "ta": "\u0b80-\u0be5",
    "te": "\u0c00-\u0c65",
    "Han": "\u3005\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff",
    "Kana": "\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff",
    "th": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "lo": "\u0e81-\u0ece",
    "my": "\u1000-\u103f",
    "km": "\u1780-\u17d3",
}
"""Letters by script; a script that one common language is written in has that language's code."""
_UNSPACED = frozenset({"Han", "Kana", "th", "lo", "my", "km"})
_WORD = re.compile(
    "|".join(f"(?P<{name}>[{letters}]+(?:['\u2019][{letters}]+)*)" for name, letters in _SCRIPTS.items())
)


@dataclass(frozen=True)
class Language:
    """Script of a text, and the ISO 639-1 code of its language, each as far as it can be recognised.

    `script` is None where the text has too few words to say anything.
    """

    script: str | None
    code: str | None = None

    def differs(self, other: Language) -> bool | None:
        """Whether two texts are in different languages; None where that cannot be known."""
        if self.script is None or other.script is None:
            return None
        if self.script != other.script:
            return True
        return self.code != other.code if self.code and other.code else None


def language_of(text: str) -> Language:
    """Recognise the language of a text of three words or more; code, addresses, file names and citations are no words.

    The script is that of most words, two letters of a script without spaces being one. Within a script a word is a
    sign of each language that has it among its most frequent ones, or has a letter of it for itself; a sign of n
    languages counts 1/n for each. The language with most is it, where that is at least 1.3 and a tenth of the words,
    and one and a half times any other's.
    """
    found = _words(prose(text[:_MOST_CHARACTERS]))
    amounts = {script: _amount(script, words) for script, words in found.items()}
    kana = amounts.pop("Kana", 0)
    if kana:
        amounts["ja"] = kana + amounts.get("Han", 0)
    if sum(amounts.values()) < _LEAST_WORDS:
        return Language(None)
    script = max(amounts, key=lambda name: amounts[name])
    if script == "Han":
        # Japanese without any kana is rare in three words, Chinese with kana too.
        return Language("zh", "zh")
    return Language(script, _best(script, found[script]) if script in _known() else script)


def _words(text: str) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word in _WORD.finditer(text):
        found.setdefault(word.lastgroup or "", []).append(word[0].lower().replace("\u2019", "'"))
    return found


def _amount(script: str, words: list[str]) -> float:
    return sum(map(len, words)) / _UNSPACED_LETTERS_OF_A_WORD if script in _UNSPACED else len(words)


@dataclass(frozen=True)
class _Signs:
    words: frozenset[str]
    letters: frozenset[str]

    def are_in(self, word: str) -> bool:
        return word in self.words or not self.letters.isdisjoint(word)


@cache
def _known() -> Mapping[str, Mapping[str, _Signs]]:
    content = yaml.safe_load(files(__package__).joinpath("languages.yaml").read_text("utf-8"))
    return {
        script: {
            code: _Signs(frozenset(signs["words"].split()), frozenset(signs["letters"]))
            for code, signs in languages.items()
        }
        for script, languages in content.items()
    }


@lru_cache(maxsize=100_000)
def _signed(script: str, word: str) -> tuple[str, ...]:
    """Return the languages that a word is a sign of."""
    return tuple(code for code, signs in _known()[script].items() if signs.are_in(word))


def _best(script: str, words: list[str]) -> str | None:
    weights = dict.fromkeys(_known()[script], 0.0)
    for word in words:
        codes = _signed(script, word)
        for code in codes:
            weights[code] += 1 / len(codes)
    second, best = sorted(weights, key=lambda code: weights[code])[-2:]
    least = max(_LEAST_SIGNS, _LEAST_SHARE * len(words), _LEAD * weights[second])
    return best if weights[best] >= least else None
