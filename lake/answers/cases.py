"""Cases of ground truth, and which of them an answer is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any, Protocol, TypeVar

import pyarrow.dataset as ds

from lake.answers.answer_rows import CASE_QUESTION_COLUMNS, IS_ANSWER, CaseQuestion, case_question
from lake.answers.case_versions import newest_versions
from lake.tables.table import Table
from lake.vocabulary import USABLE_STATUS, CaseStatus

_COLUMNS = (
    "case_id", "version", "question", "conversation_hash", "documents", "facts",
    "answer", "source_response_id", "confidence", "status", "extractor",
)  # fmt: skip

_TOOK_ANY_QUESTION = frozenset({"sentences/1"})
"""`ground_truth.extractor` of versions that made cases of any question as it was sent, a follow-up too."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question with a reference answer and the facts that it is based on.

    `took_any_question`: an earlier version made it, which treated a follow-up like any other question.
    """

    case_id: str
    question: CaseQuestion
    documents: frozenset[str]
    facts: tuple[str, ...]
    answer: str
    source_response_id: str | None
    confidence: float
    accepted: bool
    took_any_question: bool = False


@dataclass(frozen=True, slots=True)
class _Source:
    """The answer that a case was made from."""

    requested_at: datetime
    date: date


class ComparableAnswer(Protocol):
    """Fields of an answer that are needed to find the case that it is compared with."""

    @property
    def case_question(self) -> CaseQuestion | None:
        """The question that it is compared by, as `case_question` gives it."""

    @property
    def documents(self) -> Sequence[str]:
        """The documents in scope."""

    @property
    def response_id(self) -> str | None:
        """The answer's id."""

    @property
    def response_ids(self) -> Sequence[str]:
        """The ids of the answer's chunks."""

    @property
    def requested_at(self) -> datetime:
        """When it was asked for."""


AnswerT = TypeVar("AnswerT", bound=ComparableAnswer)


class CaseBook:
    """The usable cases of one deployment (proposed or accepted), found by question and documents.

    Same question means the same text byte for byte about the same set of documents, which is how aidial-rag-eval
    joins too: "Summarise it" about two documents are two questions. An answer to a question that is not the first of
    its conversation takes part by its standalone question, and without one in the same conversation
    alone. Of several cases an accepted one comes first, then the most confident.
    """

    def __init__(self, cases: Iterable[Case], logs: Table) -> None:
        self._logs = logs
        self._read = tuple(cases)
        self._sources: dict[str, _Source | None] = {}

    @classmethod
    def read(cls, truth: Table, logs: Table, status: Sequence[str] = USABLE_STATUS) -> CaseBook:
        """Read the usable cases of a deployment."""
        cases = (
            Case(
                case_id=row["case_id"],
                question=CaseQuestion(row["question"], row["conversation_hash"]),
                documents=frozenset(row["documents"] or ()),
                facts=tuple(row["facts"] or ()),
                answer=row["answer"] or "",
                source_response_id=row["source_response_id"],
                confidence=row["confidence"] or 0.0,
                accepted=row["status"] == CaseStatus.ACCEPTED,
                took_any_question=row["extractor"] in _TOOK_ANY_QUESTION,
            )
            for row in newest_versions(truth.read(_COLUMNS)).to_pylist()
            if row["status"] in status
        )
        return cls(cases, logs)

    @cached_property
    def cases(self) -> Sequence[Case]:
        """The cases that answers are compared with, the best first, each with the question that it is found by.

        A case of an earlier version may be made of a follow-up, as its answer in the log shows: it gets the
        standalone question, and is left out where there is none. It is left out too where its answer is gone and nobody
        has accepted it, and stays as it is where a person has put its question in other words.
        """
        ordered = sorted(self._read, key=lambda case: (not case.accepted, -case.confidence, case.case_id))
        asked = self._questions_of([case for case in ordered if case.took_any_question])
        found = ((case, _question_of(case, asked)) for case in ordered)
        return [replace(case, question=question) for case, question in found if question is not None]

    def earlier(self, some: Iterable[AnswerT]) -> list[tuple[AnswerT, Case]]:
        """Give the answers for which there is a case whose own answer was asked for before, each with the best one.

        A case without a known source is earlier than any answer.
        """
        candidates = [(answer, about) for answer in some if (about := self._matching(answer))]
        sources = self._sources_of({case.source_response_id for _, about in candidates for case in about})
        return [(answer, case) for answer, about in candidates if (case := _first_earlier(answer, about, sources))]

    @cached_property
    def _by_question(self) -> Mapping[tuple[CaseQuestion, frozenset[str]], Sequence[Case]]:
        found: dict[tuple[CaseQuestion, frozenset[str]], list[Case]] = defaultdict(list)
        for case in self.cases:
            found[case.question, case.documents].append(case)
        return dict(found)

    def _matching(self, answer: ComparableAnswer) -> Sequence[Case]:
        """Give the cases with the answer's question that were not made from the answer itself, best first."""
        if answer.case_question is None or not self._read:
            return ()
        cases = self._by_question.get((answer.case_question, frozenset(answer.documents)), ())
        own = {answer.response_id, *answer.response_ids} - {None}
        return [case for case in cases if case.source_response_id not in own]

    def _sources_of(self, ids: Iterable[str | None]) -> Mapping[str, _Source | None]:
        """Give the answers that cases were made from; None for those that are no longer in the log."""
        wanted = sorted({one for one in ids if one is not None} - self._sources.keys())
        if wanted:
            where = IS_ANSWER & ds.field("response_id").isin(wanted)
            rows = self._logs.read(["response_id", "requested_at", "date"], where).to_pylist()
            # The latest first, so that of several rows with one id the earliest stays.
            ordered = sorted(rows, key=lambda row: row["requested_at"], reverse=True)
            found = {row["response_id"]: _Source(row["requested_at"], row["date"]) for row in ordered}
            self._sources |= {one: found.get(one) for one in wanted}
        return self._sources

    def _questions_of(self, older: Sequence[Case]) -> Mapping[str, Mapping[str, Any]]:
        """Read what the answers of these cases were asked, by their ids; nothing of those that are not in the log."""
        ids = {case.source_response_id for case in older if case.source_response_id is not None}
        sources = self._sources_of(ids)
        days = {source.date for one in ids if (source := sources[one]) is not None}
        if not days:
            return {}
        # Texts are read of these days alone: the log of a year has many.
        where = IS_ANSWER & ds.field("date").isin(sorted(days)) & ds.field("response_id").isin(sorted(ids))
        rows = self._logs.read(["response_id", "requested_at", *CASE_QUESTION_COLUMNS], where).to_pylist()
        ordered = sorted(rows, key=lambda row: row["requested_at"], reverse=True)
        return {row["response_id"]: row for row in ordered}


def _question_of(case: Case, asked: Mapping[str, Mapping[str, Any]]) -> CaseQuestion | None:
    if not case.took_any_question or case.source_response_id is None:
        return case.question
    source = asked.get(case.source_response_id)
    if source is None:
        return case.question if case.accepted else None
    return case_question(source) if case.question.text == source["question"] else case.question


def _first_earlier(
    answer: ComparableAnswer, cases: Iterable[Case], sources: Mapping[str, _Source | None]
) -> Case | None:
    for case in cases:
        source = sources.get(case.source_response_id or "")
        if source is None or source.requested_at < answer.requested_at:
            return case
    return None
