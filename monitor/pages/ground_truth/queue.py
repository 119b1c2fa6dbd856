"""Queue of cases: those of a deployment, or of all, the most useful first, and all that is known of the chosen one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from lake.queries.alike_cases import AlikeCases, alike_cases
from lake.queries.answer_details import read_answer_signals
from lake.queries.answer_lookup import locate_source
from lake.queries.asked_questions import comparing_metrics, times_asked
from lake.queries.case_versions import cases_in, history_in, newest_versions
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.tables.day_reading import map_at_once
from lake.tables.lake import Lake
from monitor.pages.answers.addresses import deployment_of
from monitor.pages.answers.fact_places import places_of
from monitor.pages.texts import TextMark, marked

MOST = 200
"""Cases that are listed."""
ASKED_WITHIN = timedelta(days=7)
"""How often a question was asked is counted in the answers of so long a time."""
COUNTED_IN = 20
"""Deployments of a queue of all in which that is counted."""
_LISTED = (
    "case_id", "version", "status", "confidence", "question", "answer", "facts", "conversation_hash", "documents",
)  # fmt: skip
_OF_FACTS = "facts_"
"""Metrics that need the facts of a case begin so."""


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
    asked: int = 0
    """Answers of the last 7 days to its question."""
    deployment: str = ""


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
    asked: int
    """Answers of the last 7 days to its question."""
    metrics: Sequence[str]
    """Metrics that would compare answers with it."""

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
    """Cases of one status, the most useful first, how many there are of each status, and the chosen one.

    Most useful are those whose questions were asked most often of late; of equal ones the surest.
    """

    counts: Mapping[str, int]
    cases: Sequence[QueuedCase] = ()
    chosen: CaseView | None = None
    previous: str = ""
    next: str = ""
    total: int = field(default=0)
    surest: int | None = None
    """Proposed cases from the confidence on that was asked for."""


def read_queue(
    lake: Lake,
    name: str,
    status: CaseStatus | None,
    case_id: str,
    now: datetime,
    *,
    with_texts: bool,
    least: float | None = None,
) -> Queue:
    """Read the queue; the first case is chosen where none is named, or the named one is not there.

    `least` is a confidence from which on proposed cases are counted.
    """
    rows = lake.table(GROUND_TRUTH, deployment_of(name)).read()
    every = cases_in(rows)
    counts = {str(one): sum(case["status"] == one for case in every) for one in CaseStatus}
    alike = alike_cases(every)
    known = {case["case_id"]: case for case in every}
    asked = times_asked(lake, deployment_of(name), every, now - ASKED_WITHIN, now)
    wanted = _ordered([case for case in every if status is None or case["status"] == status], asked)
    cases = [_queued(case, alike, asked, name, with_texts=with_texts) for case in wanted[:MOST]]
    ids = [case["case_id"] for case in wanted]
    chosen = known.get(case_id) or (wanted[0] if wanted else None)
    to_accept = None if least is None else len(surest(every, least))
    if chosen is None or not with_texts:
        return Queue(counts, cases, total=len(wanted), surest=to_accept)
    at = ids.index(chosen["case_id"]) if chosen["case_id"] in ids else -1
    view = _view(lake, name, chosen, rows, alike.get(chosen["case_id"], AlikeCases()), asked[chosen["case_id"]], now)
    before = ids[at - 1] if at > 0 else ""
    after = ids[at + 1] if at + 1 < len(ids) else ""
    return Queue(counts, cases, view, before, after, len(wanted), to_accept)


def read_queues(
    lake: Lake, names: Sequence[str], status: CaseStatus | None, now: datetime, may_read: Callable[[str], bool]
) -> Queue:
    """Read one queue of the cases of several deployments; none is chosen.

    How often a question was asked is counted in the deployments with the most of these cases.
    """

    def read(name: str) -> list[dict[str, Any]]:
        table = lake.table(GROUND_TRUTH, deployment_of(name))
        return [] if table.version() is None else newest_versions(table.read(_LISTED)).to_pylist()

    of_each = dict(zip(names, map_at_once(lake.root, read, names), strict=True))
    counts = Counter(case["status"] for cases in of_each.values() for case in cases)
    wanted = {
        name: [case for case in cases if status is None or case["status"] == status] for name, cases in of_each.items()
    }
    largest = sorted((name for name in names if wanted[name]), key=lambda name: (-len(wanted[name]), name))
    found = []
    for place, name in enumerate(largest):
        alike = alike_cases(of_each[name])
        counted = wanted[name] if place < COUNTED_IN else []
        asked = times_asked(lake, deployment_of(name), counted, now - ASKED_WITHIN, now)
        found += [_queued(one, alike, asked, name, with_texts=may_read(name)) for one in wanted[name]]
    found.sort(key=lambda one: (-one.asked, -(one.confidence or 0.0), one.deployment, one.case_id))
    return Queue({str(one): counts[one] for one in CaseStatus}, found[:MOST], total=len(found))


def surest(cases: Sequence[Mapping[str, Any]], least: float) -> list[Mapping[str, Any]]:
    """Return the proposed cases from a confidence on that no other case contradicts."""
    alike = alike_cases(cases)
    return [
        one
        for one in cases
        if one["status"] == CaseStatus.PROPOSED
        and (one["confidence"] or 0.0) >= least
        and not alike.get(one["case_id"], AlikeCases()).contradicting
    ]


def _ordered(cases: Iterable[dict[str, Any]], asked: Mapping[str, int]) -> list[dict[str, Any]]:
    return sorted(cases, key=lambda case: (-asked[case["case_id"]], -(case["confidence"] or 0.0), case["case_id"]))


def _queued(
    case: Mapping[str, Any],
    every_alike: Mapping[str, AlikeCases],
    asked: Mapping[str, int],
    name: str,
    *,
    with_texts: bool,
) -> QueuedCase:
    alike = every_alike.get(case["case_id"], AlikeCases())
    return QueuedCase(
        case_id=case["case_id"],
        version=case["version"] or 1,
        status=case["status"],
        confidence=case["confidence"],
        facts=len(case["facts"] or ()),
        question=case["question"] if with_texts else None,
        answer=case["answer"] if with_texts else None,
        duplicates=alike.duplicates,
        contradicts=alike.contradicting,
        asked=asked.get(case["case_id"], 0),
        deployment=name,
    )


def _view(
    lake: Lake, name: str, case: Mapping[str, Any], rows: pa.Table, alike: AlikeCases, asked: int, now: datetime
) -> CaseView:
    deployment = deployment_of(name)
    history = [
        CaseVersion(one["version"], one["status"], one["updated_by"], one["updated_at"], one["note"])
        for one in history_in(rows, case["case_id"])
    ]
    metrics = comparing_metrics(lake, deployment, now - ASKED_WITHIN, now)
    return CaseView(
        row=case,
        duplicates=alike.duplicates,
        contradicts=alike.contradicting,
        history=history,
        signals=_signals(lake, deployment, case),
        asked=asked,
        metrics=[one for one in metrics if case["facts"] or not one.startswith(_OF_FACTS)],
    )


def _signals(lake: Lake, deployment: str | None, case: Mapping[str, Any]) -> list[CaseSignal]:
    source = locate_source(lake, deployment, case)
    if source is None:
        return []
    signals = read_answer_signals(lake, deployment, source.date, source.event_id)
    return [CaseSignal(one.signal or "", one.value, one.origin, one.signaled_at) for one in signals if one.signaled_at]
