"""Keys of questions: equal for questions that differ in spelling alone, and useless to whoever lacks the secret.

A plain hash of a question could be found by guessing questions. So it is keyed by a secret of the lake, which is made
once and stands in the table `_secrets`.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime

from lake.delta_log.change import LostRaceError
from lake.queries.answer_rows import CaseQuestion
from lake.queries.question_text import normalised_question
from lake.spec.root_tables import SECRETS
from lake.tables.lake import Lake

_NAME = "question_key"
_SECRET_BYTES, _KEY_BYTES = 32, 16


class QuestionKeys:
    """Gives the keys of questions; the secret is read, or made, when the first is asked for."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._secret: bytes | None = None

    def of(self, deployment: str | None, question: CaseQuestion | None) -> str | None:
        """Give the key of a deployment's question, 32 hexadecimal digits; None where it is not known or has no word."""
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
