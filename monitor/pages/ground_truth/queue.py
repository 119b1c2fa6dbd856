"""Queue of cases: those of a deployment by status, the next ones first, and all that is known of the chosen one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from lake.queries.alike_cases import AlikeCases, alike_cases
from lake.queries.answer_details import read_answer_signals
from lake.queries.answer_lookup import locate_source
from lake.queries.case_versions import cases_in, history_in
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.tables.lake import Lake
from monitor.pages.answers.addresses import deployment_of
from monitor.pages.ground_truth.fact_places import places_of
from monitor.pages.texts import TextMark, marked

MOST = 200
"""Cases that are listed."""


@dataclass(frozen=True)
class QueuedCase:
    """A case in the list; texts are None for who may not read them."""

    case_id: str
    version: int
    status: str
    confidence: float | None
    facts: int
    question: str | None
    answer: str | None
    duplicates: Sequence[str] = ()
    contradicts: Sequence[str] = ()


@dataclass(frozen=True)
class CaseVersion:
    """A version of a case: who made it, when, and what it was then."""

    version: int
    status: str
    updated_by: str | None
    updated_at: datetime | None
    note: str | None


@dataclass(frozen=True)
class CaseSignal:
    """What somebody, or their behaviour, said of the answer that a case was made of."""

    signal: str
    value: float | None
    origin: str | None
    signaled_at: datetime


@dataclass(frozen=True)
class CaseView:
    """The chosen case with all that is known of it; `row` are the columns of its newest version."""

    row: Mapping[str, Any]
    duplicates: Sequence[str]
    contradicts: Sequence[str]
    history: Sequence[CaseVersion]
    signals: Sequence[CaseSignal]

    @property
    def can_be_undone(self) -> bool:
        """Whether there is an earlier version."""
        return len(self.history) > 1

    @property
    def marked_contexts(self) -> list[Markup]:
        """The contexts as HTML, each fact marked where it stands."""
        facts, contexts = list(self.row["facts"] or ()), list(self.row["context"] or ())
        marks: list[list[TextMark]] = [[] for _ in contexts]
        for number, place in enumerate(places_of(facts, contexts), 1):
            if place is not None:
                chunk, start, end = place
                marks[chunk].append(TextMark("fact", [(start, end)], f"fact {number}"))
        return [marked(text, own) for text, own in zip(contexts, marks, strict=True)]

    @property
    def missing_facts(self) -> list[str]:
        """The facts that stand in no context."""
        facts, contexts = list(self.row["facts"] or ()), list(self.row["context"] or ())
        places = places_of(facts, contexts) if contexts else [(0, 0, 0)] * len(facts)
        return [fact for fact, place in zip(facts, places, strict=True) if place is None]


@dataclass(frozen=True)
class Queue:
    """Cases of one status, the surest first, how many there are of each status, and the chosen one."""

    counts: Mapping[str, int]
    cases: Sequence[QueuedCase] = ()
    chosen: CaseView | None = None
    previous: str = ""
    next: str = ""
    total: int = field(default=0)


def read_queue(lake: Lake, name: str, status: CaseStatus | None, case_id: str, *, with_texts: bool) -> Queue:
    """Read the queue; the first case is chosen where none is named, or the named one is not there."""
    rows = lake.table(GROUND_TRUTH, deployment_of(name)).read()
    every = cases_in(rows)
    counts = {str(one): sum(case["status"] == one for case in every) for one in CaseStatus}
    alike = alike_cases(every)
    wanted = [case for case in every if status is None or case["status"] == status]
    wanted.sort(key=lambda case: (-(case["confidence"] or 0.0), case["case_id"]))
    cases = [_queued(case, alike.get(case["case_id"], AlikeCases()), with_texts) for case in wanted[:MOST]]
    ids = [case["case_id"] for case in wanted]
    known = {case["case_id"]: case for case in every}
    chosen = known.get(case_id) or (wanted[0] if wanted else None)
    if chosen is None or not with_texts:
        return Queue(counts, cases, total=len(wanted))
    at = ids.index(chosen["case_id"]) if chosen["case_id"] in ids else -1
    signals = _signals(lake, deployment_of(name), chosen)
    view = _view(chosen, rows, alike.get(chosen["case_id"], AlikeCases()), signals)
    before = ids[at - 1] if at > 0 else ""
    after = ids[at + 1] if at + 1 < len(ids) else ""
    return Queue(counts, cases, view, before, after, len(wanted))


def _queued(case: Mapping[str, Any], alike: AlikeCases, with_texts: bool) -> QueuedCase:
    return QueuedCase(
        case_id=case["case_id"],
        version=case["version"],
        status=case["status"],
        confidence=case["confidence"],
        facts=len(case["facts"] or ()),
        question=case["question"] if with_texts else None,
        answer=case["answer"] if with_texts else None,
        duplicates=alike.duplicates,
        contradicts=alike.contradicting,
    )


def _view(case: Mapping[str, Any], rows: pa.Table, alike: AlikeCases, signals: Sequence[CaseSignal]) -> CaseView:
    history = [
        CaseVersion(one["version"], one["status"], one["updated_by"], one["updated_at"], one["note"])
        for one in history_in(rows, case["case_id"])
    ]
    return CaseView(case, alike.duplicates, alike.contradicting, history, signals)


def _signals(lake: Lake, deployment: str | None, case: Mapping[str, Any]) -> list[CaseSignal]:
    source = locate_source(lake, deployment, case)
    if source is None:
        return []
    signals = read_answer_signals(lake, deployment, source.date, source.event_id)
    return [CaseSignal(one.signal or "", one.value, one.origin, one.signaled_at) for one in signals if one.signaled_at]
