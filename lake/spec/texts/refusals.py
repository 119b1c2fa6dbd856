"""Refusals: answers that say that they are none, by the phrases of a lexicon."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from lake.spec.texts.unicode_forms import in_one_form

Phrases = Mapping[str, Mapping[str, Any]]

_SENTENCES = 3
_MOST_CHARACTERS = 2_000
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?](?!\s|$)[^.!?。！？\n]*)*[.!?。！？]?")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc`\u00b4", "'"))
_ANYWHERE = frozenset({"zh", "ja", "ko"})
"""Languages whose verb or object comes before the refusal: there a phrase is looked for in the whole sentence."""
_GAP = r"[\s,;:]+"
_MARK = r"[,;:，；：、(]\s*(?=\w)|\s[-–]\s|—"
_MOST_NAMES = 3
"""Words behind an "and" that may go on with what is missing, such as `prices and opening hours`."""
_CONTRACTIONS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\bca(?:nno|n'?)t\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\b(do|does|did|is|are|was|were|could)n'?t\b", r"\1 not"),
        (r"\bi'?m\b", "i am"),
        (r"\b(we|they)'re\b", r"\1 are"),
        (r"\b(that|there|it)'s\b", r"\1 is"),
    )
)


def refusal_in(answer: str) -> dict[str, str] | None:
    """Return the phrase by which an answer refuses, and its language, as in the details of `refusal`; None for none."""
    return next((found for sentence in _first_sentences(answer) if (found := _refusal_of(sentence))), None)


def _refusal_of(sentence: str) -> dict[str, str] | None:
    for language, pattern in _patterns().items():
        found = pattern.phrase.search(sentence)
        if found and not pattern.unless.search(sentence):
            return {"language": language, "found": found["phrase"].strip(" ,;:")}
    return None


def only_refuses(answer: str) -> bool:
    """Say whether an answer refuses and says nothing else; a question says nothing.

    Each clause must refuse: `I don't know, but it is 40 euros.` says something, and so does `I don't know and entry is
    free.`
    """
    if len(answer) > _MOST_CHARACTERS:
        return False
    said = list(_first_sentences(answer, most=None))
    return bool(said) and all(_only_refuses(sentence) for sentence in said)


def _only_refuses(text: str) -> bool:
    for pattern in _patterns().values():
        found = pattern.phrase.search(text)
        if found and not pattern.unless.search(text):
            return pattern.leads_to_refusal(text[: found.start("phrase")]) and _goes_on(text[found.end() :], pattern)
    return False


def _goes_on(behind: str, pattern: _Patterns) -> bool:
    """Whether what stands behind a refusal refuses too, or says nothing of its own."""
    for found in pattern.further.finditer(behind):
        rest = behind[found.end() :]
        if found["join"] and pattern.names_only(pattern.further.split(rest, 1)[0]):
            continue
        with_join = behind[found.start() :].lstrip(" ,;:，；：、(")
        return any(map(pattern.says_nothing, (rest, with_join))) or _only_refuses(" " + rest.lstrip())
    return True


def _first_sentences(answer: str, most: int | None = _SENTENCES) -> Iterator[str]:
    """Yield the first sentences, folded, without their outer marks; questions count and are left out."""
    found = [said[0] for said in _SENTENCE.finditer(answer[:_MOST_CHARACTERS]) if any(map(str.isalnum, said[0]))]
    for sentence in found[:most]:
        if not sentence.rstrip().endswith(("?", "？")):
            yield " " + _folded(sentence).lstrip(" \t*_>#-\"'([")


@dataclass(frozen=True)
class _Patterns:
    """What refuses in a language, what makes it no refusal, and what begins and is a clause without a refusal."""

    phrase: re.Pattern[str]
    unless: re.Pattern[str]
    polite: re.Pattern[str]
    further: re.Pattern[str]
    clause: re.Pattern[str]

    def says_nothing(self, text: str) -> bool:
        """Whether a text is empty, or has only words such as `unfortunately` or `based on the documents`."""
        return not any(map(str.isalnum, self.polite.sub("", " " + text.lstrip())))

    def leads_to_refusal(self, text: str) -> bool:
        """Whether a text says nothing but, without a number, what the refusal behind it is about."""
        left = self.polite.sub("", " " + text.lstrip()).lstrip(" ,;:，；：、")
        return not any(map(str.isdigit, left)) and not self.further.search(left)

    def names_only(self, text: str) -> bool:
        """Whether a text is short and without a number and a word that makes it a clause."""
        return len(text.split()) <= _MOST_NAMES and not any(map(str.isdigit, text)) and not self.clause.search(text)


@cache
def _patterns() -> Mapping[str, _Patterns]:
    content: Phrases = yaml.safe_load(files(__package__).joinpath("refusals.yaml").read_text("utf-8"))
    return {
        language: (_anywhere if language in _ANYWHERE else _at_the_beginning)(known)
        for language, known in content.items()
    }


def _anywhere(known: Mapping[str, Any]) -> _Patterns:
    phrases, unless, polite, turns = (
        "|".join(re.escape(_folded(one)).replace(r"\.\.\.", r"[^，、,]{0,30}") for one in known[key])
        for key in ("phrases", "unless", "openers", "turns")
    )
    return _Patterns(
        re.compile(f"(?P<phrase>{phrases})"),
        re.compile(unless),
        re.compile(f"(?:{polite})[，、,]?"),
        re.compile(f"(?P<join>(?!))|{turns}|{_MARK}"),
        re.compile("(?!)"),
    )


def _at_the_beginning(known: Mapping[str, Any]) -> _Patterns:
    openers, phrases, unless = ("|".join(map(_phrase, known[key])) for key in ("openers", "phrases", "unless"))
    possessives, possessions, steps, turns, joins, clause = (
        "|".join(re.escape(_folded(word)) for word in known[key].split())
        for key in ("possessives", "possessions", "steps", "turns", "joins", "clauses")
    )
    phrase = rf"^(?:{openers}){{0,4}}(?P<phrase>{phrases})(?![\w'])"
    owned = rf"(?:[^:]*[^:\w])?(?:{possessives})\s+(?!(?:\w+\s+)?(?:{possessions}))\w"
    return _Patterns(
        re.compile(phrase),
        re.compile(rf"^(?:{openers}){{0,4}}(?:(?:{phrases})(?:{unless})(?![\w'])|{owned}|[^:]*:\W*(?:{steps})\b)"),
        re.compile(rf"^(?:{openers}){{1,4}}"),
        re.compile(rf"(?:{_MARK})?(?<![\w'])(?:(?P<join>{joins})|{turns})(?![\w'])|{_MARK}"),
        re.compile(rf"(?<![\w'])(?:{clause})(?![\w])"),
    )


def _phrase(phrase: str) -> str:
    """Return the pattern of words, each with the gap before it: `a|b` either, `a?` may be missing, `...` up to six."""
    return "".join(_word(word) for word in phrase.split())


def _word(word: str) -> str:
    if word == "...":
        return rf"(?:{_GAP}[\w'-]+){{0,6}}?"
    choices = "|".join(re.escape(_folded(choice)) for choice in word.removesuffix("?").split("|"))
    return f"(?:{_GAP}(?:{choices}))?" if word.endswith("?") else f"{_GAP}(?:{choices})"


def _folded(text: str) -> str:
    """Lower case, without accents, with one kind of apostrophe, and English contractions written out."""
    if text.isascii():
        plain = text.lower().replace("`", "'")
    else:
        decomposed = unicodedata.normalize("NFKD", in_one_form(text).translate(_APOSTROPHES).casefold())
        plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    for contraction, words in _CONTRACTIONS:
        plain = contraction.sub(words, plain)
    return plain
