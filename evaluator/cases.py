"""Cases of ground truth, and which of them an answer can be compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow.dataset as ds

from evaluator.answers import Answer
from evaluator.tables import DeploymentTables
from lake import Table

_COLUMNS = ("case_id", "question", "documents", "facts", "answer", "source_response_id", "confidence", "status")
_IS_USABLE = ds.field("status").isin(["proposed", "accepted"])


@dataclass(frozen=True, slots=True)
class Case:
    """A question with a reference answer and the facts that it is based on."""

    case_id: str
    question: str
    documents: frozenset[str]
    facts: tuple[str, ...]
    answer: str
    source_response_id: str | None
    confidence: float
    accepted: bool


class CaseBook:
    """The usable cases of one deployment (proposed or accepted), found by question and documents.

    Same question means the same text byte for byte about the same set of documents, which is how aidial-rag-eval
    joins too: "Summarise it" about two documents are two questions. Of several cases an accepted one comes first,
    then the surest.
    """

    def __init__(self, cases: Iterable[Case], logs: Table) -> None:
        self._logs = logs
        self._asked_at: dict[str, datetime | None] = {}
        self._by_question: dict[tuple[str, frozenset[str]], list[Case]] = defaultdict(list)
        for case in sorted(cases, key=lambda case: (not case.accepted, -case.confidence, case.case_id)):
            self._by_question[case.question, case.documents].append(case)

    @classmethod
    def read(cls, tables: DeploymentTables) -> CaseBook:
        """Read the usable cases of a deployment."""
        cases = (
            Case(
                case_id=row["case_id"],
                question=row["question"],
                documents=frozenset(row["documents"] or ()),
                facts=tuple(row["facts"] or ()),
                answer=row["answer"] or "",
                source_response_id=row["source_response_id"],
                confidence=row["confidence"] or 0.0,
                accepted=row["status"] == "accepted",
            )
            for row in tables.truth.read(_COLUMNS, _IS_USABLE).to_pylist()
        )
        return cls(cases, tables.logs)

    def earlier(self, some: Iterable[Answer]) -> list[tuple[Answer, Case]]:
        """Give the answers for which there is a case whose own answer was asked for before, each with the best one.

        A case without a known source is earlier than any answer.
        """
        candidates = [(answer, about) for answer in some if (about := self._about(answer))]
        asked_at = self._source_times(case for _, about in candidates for case in about)
        return [(answer, case) for answer, about in candidates if (case := _first_earlier(answer, about, asked_at))]

    def _about(self, answer: Answer) -> Sequence[Case]:
        """Give the cases with the answer's question that were not made from the answer itself, best first."""
        if answer.question is None:
            return ()
        cases = self._by_question.get((answer.question, frozenset(answer.documents)), ())
        own = {answer.response_id, *answer.response_ids} - {None}
        return [case for case in cases if case.source_response_id not in own]

    def _source_times(self, cases: Iterable[Case]) -> Mapping[str, datetime | None]:
        """When the answers that cases were made from were asked for; None for those that are no longer in the log."""
        ids = sorted({case.source_response_id for case in cases if case.source_response_id} - self._asked_at.keys())
        if ids:
            where = ds.field("response_id").isin(ids)
            rows = self._logs.read(["response_id", "requested_at"], where).to_pylist()
            # The latest first, so that of several rows with one id the earliest stays.
            ordered = sorted(rows, key=lambda row: row["requested_at"], reverse=True)
            self._asked_at |= dict.fromkeys(ids) | {row["response_id"]: row["requested_at"] for row in ordered}
        return self._asked_at


def _first_earlier(answer: Answer, cases: Iterable[Case], asked_at: Mapping[str, datetime | None]) -> Case | None:
    for case in cases:
        asked = asked_at.get(case.source_response_id or "")
        if asked is None or asked < answer.requested_at:
            return case
    return None
