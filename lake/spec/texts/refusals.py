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
_VOICED = "\u3099\u309a"
"""Marks that make another syllable of a Japanese one, such as `da` of `ta`."""
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc`\u00b4", "'"))
_ANYWHERE = frozenset({"zh", "ja", "ko"})
"""Languages whose verb or object comes before the refusal: there a phrase is looked for in the whole sentence."""
_GAP = r"[\s,;:]+"
_MARK = r"[,;:，；：、(]\s*(?=\w)|\s[-–]\s|—"
_COMMA = re.compile(r"[,;:，；：、]")
_MOST_NAMES = 3
"""Words behind an "and" that may go on with what is missing, such as `prices and opening hours`."""
_MOST_CLAUSES = 20
"""Clauses of a sentence that are read; one that has more says something."""
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
    found = _first_phrase(sentence)
    return {"language": found[0], "found": found[2]["phrase"].strip(" ,;:")} if found else None


def _first_phrase(text: str) -> tuple[str, _Patterns, re.Match[str]] | None:
    """Return the first language with a phrase that refuses in a text, its patterns, and the phrase; None for none."""
    for language, pattern in _patterns().items():
        found = pattern.phrase.search(text)
        if found and not pattern.unless.search(text):
            return language, pattern, found
    return None


def only_refuses(answer: str) -> bool:
    """Return whether an answer refuses and says nothing else; a question says nothing.

    Each clause must refuse: `I don't know, but it is 40 euros.` says something, and so does `I don't know and entry is
    free.` Sentences such as `I'm sorry.` say nothing, but one must refuse.
    """
    if len(answer) > _MOST_CHARACTERS:
        return False
    said = [one for one in _first_sentences(answer, most=None) if not _is_polite(one)]
    return bool(said) and all(map(_only_refuses, said))


def _is_polite(sentence: str) -> bool:
    return any(pattern.says_nothing(sentence) for pattern in _patterns().values())


def _only_refuses(text: str) -> bool:
    for _ in range(_MOST_CLAUSES):
        rest = _behind_refusal(text)
        if not rest:
            return rest is not None
        text = rest
    return False


def _behind_refusal(text: str) -> str | None:
    """Return the next clause that says something behind a refusal, empty for none; None where a text is no refusal."""
    refusal = _first_phrase(text)
    if refusal is None:
        return None
    _, pattern, found = refusal
    if not pattern.leads_to_refusal(text[: found.start("phrase")]):
        return None
    return _next_clause(text[found.end() :], pattern, is_whole=found["whole"] is not None)


def _next_clause(behind: str, pattern: _Patterns, *, is_whole: bool) -> str:
    """Return what begins another clause behind a refusal, with a space before it; empty where that says nothing.

    `is_whole` says that the refusal needs no object: an "and" behind it begins a clause, however short.
    """
    for found in pattern.further.finditer(behind):
        rest = behind[found.end() :]
        if found["join"] and not is_whole and pattern.names_only(pattern.further.split(rest, 1)[0]):
            continue
        with_join = behind[found.start() :].lstrip(" ,;:，；：、(")
        return "" if any(map(pattern.says_nothing, (rest, with_join))) else " " + rest.lstrip()
    return ""


def _first_sentences(answer: str, most: int | None = _SENTENCES) -> Iterator[str]:
    """Yield the first sentences, folded, without their outer marks; questions count and are left out."""
    found = [said[0] for said in _SENTENCE.finditer(answer[:_MOST_CHARACTERS]) if any(map(str.isalnum, said[0]))]
    for sentence in found[:most]:
        if not sentence.rstrip().endswith(("?", "？")):
            yield " " + _folded(sentence).lstrip(" \t*_>#-\"'([")


@dataclass(frozen=True)
class _Patterns:
    """What refuses in a language, what makes it no refusal, and what begins and is a clause without a refusal.

    `polite` are words that say nothing, `about` what a refusal behind it is about, and `turn` begins a clause that says
    the contrary. `links` are not counted among the names of what is missing.
    """

    phrase: re.Pattern[str]
    unless: re.Pattern[str]
    polite: re.Pattern[str]
    about: re.Pattern[str]
    turn: re.Pattern[str]
    further: re.Pattern[str]
    clause: re.Pattern[str]
    links: frozenset[str] = frozenset()

    def says_nothing(self, text: str) -> bool:
        """Whether a text is empty, or has only words such as `unfortunately` or `based on the documents`."""
        return not any(map(str.isalnum, self.polite.sub("", " " + text.lstrip())))

    def leads_to_refusal(self, text: str) -> bool:
        """Whether a text says nothing but, without a number, what the refusal behind it is about."""
        left = self.polite.sub("", " " + text.lstrip()).lstrip(" ,;:，；：、")
        if any(map(str.isdigit, left)) or self.turn.search(left):
            return False
        return not _COMMA.search(self.about.sub("", left))

    def names_only(self, text: str) -> bool:
        """Whether a text, such as `opening hours of the museum`, has few words, no number and no verb of a clause."""
        words = [word for word in text.split() if word not in self.links]
        return len(words) <= _MOST_NAMES and not any(map(str.isdigit, text)) and not self.clause.search(text)


@cache
def _patterns() -> Mapping[str, _Patterns]:
    content: Phrases = yaml.safe_load(files(__package__).joinpath("refusals.yaml").read_text("utf-8"))
    return {
        language: (_anywhere if language in _ANYWHERE else _at_the_beginning)(known)
        for language, known in content.items()
    }


def _anywhere(known: Mapping[str, Any]) -> _Patterns:
    phrases, unless, openers, about, topics, turns = (
        "|".join(re.escape(_folded(one)).replace(r"\.\.\.", r"[^，、,]{0,30}") for one in known.get(key, ())) or "(?!)"
        for key in ("phrases", "unless", "openers", "about", "topics", "turns")
    )
    return _Patterns(
        phrase=re.compile(f"(?P<phrase>(?P<whole>(?!))|{phrases})"),
        unless=re.compile(unless),
        polite=re.compile(rf"(?:{openers})[，、,]?|(?:^|(?<=[\s，、,]))(?:{topics})[，、,]"),
        about=re.compile(f"(?:{about})[，、,]|{about}"),
        turn=re.compile(turns),
        further=re.compile(f"(?P<join>(?!))|(?:{_MARK})?(?:{turns})|{_MARK}"),
        clause=re.compile("(?!)"),
    )


def _at_the_beginning(known: Mapping[str, Any]) -> _Patterns:
    openers, whole, others, unless = (
        "|".join(map(_phrase, known[key])) for key in ("openers", "whole", "phrases", "unless")
    )
    possessives, possessions, steps, turns, joins, clause = (
        "|".join(re.escape(_folded(word)) for word in known[key].split())
        for key in ("possessives", "possessions", "steps", "turns", "joins", "clauses")
    )
    phrase = rf"^(?:{openers}){{0,4}}(?P<phrase>(?P<whole>{whole})|{others})(?![\w'])"
    owned = rf"(?:[^:]*[^:\w])?(?:{possessives})\s+(?!(?:\w+\s+)?(?:{possessions}))\w"
    excepted = rf"(?:{whole}|{others})(?:{unless})(?![\w'])"
    further = re.compile(rf"(?:{_MARK})?(?<![\w'])(?:(?P<join>{joins})|{turns})(?![\w'])|{_MARK}")
    return _Patterns(
        phrase=re.compile(phrase),
        unless=re.compile(rf"^(?:{openers}){{0,4}}(?:{excepted}|{owned}|[^:]*:\W*(?:{steps})\b)"),
        polite=re.compile(rf"^(?:{openers}){{1,4}}"),
        about=re.compile("(?!)"),
        turn=further,
        further=further,
        clause=re.compile(rf"(?<![\w'])(?:{clause})(?![\w])"),
        links=frozenset(map(_folded, known["links"].split())),
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
    """Lower case, without accents, with one kind of apostrophe, and English contractions written out.

    The marks of voiced Japanese syllables are no accents.
    """
    if text.isascii():
        plain = text.lower().replace("`", "'")
    else:
        decomposed = unicodedata.normalize("NFKD", in_one_form(text).translate(_APOSTROPHES).casefold())
        bare = "".join(one for one in decomposed if one in _VOICED or not unicodedata.combining(one))
        plain = unicodedata.normalize("NFC", bare)
    for contraction, words in _CONTRACTIONS:
        plain = contraction.sub(words, plain)
    return plain
