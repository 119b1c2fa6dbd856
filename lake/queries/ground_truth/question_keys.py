"""Keys of questions: equal for questions that differ in spelling alone, and useless to whoever lacks the secret.

A plain hash of a question could be found by guessing questions. So it is keyed by a secret of the lake, which is made
once and stands in the table `_secrets`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from datetime import UTC, datetime

from lake.delta_log.change import LostRaceError
from lake.queries.answer_rows import CaseQuestion
from lake.spec.root_tables import SECRETS
from lake.tables.lake import Lake

_SAME = str.maketrans("‘’ʼ‛´`“”„‟«»‐‑‒–—−", "''''''" + '"' * 6 + "-" * 6, "\u00ad\u200b\u2060\ufeff")
_OPENING = "\"'([{¿¡"
_CLOSING = "\"')]}.,;:!?…。、，！？；：؟،।"
_BETWEEN = re.compile(r"(?<=[^\W\d_])[-,;:!?…。、，！？；：؟،।]+(?=[^\W\d_])")
_IS_MARK = re.compile(r"\W+")
CAPITALS_MATTER = frozenset({"IT", "US", "WHO"})
"""Names that without their capitals are common words."""


def normalised_question(text: str) -> str:
    """Return a question so that others are the same text if they differ in spelling alone; empty if it has no word.

    Case, white space, and the marks of a sentence around and between words are left out, and forms of one character
    are made one (Unicode NFKC). What a number, a year, a name or a negation is made of stays: signs, decimal points,
    the dash between two numbers, `%`, `#`, `+`, powers and fractions, `ß` against `ss`, the capitals of `US` and `IT`.
    """
    whole = unicodedata.normalize("NFKC", "".join(map(_kept_apart, text.translate(_SAME)))).translate(_SAME)
    tokens = _BETWEEN.sub(" ", whole).split()
    bare = [_bare(token) for token in tokens]
    keeps_capitals = any(character.islower() for character in whole)
    return " ".join(
        token if keeps_capitals and token in CAPITALS_MATTER else _folded(token)
        for place, token in enumerate(bare)
        if token and not _separates(place, bare)
    )


def _kept_apart(character: str) -> str:
    """Keep 10² from becoming 102, and 1½ from becoming 11/2."""
    kind = unicodedata.decomposition(character).partition(">")[0]
    if kind in ("<super", "<sub") and unicodedata.decimal(character, None) is None and character.isdigit():
        return ("^" if kind == "<super" else "_") + character
    return " " + character if kind == "<fraction" else character


def _bare(token: str) -> str:
    """Leave out the marks of a sentence around a word, unless they may belong to a number: 5', (5), 5!."""
    stripped = token.lstrip(_OPENING)
    bare = stripped.rstrip(_CLOSING)
    if not any(map(str.isdigit, token)):
        return bare
    return token.rstrip(".,;:?…。、，？；：؟،।")


def _separates(place: int, tokens: list[str]) -> bool:
    """Whether a token is a mark between words, such as a dash, and not one between numbers."""
    if _IS_MARK.fullmatch(tokens[place]) is None or set(tokens[place]) - set("-/|•·*"):
        return False
    return not any(map(str.isdigit, "".join(tokens[max(0, place - 1) : place + 2])))


def _folded(token: str) -> str:
    # Case folding makes ß to ss, which is another letter: Maße are no Masse.
    return "ß".join(part.casefold() for part in token.replace("ẞ", "ß").split("ß"))


_NAME = "question_key"
_SECRET_BYTES, _KEY_BYTES = 32, 16


class QuestionKeys:
    """Gives the keys of questions; the secret is read, or made, when the first is asked for."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._secret: bytes | None = None

    def of(self, deployment: str | None, question: CaseQuestion | None) -> str | None:
        """Return the key of a deployment's question, 32 hexadecimal digits; None if it is not known or has no word."""
        text = normalised_question(question.text) if question else ""
        if question is None or not text:
            return None
        if self._secret is None:
            self._secret = lake_secret(self._lake)
        parts = (deployment or "", question.conversation_hash or "", text)
        whole = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(whole, key=self._secret, digest_size=_KEY_BYTES).hexdigest()


def lake_secret(lake: Lake) -> bytes:
    """Read the secret of a lake, and make it where there is none; of several processes that do, one is first."""
    table = lake.table(SECRETS)
    if _NAME not in table.progress([_NAME]):
        row = {"name": _NAME, "secret": secrets.token_bytes(_SECRET_BYTES), "created_at": datetime.now(UTC)}
        try:
            table.append(SECRETS.rows([row]), {_NAME: 1})
        except (LostRaceError, ValueError):
            # Another process was faster; what it made counts.
            table = lake.table(SECRETS)
    rows = table.read(["name", "secret"]).to_pylist()
    return next(bytes(row["secret"]) for row in rows if row["name"] == _NAME)
