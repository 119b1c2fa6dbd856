"""Cases of ground truth, and which of them an answer is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, Protocol, TypeVar

from lake.queries.answer_rows import CaseQuestion
from lake.queries.ground_truth.case_sources import possible_sources
from lake.queries.ground_truth.case_versions import is_doubted, newest_versions
from lake.queries.ground_truth.question_keys import normalised_question
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus, ReferenceMatch
from lake.spec.tool_messages import ToolCall
from lake.tables.table import Table

FactPlace = tuple[int, int, int]
"""Chunk, from 0, and the characters in it where a fact begins and ends."""

FindPlaces = Callable[[Sequence[str], Sequence[str]], Sequence[FactPlace | None]]
"""Gives of each fact its first place in the chunks, None where it stands in none."""


def citations_of(
    facts: Sequence[str], chunks: Sequence[str], statements: Mapping[str, str | None], find: FindPlaces
) -> list[dict[str, Any]] | None:
    """Return `ground_truth.citations` of facts, with what each says in other words; None where there are no chunks."""
    if not chunks:
        return None
    places = [place or (None, None, None) for place in find(facts, chunks)]
    return [
        {"statement": statements.get(fact), "chunk": chunk, "start": start, "end": end}
        for fact, (chunk, start, end) in zip(facts, places, strict=True)
    ]


def statements_of(case: Mapping[str, Any]) -> dict[str, str | None]:
    """Return, by its fact, what each citation of a case says in other words."""
    both = zip(case["facts"] or (), case["citations"] or (), strict=False)
    return {fact: citation.get("statement") for fact, citation in both if citation is not None}


_COLUMNS = (
    "case_id", "deployment", "version", "question", "conversation_hash", "documents", "facts",
    "answer", "is_answerable_label", "context_ids", "tool_calls", "source_response_id", "source_date", "confidence",
    "status", "doubt",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A question with a reference answer and the facts that it is based on.

    `context_ids` are those of the chunks that the facts stand in, of the chunks that have an id. `tool_calls` are the
    calls of tools that a right answer takes (name, arguments), None where nobody has looked.
    """

    case_id: str
    question: CaseQuestion
    documents: frozenset[str]
    facts: tuple[str, ...]
    answer: str
    source_response_id: str | None
    confidence: float
    status: CaseStatus
    context_ids: tuple[str, ...] = ()
    version: int = 1
    source_date: date | None = None
    deployment: str | None = None
    is_answerable_label: bool | None = None
    tool_calls: list[ToolCall] | None = None

    @property
    def accepted(self) -> bool:
        """Whether somebody has said that it is right."""
        return self.status == CaseStatus.ACCEPTED


@dataclass(frozen=True, slots=True)
class Reference:
    """A case that an answer is compared with, how it was found, and how similar the questions are (1 for the same)."""

    case: Case
    match: ReferenceMatch
    similarity: float = 1.0


class SimilarQuestions(Protocol):
    """Finds questions that ask the same in other words."""

    def similar(self, asked: Sequence[str], known: Sequence[str]) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, for each question that was asked, the places of the known ones that ask the same, and how similar.

        The most similar comes first; a pair that differs in what is asked is none, however similar.
        """


@dataclass(frozen=True, slots=True)
class _Source:
    """The answer that a case was made from, or those of which it may have been; the time is that of the earliest."""

    requested_at: datetime
    event_ids: frozenset[str]


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
    def event_id(self) -> str:
        """The row of the answer."""

    @property
    def response_ids(self) -> Sequence[str]:
        """The ids of the answer's chunks."""

    @property
    def requested_at(self) -> datetime:
        """When it was asked for."""


AnswerT = TypeVar("AnswerT", bound=ComparableAnswer)
_Index = Mapping[tuple[str, str | None, frozenset[str]], Sequence[Case]]
"""Cases by the text of their question, the hash of its conversation, and their documents."""


class CaseBook:
    """The usable cases of one deployment (proposed or accepted), found by question and documents.

    The question must be about the same set of documents: "Summarise it" about two documents are two questions. It is
    the same text (which is how aidial-rag-eval joins too), else the same by `normalised_question`, else one that
    `similar` finds, if given. An answer to a question that is not the first of its conversation takes part by its
    standalone question, and without one in the same conversation alone, where `similar` is not asked. Of several
    cases that are found in the same way an accepted one comes first, then the most confident.
    """

    def __init__(self, cases: Iterable[Case], logs: Table, similar: SimilarQuestions | None = None) -> None:
        self._logs = logs
        self._similar = similar
        self._read = tuple(cases)
        self._sources: dict[str, _Source | None] = {}

    @classmethod
    def read(
        cls,
        truth: Table,
        logs: Table,
        status: Sequence[str] = USABLE_STATUS,
        similar: SimilarQuestions | None = None,
    ) -> CaseBook:
        """Read the cases of a deployment that have one of these statuses; those that are doubted are left out."""
        cases = (
            Case(
                case_id=row["case_id"],
                question=CaseQuestion(row["question"], row["conversation_hash"]),
                documents=frozenset(row["documents"] or ()),
                facts=tuple(row["facts"] or ()),
                answer=row["answer"] or "",
                source_response_id=row["source_response_id"],
                confidence=row["confidence"] or 0.0,
                status=CaseStatus(row["status"]),
                context_ids=tuple(one for one in row["context_ids"] or () if one),
                version=row["version"] or 1,
                source_date=row["source_date"],
                deployment=row["deployment"],
                is_answerable_label=row["is_answerable_label"],
                tool_calls=row["tool_calls"],
            )
            for row in newest_versions(truth.read(_COLUMNS)).to_pylist()
            if row["status"] in status and not is_doubted(row)
        )
        return cls(cases, logs, similar)

    @cached_property
    def cases(self) -> Sequence[Case]:
        """The cases that answers are compared with, the best first."""
        return sorted(self._read, key=lambda case: (not case.accepted, -case.confidence, case.case_id))

    def earlier(self, some: Sequence[AnswerT]) -> list[tuple[AnswerT, Reference]]:
        """Return the answers for which there is a case whose own answer was asked for before, each with the best one.

        A case without a known source is earlier than any answer. An answer is never compared with its own case.
        """
        if not self._read:
            return []
        found = self._earliest_of(some, [self._same(answer) for answer in some])
        left = [place for place, one in enumerate(found) if one is None]
        alike = self._alike([some[place] for place in left])
        for place, one in zip(left, self._earliest_of([some[place] for place in left], alike), strict=True):
            found[place] = one
        return [(answer, one) for answer, one in zip(some, found, strict=True) if one is not None]

    @cached_property
    def _by_text(self) -> _Index:
        return _index((case, case.question.text) for case in self.cases)

    @cached_property
    def _by_normalised(self) -> _Index:
        return _index((case, normalised_question(case.question.text)) for case in self.cases)

    @cached_property
    def _by_documents(self) -> Mapping[frozenset[str], Mapping[str, Sequence[Case]]]:
        """Cases whose questions say by themselves what is asked."""
        found: dict[frozenset[str], dict[str, list[Case]]] = defaultdict(lambda: defaultdict(list))
        for case in self.cases:
            if case.question.conversation_hash is None:
                found[case.documents][case.question.text].append(case)
        return found

    def _same(self, answer: ComparableAnswer) -> Sequence[Reference]:
        """Return the cases with the answer's question, best first."""
        question = answer.case_question
        if question is None:
            return ()
        about = (question.conversation_hash, frozenset(answer.documents))
        exact = self._by_text.get((question.text, *about), ())
        text = normalised_question(question.text)
        normalised = self._by_normalised.get((text, *about), ()) if text else ()
        return [
            *(Reference(case, ReferenceMatch.EXACT) for case in exact),
            *(Reference(case, ReferenceMatch.NORMALISED) for case in normalised if case.question.text != question.text),
        ]

    def _alike(self, some: Sequence[ComparableAnswer]) -> list[Sequence[Reference]]:
        """Return the cases with a similar question for each of these answers, best first."""
        found: list[Sequence[Reference]] = [()] * len(some)
        if self._similar is None:
            return found
        asked: dict[frozenset[str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for place, answer in enumerate(some):
            if answer.case_question is not None and answer.case_question.conversation_hash is None:
                asked[frozenset(answer.documents)][answer.case_question.text].append(place)
        for documents, places in asked.items():
            known = self._by_documents.get(documents, {})
            cases = list(known.values())
            similar = self._similar.similar(list(places), list(known)) if known else ()
            for of_question, pairs in zip(places.values(), similar, strict=False):
                references = [
                    Reference(case, ReferenceMatch.EMBEDDING, similarity)
                    for at, similarity in pairs
                    for case in cases[at]
                ]
                for place in of_question:
                    found[place] = references
        return found

    def _earliest_of(
        self, some: Sequence[ComparableAnswer], found: Sequence[Sequence[Reference]]
    ) -> list[Reference | None]:
        """Return of each answer's cases the first that is not its own and was there before it."""
        sources = self._sources_of({one.case.case_id: one.case for about in found for one in about}.values())
        return [_first_earlier(answer, about, sources) for answer, about in zip(some, found, strict=True)]

    def _sources_of(self, cases: Iterable[Case]) -> Mapping[str, _Source | None]:
        """Return by case the answers that cases were made from; None for those that are no longer in the log."""
        new = {case.case_id: case for case in cases if case.case_id not in self._sources}
        if new:
            found = possible_sources(self._logs, [_as_row(case) for case in new.values()])
            self._sources |= {name: _source(found.get(name, ())) for name in new}
        return self._sources


def _as_row(case: Case) -> dict[str, Any]:
    names = ("case_id", "deployment", "source_response_id", "source_date", "answer")
    return {name: getattr(case, name) for name in names} | {"question": case.question.text}


def _source(rows: Sequence[Mapping[str, Any]]) -> _Source | None:
    if not rows:
        return None
    return _Source(min(row["requested_at"] for row in rows), frozenset(row["event_id"] for row in rows))


def _index(cases: Iterable[tuple[Case, str]]) -> _Index:
    found: dict[tuple[str, str | None, frozenset[str]], list[Case]] = defaultdict(list)
    for case, text in cases:
        found[text, case.question.conversation_hash, case.documents].append(case)
    return dict(found)


def _first_earlier(
    answer: ComparableAnswer, found: Iterable[Reference], sources: Mapping[str, _Source | None]
) -> Reference | None:
    """Return the first case that was not made from the answer itself, and whose own answer was there before it."""
    names = {answer.event_id, answer.response_id, *answer.response_ids} - {None}
    for one in found:
        source = sources[one.case.case_id]
        is_own = one.case.source_response_id in names if source is None else answer.event_id in source.event_ids
        if not is_own and (source is None or source.requested_at < answer.requested_at):
            return one
    return None
