"""Phrases with which people reject an answer at the beginning of their next message, in several languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, TypeAlias

import yaml
from pydantic import Field, TypeAdapter, ValidationError

Confidence: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Phrases: TypeAlias = Mapping[str, Mapping[str, Confidence]]

_PHRASES: TypeAdapter[Phrases] = TypeAdapter(dict[str, dict[str, Confidence]])
_MOST_CHARACTERS = 300
_OPENERS = """
    no|nope|no no|hm|hmm|hmmm|well|but|sorry|i'm sorry|actually|ok|okay|i think|i believe|unfortunately
    nein|aber|leider|entschuldigung|sorry aber|ich glaube
    non|mais|désolé|désolée|je crois que
    pero|perdón|lo siento|creo que
    ma|mi dispiace|scusa
    não|mas|desculpe|desculpa
    nie|ale|niestety|przepraszam
    ні|але|на жаль|вибач|вибачте
    нет|но|к сожалению|извини|извините
    不|不是|抱歉|可是|いいえ|いや|すみません
"""
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc`\u00b4", "'"))
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]$")
_CLAUSE_END = r"(?=\s*(?:[,.!;:…()\n，、。！；：]|[-–—]\s|$))"
_WORD_END = r"(?![\w'-])"
_GAP = r"[\s,，、]+"
_QUESTION = re.compile(r"[^.!?:;\n。]*\?")


class LexiconError(ValueError):
    """The file of phrases cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class RejectionPhrase:
    """A phrase that rejects an answer, its language, and its confidence from 0 to 1."""

    phrase: str
    language: str
    confidence: float


class Lexicon:
    """Finds a rejection at the beginning of a message; the phrases are described in `lexicon.yaml`."""

    def __init__(self, phrases: Phrases) -> None:
        self._known = list(_rejection_phrases(phrases))
        # The longest first: a longer phrase says more than the shorter one that it begins with.
        self._known.sort(key=lambda known: -len(known.phrase))
        openers = "|".join(_spaced(opener) for line in _OPENERS.split("\n") for opener in line.split("|") if opener)
        phrases_found = "|".join(f"({_pattern(known.phrase)})" for known in self._known)
        self._pattern = re.compile(rf"\s*(?:{phrases_found})") if self._known else None
        self._opener = re.compile(rf"\s*(?:{openers})(?:{_WORD_END}|(?<=[\u3040-\u9fff]))[\s,.!…，、。！-]*")

    @classmethod
    def shipped(cls, own: Phrases | None = None) -> Lexicon:
        """Return the phrases that come with the collector, changed by those in `own`; confidence 0 takes one away."""
        text = files(__package__).joinpath("lexicon.yaml").read_text("utf-8")
        shipped, added = _PHRASES.validate_python(yaml.safe_load(text)), own or {}
        return cls({name: {**shipped.get(name, {}), **added.get(name, {})} for name in [*shipped, *added]})

    @classmethod
    def with_file(cls, path: Path | None) -> Lexicon:
        """Return the shipped phrases, changed by those of a YAML or JSON file. Raises LexiconError."""
        return cls.shipped(None if path is None else read_phrases(path))

    def find_rejection(self, message: str | None) -> RejectionPhrase | None:
        """Return the phrase with which a message begins, after words such as "no"; None for a question."""
        if not message or self._pattern is None:
            return None
        text = _folded(message[:_MOST_CHARACTERS])
        place = 0
        while True:
            found = self._pattern.match(text, place)
            if found and found.lastindex:
                return None if _QUESTION.match(text, found.end()) else self._known[found.lastindex - 1]
            opener = self._opener.match(text, place)
            if opener is None or opener.end() == place:
                return None
            place = opener.end()


def read_phrases(path: Path) -> Phrases:
    """Read a file that maps languages to phrases to confidences, YAML or JSON.

    Raises LexiconError, which names the file and what is wrong in it.
    """
    try:
        return _PHRASES.validate_python(yaml.safe_load(path.read_text("utf-8")))
    except OSError as error:
        raise LexiconError(f"cannot read the phrases in {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LexiconError(f"{path} is neither YAML nor JSON: {error}") from None
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        raise LexiconError(f"{path} must hold `language: {{phrase: confidence}}`: {problems}") from None


def _rejection_phrases(phrases: Phrases) -> Iterator[RejectionPhrase]:
    for language, known in phrases.items():
        for phrase, confidence in known.items():
            if not phrase.strip(" ."):
                raise LexiconError(f"the phrase {phrase!r} of {language!r} is empty: every message begins with it")
            if confidence:
                yield RejectionPhrase(phrase, language, confidence)


def _pattern(phrase: str) -> str:
    body = phrase.removesuffix(".")
    if body != phrase:
        return _spaced(body) + _CLAUSE_END
    return _spaced(body) + ("" if _UNSPACED.search(body) else _WORD_END)


def _spaced(phrase: str) -> str:
    return _GAP.join(re.escape(word) for word in _folded(phrase).split())


def _folded(text: str) -> str:
    """Lower case, without accents and invisible characters, with one kind of apostrophe."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES).casefold())
    return "".join(character for character in decomposed if not _is_left_out(character))


def _is_left_out(character: str) -> bool:
    return bool(unicodedata.combining(character)) or unicodedata.category(character) == "Cf"
