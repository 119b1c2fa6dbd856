"""Verdicts in words: the letter that a judge means by `Supported`, `S - chunk 1 says so` or `S - The river is long`.

A word that is denied, changed or hedged by what follows it is no verdict: `Supported: no` is asked again. So is one
that is followed by anything but a ground or the sentence that it is about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping

NOUN = r"(?:chunk|context|document|doc|source|passage|text|sentence|fact|claim)s?"
_VERDICTS: Mapping[str, tuple[str, ...]] = {
    "S": ("supported", "supports", "support", "fully supported", "entailed", "entails", "entailment", "ent", "支持"),
    "C": ("contradicted", "contradicts", "contradict", "contradiction", "refuted", "refutes", "cont", "矛盾", "反驳"),
    "N": (
        "neither",
        "neutral",
        "neut",
        "none",
        "not supported",
        "unsupported",
        "not mentioned",
        "no mention",
        "not found",
        "not stated",
        "not entailed",
        "no evidence",
        "not enough info",
        "not enough information",
        "not enough evidence",
        "no info",
        "no information",
        "no support",
        "not addressed",
        "not covered",
        "not present",
        "not specified",
        "not discussed",
        "未提及",
        "未提到",
        "不支持",
        "中立",
        "nei",
        "insufficient information",
        "insufficient evidence",
        "unverifiable",
    ),
}
LETTERS = frozenset(_VERDICTS)
_IN_WORDS: Mapping[str, str] = {
    word: letter for letter, words in _VERDICTS.items() for word in (letter.lower(), *words)
}
_EXPLAINED = re.compile(r"[ *\"'`(\[<]*([A-Za-z ]+?)[ *\"'`)\]>]*(?: [-‐–—]|[-‐–—] |[–—:(,;=]|\. )(.*)")
"""A word, and what is said of it: `S - stated in chunk 1`. `contradiction-free` is a word of its own."""
_NAMED = re.compile(r"(?:verdict|label)\s*[:=]\s*", re.IGNORECASE)
_BY_CHUNKS = re.compile(
    rf"\s+(?:by|in)(?:\s+(?:the|any|either)(?:\s+of\s+the)?)?\s+{NOUN}(?:\s+\d+(?:\s*(?:,|and)\s*\d+)*)?\s*$",
    re.IGNORECASE,
)
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"^\W*\d+[.:)]\s")
_UNSEEN = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Characters that nobody sees, such as marks of direction in Arabic and Hebrew."""
_TICK = re.compile(r"\s*(?:(?P<yes>[✅✔☑🟢])|[❌✖✗✘❎🔴❓⚠🟡⚪])\ufe0f?\s*(?=[*_\"'`(\[]*\w)")
"""Before a verdict: it must say the same."""
_FEWEST_WORDS = 3
_OUTER_MARKS = " \t\r\n.,!;*\"'`()[]<>"


def _any_of(words: str) -> str:
    return rf"(?<![\w'’])(?:{'|'.join(sorted(words.split(), key=len, reverse=True))})(?!\w)"


def _words_of(letters: Iterable[str]) -> re.Pattern[str]:
    chosen = set(letters)
    return re.compile(_any_of(" ".join(word.replace(" ", r"\s") for word, of in _IN_WORDS.items() if of in chosen)))


_DENIES = re.compile(
    _any_of(
        r"""no not non none nor never nothing nowhere nobody false untrue wrong incorrect incorrectly 0+ zero null n/a
        without lacks? lacking missing absent omits? omitted silent fails? failed unable cannot insufficient
        den(?:y|ies|ied) disagrees? disputed? rejects? rejected conflicts? conflicting differs? different opposite
        contrary otherwise instead rather except unless but however though although whereas yet if or either
        part partly partial partially half weak weakly low lower little barely hardly scarcely somewhat mostly
        largely almost nearly unclear unknown uncertain unsure maybe perhaps possibly probably likely unlikely
        might may could nicht nein kein\w* falsch teilweise pas нет не"""
    )
    + r"|n['’]t(?!\w)|[?%✗✘❌✖×👎¬]|没|不|否|无"
)
_STATED = re.compile(
    _any_of(r"stat(?:ed?|es) sa(?:id|ys?) given shown shows? confirm(?:s|ed)? mention(?:s|ed)? describe[sd]?")
)
_GROUND = re.compile(rf"{_any_of(f'{NOUN} yes true so verbatim explicitly directly')}|{_STATED.pattern}")
_AGREES: Mapping[str, re.Pattern[str]] = {
    "C": re.compile(_any_of("opposite contrary otherwise instead conflicts? differs? different den(?:y|ies|ied)")),
    "N": re.compile(
        _any_of(
            rf"""not\s(?:supported|mentioned|found|stated|entailed|covered|specified|addressed|present|discussed)
            no\s(?:mention|evidence|support|info(?:rmation)?) not\senough\s(?:info(?:rmation)?|evidence)
            insufficient\s(?:information|evidence)
            (?:no|none\sof\sthe)\s{NOUN}(?:\s(?:states?|says?|mentions?))?
            (?:(?:do|does|did|is|are|was|were)\s)?not\s(?:mention|state|say|contain|address|support|cover|discuss)"""
        )
    ),
}
"""Words with a denial in them that say the same as the verdict."""
_OF_ITSELF = {letter: _words_of({letter}) for letter in LETTERS}
_OF_ANOTHER = {letter: _words_of(LETTERS - {letter}) for letter in LETTERS}


def letter_of(word: str, beside: Collection[str] = ()) -> str | None:
    """Return the letter that is meant by a word, or by a word and what is said of it; None where that is not plain.

    `beside` are texts beside it, such as the sentence that it is about: that it repeats one says nothing of its own.
    """
    shown = _UNSEEN.sub("", unicodedata.normalize("NFKC", word))
    if tick := _TICK.match(shown):
        letter = letter_of(shown[tick.end() :], beside)
        return letter if (letter == "S") is bool(tick["yes"]) else None
    bare = _BY_CHUNKS.sub("", " ".join(_NAMED.sub("", shown.replace("_", " "), count=1).split()))
    if (letter := _IN_WORDS.get(_bare(bare))) is not None:
        return letter
    explained = _EXPLAINED.fullmatch(bare)
    letter = _IN_WORDS.get(_bare(explained[1])) if explained else None
    if explained is None or letter is None:
        return None
    said = explained[2].lower()
    words = _words(said)
    # One or two words may be an answer to the question whether it is supported.
    repeats = len(words) >= _FEWEST_WORDS and any(words == _words(text.lower()) for text in beside)
    return letter if _agrees(letter, said, repeats=repeats) else None


def _words(text: str) -> list[str]:
    return _WORD.findall(_NUMBER.sub("", text))


def _bare(word: str) -> str:
    return " ".join(_HYPHEN.sub(" ", word.strip(_OUTER_MARKS).lower()).split())


def _agrees(letter: str, said: str, *, repeats: bool) -> bool:
    """Whether what is said of a verdict is a ground for it, or repeats a text, and has nothing that may deny it."""
    left = _AGREES[letter].sub(" ", said) if letter in _AGREES else said
    if _DENIES.search(left) or _OF_ANOTHER[letter].search(left) or (letter == "N" and _STATED.search(left)):
        return False
    return repeats or left != said or bool(_GROUND.search(left) or _OF_ITSELF[letter].search(left))
