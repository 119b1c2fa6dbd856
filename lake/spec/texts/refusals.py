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
_GOES_ON = re.compile(
    r"[,;:，；：、(]\s*\w|\s[-–]\s|—|(?<!\w)(?:but|however|though|although|because|except|yet|which|aber|jedoch|weil|obwohl"
    r"|mais|cependant|car|pero|aunque|porque|ma|pero|perche|mas|porem|maar|echter|ale|jednak|но|однако|хотя|потому"
    r"|але|однак|хоча)(?!\w)|但|不过|しかし|ただし|지만|しますが|ですが"
)
"""Behind a refusal: what begins a further clause. Who asks a judge about it for nothing pays a call."""
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

    A sentence that goes on behind its refusal may say something: `I don't know, but it is 40 euros.`
    """
    if len(answer) > _MOST_CHARACTERS:
        return False
    said = list(_first_sentences(answer, most=None))
    return bool(said) and all(_only_refuses(sentence) for sentence in said)


def _only_refuses(sentence: str) -> bool:
    found = _refusal_of(sentence)
    if found is None:
        return False
    behind = sentence.partition(found["found"])[2]
    further = _GOES_ON.search(behind)
    return further is None or _only_refuses(" " + behind[further.start() :].lstrip(" ,;:，；：、(-–—"))


def _first_sentences(answer: str, most: int | None = _SENTENCES) -> Iterator[str]:
    """Yield the first sentences, folded, without their outer marks; questions count and are left out."""
    found = [said[0] for said in _SENTENCE.finditer(answer[:_MOST_CHARACTERS]) if any(map(str.isalnum, said[0]))]
    for sentence in found[:most]:
        if not sentence.rstrip().endswith(("?", "？")):
            yield " " + _folded(sentence).lstrip(" \t*_>#-\"'([")


@dataclass(frozen=True)
class _Patterns:
    """What refuses in a language, and what makes it no refusal."""

    phrase: re.Pattern[str]
    unless: re.Pattern[str]


@cache
def _patterns() -> Mapping[str, _Patterns]:
    content: Phrases = yaml.safe_load(files(__package__).joinpath("refusals.yaml").read_text("utf-8"))
    return {
        language: (_anywhere if language in _ANYWHERE else _at_the_beginning)(known)
        for language, known in content.items()
    }


def _anywhere(known: Mapping[str, Any]) -> _Patterns:
    phrases, unless = ("|".join(re.escape(_folded(one)) for one in known[key]) for key in ("phrases", "unless"))
    return _Patterns(re.compile(f"(?P<phrase>{phrases})"), re.compile(unless))


def _at_the_beginning(known: Mapping[str, Any]) -> _Patterns:
    openers, phrases, unless = ("|".join(map(_phrase, known[key])) for key in ("openers", "phrases", "unless"))
    possessives, possessions, steps = (
        "|".join(re.escape(_folded(word)) for word in known[key].split())
        for key in ("possessives", "possessions", "steps")
    )
    phrase = rf"^(?:{openers}){{0,4}}(?P<phrase>{phrases})(?![\w'])"
    owned = rf"(?:[^:]*[^:\w])?(?:{possessives})\s+(?!(?:\w+\s+)?(?:{possessions}))\w"
    return _Patterns(
        re.compile(phrase),
        re.compile(rf"^(?:{openers}){{0,4}}(?:(?:{phrases})(?:{unless})(?![\w'])|{owned}|[^:]*:\W*(?:{steps})\b)"),
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
