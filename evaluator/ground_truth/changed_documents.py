"""Cases whose facts a newer version of their documents no longer holds: they go stale, and come back with the facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

from evaluator.ground_truth.changed_chunks import document_of, has_lost, names_chunk, names_place
from evaluator.metrics import ABSENT, fact_ranks
from lake.queries.answer_rows import CASE_QUESTION_COLUMNS, CaseQuestion, case_question, context_ids, context_texts
from lake.queries.ground_truth.case_versions import EVALUATOR, newest_versions
from lake.queries.ground_truth.question_keys import normalised_question
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus

WATCHED_COLUMNS = ("date", "requested_at", "documents", "contexts", "contexts_origin", *CASE_QUESTION_COLUMNS)
"""Columns of `parsed_logs` that show whether documents changed."""
CASE_COLUMNS = (
    "case_id", "version", "status", "question", "conversation_hash", "documents", "facts", "context", "context_ids",
    "source_date", "created_at", "status_at", "updated_by", "note",
)  # fmt: skip
"""Columns of `ground_truth` that a watch reads, of all versions."""

_CHANGED = "its document changed: "
_LOST = _CHANGED + "{document} no longer holds the fact '{fact}'"
_BACK = "{document} holds the fact '{fact}' again"
_MOST_SHOWN = 200
_CLOCKS_DIFFER = timedelta(days=1)
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, however it is spelled, and the documents that it is about."""

    text: str
    conversation_hash: str | None
    documents: frozenset[str]

    @classmethod
    def of(cls, question: CaseQuestion, documents: Iterable[str] | None) -> _Asked:
        text = normalised_question(question.text) or question.text
        return cls(text, question.conversation_hash, frozenset(documents or ()))


@dataclass(frozen=True, slots=True)
class _Chunk:
    id: str
    url: str
    text: str


@dataclass(frozen=True, slots=True)
class _Answer:
    asked: _Asked | None
    date: date
    chunks: Sequence[_Chunk]


@dataclass(frozen=True, slots=True)
class _Fact:
    """A fact of a case, and the chunks that it was taken from, by their ids; `since` is the day of their version."""

    case_id: str
    text: str
    asked: _Asked
    since: date
    chunks: Mapping[str, Sequence[str]]
    is_lost: bool

    @property
    def key(self) -> tuple[str, str]:
        return self.case_id, self.text


class CaseWatch:
    """The facts of a deployment's cases, looked for in the chunks that newer answers retrieved."""

    def __init__(self, versions: pa.Table, ids: AbstractSet[str]) -> None:
        """`versions` are all versions of the cases (CASE_COLUMNS); those without a chunk of these ids are left out."""
        history: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in versions.to_pylist():
            history[row["case_id"]].append(row)
        self._former: dict[str, str] = {}
        self._by_id: dict[str, list[_Fact]] = defaultdict(list)
        for case in newest_versions(versions).to_pylist():
            if not ids & set(case["context_ids"] or ()):
                continue
            older = [row for row in history[case["case_id"]] if (row["version"] or 1) < (case["version"] or 1)]
            if _is_changed(case) and older:
                self._former[case["case_id"]] = max(older, key=lambda row: row["version"] or 1)["status"]
            elif case["status"] not in USABLE_STATUS or _was_overruled(case, older):
                continue
            for fact in _facts_of(case):
                for chunk_id in fact.chunks:
                    self._by_id[chunk_id].append(fact)

    def changes(self, rows: pa.Table) -> dict[str, dict[str, Any]]:
        """Return by case_id the columns that change for what new answers (columns WATCHED_COLUMNS) retrieved.

        A case goes stale where the last answer that retrieved a chunk of one of its facts shows it without the fact,
        and none of these answers that has the case's question, or any chunk of that document, shows it elsewhere. It
        gets its former status where a chunk of that id holds the fact again.
        """
        if not self._by_id:
            return {}
        ordered = rows.sort_by("requested_at")
        last = self._last_seen(ordered)
        lost = {key: seen for key, seen in last.items() if not seen.is_there and not seen.fact.is_lost}
        for key in self._elsewhere(lost, ordered) if lost else ():
            lost.pop(key, None)
        # Of several facts of a case the first names it.
        found = {
            seen.fact.case_id: {"status": CaseStatus.STALE, "note": _said(_LOST, seen)}
            for seen in reversed(lost.values())
        }
        return found | self._returned(last)

    def _last_seen(self, ordered: pa.Table) -> dict[tuple[str, str], _Seen]:
        last: dict[tuple[str, str], _Seen] = {}
        for answer in _answers(ordered):
            by_id: dict[str, list[_Chunk]] = defaultdict(list)
            for chunk in answer.chunks:
                by_id[chunk.id].append(chunk)
            for chunk_id in by_id.keys() & self._by_id.keys():
                for fact in self._by_id[chunk_id]:
                    seen = _seen(fact, by_id[chunk_id], answer)
                    if seen is not None:
                        last[fact.key] = seen
        return last

    def _elsewhere(self, lost: Mapping[tuple[str, str], _Seen], ordered: pa.Table) -> set[tuple[str, str]]:
        """Return those facts that stand in other chunks of their documents, or of answers to their questions."""
        return {key for answer in _answers(ordered) for key, seen in lost.items() if _stands_elsewhere(seen, answer)}

    def _returned(self, last: Mapping[tuple[str, str], _Seen]) -> dict[str, dict[str, Any]]:
        return {
            seen.fact.case_id: {"status": self._former[seen.fact.case_id], "note": _said(_BACK, seen)}
            for seen in last.values()
            if seen.is_there and seen.fact.is_lost
        }


def telling_ids(rows: pa.Table) -> set[str]:
    """Return the ids of the chunks that answers (columns WATCHED_COLUMNS) retrieved, if they may tell of a change."""
    return {
        chunk.id
        for answer in _answers(rows)
        for chunk in answer.chunks
        if names_chunk(chunk.id, chunk.url) or names_place(chunk.id, chunk.url)
    }


@dataclass(frozen=True, slots=True)
class _Seen:
    """A fact, and the chunk of a newer answer that holds it, or no longer does."""

    fact: _Fact
    chunk: _Chunk
    is_there: bool


def _seen(fact: _Fact, chunks: Sequence[_Chunk], answer: _Answer) -> _Seen | None:
    """Say what these chunks, which have the id of one of the fact's, show of it; None where they show nothing."""
    if answer.date < fact.since:
        return None
    for chunk in chunks:
        if (names_chunk(chunk.id, chunk.url) or names_place(chunk.id, chunk.url)) and _holds(chunk.text, fact.text):
            return _Seen(fact, chunk, is_there=True)
    for chunk in chunks:
        # Several chunks of a page have one id: another question finds another of them.
        is_its_own = names_chunk(chunk.id, chunk.url) or (
            names_place(chunk.id, chunk.url) and answer.asked == fact.asked
        )
        if is_its_own and any(has_lost(old, chunk.text, fact.text) for old in fact.chunks[chunk.id]):
            return _Seen(fact, chunk, is_there=False)
    return None


def _stands_elsewhere(lost: _Seen, answer: _Answer) -> bool:
    fact, document = lost.fact, document_of(lost.chunk.url)
    return answer.date >= fact.since and any(
        chunk.id != lost.chunk.id
        and (answer.asked == fact.asked or document_of(chunk.url) == document)
        and _holds(chunk.text, fact.text)
        for chunk in answer.chunks
    )


def _facts_of(case: Mapping[str, Any]) -> Iterator[_Fact]:
    """Yield the facts that stand in a chunk with an id."""
    chunks = list(zip(case["context"] or (), case["context_ids"] or (), strict=False))
    asked = _Asked.of(CaseQuestion(case["question"], case["conversation_hash"]), case["documents"])
    is_lost = _is_changed(case)
    for text in case["facts"] or ():
        found: dict[str, list[str]] = defaultdict(list)
        for chunk, chunk_id in chunks:
            if chunk_id and _holds(chunk, text):
                found[chunk_id].append(chunk)
        # Only the fact that made the case stale brings it back.
        if found and (not is_lost or _shown(text) in case["note"]):
            yield _Fact(case["case_id"], text, asked, _since(case, is_lost=is_lost), dict(found), is_lost)


def _since(case: Mapping[str, Any], *, is_lost: bool) -> date:
    if is_lost and case["status_at"] is not None:
        day: date = (case["status_at"] - _CLOCKS_DIFFER).date()
        return day
    if case["source_date"] is not None:
        of_source: date = case["source_date"]
        return of_source
    return date.min if case["created_at"] is None else case["created_at"].date()


def _is_changed(case: Mapping[str, Any]) -> bool:
    is_stale = case["status"] == CaseStatus.STALE and case["updated_by"] == EVALUATOR
    return is_stale and (case["note"] or "").startswith(_CHANGED)


def _was_overruled(case: Mapping[str, Any], older: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a person has kept the case, with the same facts, after it went stale."""
    return case["updated_by"] != EVALUATOR and any(_is_changed(row) and row["facts"] == case["facts"] for row in older)


def _answers(ordered: pa.Table) -> Iterator[_Answer]:
    for start in range(0, ordered.num_rows, _AT_ONCE):
        for row in ordered.slice(start, _AT_ONCE).to_pylist():
            texts = context_texts(row)
            if texts:
                question = case_question(row)
                asked = None if question is None else _Asked.of(question, row["documents"])
                ids = context_ids(row["contexts"])
                urls = [(context or {}).get("url") for context in row["contexts"]]
                chunks = [
                    _Chunk(one, url, text) for one, url, text in zip(ids, urls, texts, strict=True) if one and url
                ]
                yield _Answer(asked, row["date"], chunks)


def _holds(text: str, fact: str) -> bool:
    return bool(text) and fact_ranks([fact], [text])[0] != ABSENT


def _said(words: str, seen: _Seen) -> str:
    return words.format(document=document_of(seen.chunk.url), fact=_shown(seen.fact.text))


def _shown(fact: str) -> str:
    return fact if len(fact) <= _MOST_SHOWN else fact[:_MOST_SHOWN] + " …"
