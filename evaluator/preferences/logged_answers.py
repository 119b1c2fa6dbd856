"""Pairs of logged answers to the same question, one a question, drawn whatever their scores are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.answer_rows import CASE_QUESTION_COLUMNS, IS_ANSWER, answer_text, case_question
from lake.queries.ground_truth.question_keys import QuestionKeys
from lake.queries.latest_rows import each_once
from lake.queries.preferences import LoggedAnswers
from lake.spec.schemas import PARSED_LOGS
from lake.tables.day_reading import DayReader, within
from lake.tables.lake import Lake

IsOwn = Callable[[str | None, str | None], bool]
"""Whether the judge may not be asked about an answer, of its model and deployment."""

_READ = ("event_id", "date", "chat_id", "model", "documents", *CASE_QUESTION_COLUMNS)
_TEXTS = (
    "event_id", "ingested_at", "answer", "answer_kind", "status", "error", "finish_reason", *CASE_QUESTION_COLUMNS,
)  # fmt: skip
_HAS_TEXT = pc.utf8_length(pc.utf8_trim_whitespace(ds.field("answer"))) > 0
_Asked = tuple[str, tuple[str, ...]]
"""Key of a question, and the documents that it is about."""


@dataclass(frozen=True)
class DrawnAnswer:
    """Where an answer is."""

    event_id: str
    date: date
    chat_id: str | None


@dataclass(frozen=True)
class DrawnPair:
    """Two answers to the question with a key, which is the same for all deployments."""

    question_key: str
    earlier: DrawnAnswer
    later: DrawnAnswer


@dataclass(frozen=True)
class DrawnPairs:
    """Pairs that were drawn, of how many `questions` with an answer on both sides.

    `own_model` counts the answers that are left out as they are of the judge's own model.
    """

    pairs: Sequence[DrawnPair]
    questions: int
    own_model: int


@dataclass
class _Side:
    """An answer to each question of a side: the one whose hash is lowest."""

    answers: dict[_Asked, tuple[bytes, DrawnAnswer]]
    own_model: int = 0


def drawn_pairs(lake: Lake, earlier: LoggedAnswers, later: LoggedAnswers, most: int, is_own: IsOwn) -> DrawnPairs:
    """Draw at most so many pairs. Who draws again gets the same ones, and who draws more gets these too.

    Both the answer to a question and the questions are chosen by hashes, which know nothing of what is in an answer. A
    question is the same but for its spelling, about the same documents, and says by itself what is asked.
    """
    keys = QuestionKeys(lake)
    old, new = (_side(lake, one, keys, is_own) for one in (earlier, later))
    found: dict[str, DrawnPair] = {}
    # In the order of the keys, which are as good as random.
    for asked in sorted(old.answers.keys() & new.answers.keys()):
        pair = DrawnPair(asked[0], old.answers[asked][1], new.answers[asked][1])
        found.setdefault(pair.question_key, pair)
    return DrawnPairs(list(found.values())[:most], len(found), old.own_model + new.own_model)


def texts_of(lake: Lake, of: LoggedAnswers, answers: Collection[DrawnAnswer]) -> dict[str, tuple[str, str]]:
    """Return question and answer by `event_id`; an answer that is gone, or has only thoughts, is absent."""
    if not answers:
        return {}
    reader = DayReader(lake.table(PARSED_LOGS, of.deployment), of.since, of.until)
    ids, days = [one.event_id for one in answers], {one.date for one in answers}
    rows = each_once(reader.read_rows(["event_id"], ids, _TEXTS, days)).to_pylist()
    return {row["event_id"]: texts for row in rows if (texts := _texts(row)) is not None}


def _texts(row: Mapping[str, Any]) -> tuple[str, str] | None:
    question, answer = case_question(row), answer_text(row)
    return (question.text, answer) if question and answer and answer.strip() else None


def _side(lake: Lake, of: LoggedAnswers, keys: QuestionKeys, is_own: IsOwn) -> _Side:
    side = _Side({})
    known: dict[str | None, bool] = {}
    for row in _rows(lake, of):
        model = row["model"]
        if model not in known:
            known[model] = is_own(model, of.deployment)
        side.own_model += known[model]
        if not known[model] and (asked := _asked(row, keys)) is not None:
            one = _rank(row["event_id"]), DrawnAnswer(row["event_id"], row["date"], row["chat_id"])
            side.answers[asked] = min(one, side.answers.get(asked, one), key=lambda ranked: ranked[0])
    return side


def _rows(lake: Lake, of: LoggedAnswers) -> Iterator[dict[str, Any]]:
    where = IS_ANSWER & _HAS_TEXT & ds.field("event_id").is_valid() & within("requested_at", *of.asked)
    reader = DayReader(lake.table(PARSED_LOGS, of.deployment), of.since, of.until)
    for day in reader.days():
        yield from reader.read(_READ, where, [day]).to_pylist()


def _asked(row: Mapping[str, Any], keys: QuestionKeys) -> _Asked | None:
    """Return what was asked; None where only its conversation says it, or it is not known."""
    question = case_question(row)
    # The same key for both deployments.
    key = keys.of(None, question) if question and question.conversation_hash is None else None
    return None if key is None else (key, _documents(row["documents"] or ()))


def _documents(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}))


def _rank(event_id: str) -> bytes:
    return hashlib.blake2b(event_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
