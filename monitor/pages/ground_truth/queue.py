"""Queue of cases: those of a deployment, or of all, the most useful first, and all that is known of the chosen one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from lake.queries.answer_details import read_answer_signals
from lake.queries.answer_lookup import locate_source
from lake.queries.ground_truth.alike_cases import AlikeCases, alike_cases
from lake.queries.ground_truth.asked_questions import (
    Asked,
    comparing_metrics,
    questions_asked,
    times_asked,
)
from lake.queries.ground_truth.case_versions import cases_in, history_in, is_doubted, newest_versions
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.spec.schemas import deployment_of
from lake.tables.day_reading import map_at_once
from lake.tables.lake import Lake
from monitor.pages.answers.fact_places import places_of
from monitor.pages.texts import TextMark, marked

MOST = 200
"""Cases that are listed."""
ASKED_WITHIN = timedelta(days=7)
"""How often a question was asked is counted in the answers of so long a time."""
COUNTED_IN = 20
"""Deployments of a queue of all in which that is counted."""
KEPT = timedelta(minutes=5)
"""What was counted is shown for so long a time: a queue is looked at case by case."""
_LISTED = (
    "case_id", "version", "status", "confidence", "doubt", "question", "answer", "facts", "conversation_hash",
    "documents",
)  # fmt: skip
_SHORT = ("case_id", "version", "status", "confidence")
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
    doubt: str | None = None
    """Why no rule accepts it."""


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
    doubt: str | None
    """Why no rule accepts it, of a proposed case."""
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

    Most useful are those that another case contradicts, and then those whose questions were asked most often of late;
    of equal ones the surest.
    """

    counts: Mapping[str, int]
    cases: Sequence[QueuedCase] = ()
    chosen: CaseView | None = None
    previous: str = ""
    next: str = ""
    total: int = field(default=0)
    surest: int | None = None
    """Proposed cases from the confidence on that was asked for, which may be accepted together."""
    doubted: int = 0
    """Others from that confidence on, which only a person may accept, one by one."""
    contradicted: int = 0
    """Accepted cases that another case contradicts; of all deployments those of the ones that are counted in."""


class RecentlyAsked:
    """What was asked of late, by deployment, counted anew every few minutes."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._counted: dict[str, tuple[datetime, Asked]] = {}

    def of(self, name: str, now: datetime) -> Asked:
        """Return how often each question was asked."""
        at, asked = self._counted.get(name, (now - KEPT, Counter[int]()))
        if now - at >= KEPT:
            asked = questions_asked(self._lake, deployment_of(name), now - ASKED_WITHIN, now)
            kept = {one: counted for one, counted in self._counted.items() if now - counted[0] < KEPT}
            self._counted = kept | {name: (now, asked)}
        return asked


def read_queue(
    lake: Lake,
    recent: RecentlyAsked,
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
    asked = times_asked(recent.of(name, now), every) if every else {}
    against = _contradicted(alike)
    wanted = _ordered([case for case in every if status is None or case["status"] == status], asked, against)
    contradicted = sum(one["status"] == CaseStatus.ACCEPTED and one["case_id"] in against for one in every)
    cases = [_queued(case, alike, asked, name, with_texts=with_texts) for case in wanted[:MOST]]
    ids = [case["case_id"] for case in wanted]
    chosen = known.get(case_id) or (wanted[0] if wanted else None)
    to_accept = None if least is None else len(surest(every, least))
    doubted = 0 if least is None else sum(is_doubted(one) and (one["confidence"] or 0.0) >= least for one in every)
    queue = Queue(counts, cases, total=len(wanted), surest=to_accept, doubted=doubted, contradicted=contradicted)
    if chosen is None or not with_texts:
        return queue
    at = ids.index(chosen["case_id"]) if chosen["case_id"] in ids else -1
    view = _view(lake, name, chosen, rows, alike.get(chosen["case_id"], AlikeCases()), asked[chosen["case_id"]], now)
    before = ids[at - 1] if at > 0 else ""
    after = ids[at + 1] if at + 1 < len(ids) else ""
    return replace(queue, chosen=view, previous=before, next=after)


def read_queues(
    lake: Lake,
    recent: RecentlyAsked,
    names: Sequence[str],
    status: CaseStatus | None,
    now: datetime,
    may_read: Callable[[str], bool],
) -> Queue:
    """Read one queue of the cases of several deployments; none is chosen.

    How often a question was asked, and which cases contradict each other, is looked for in the deployments with the
    most of these cases. Texts are read once of these and of the others that have a case in the list.
    """
    every = _newest_of_all(lake, names, _SHORT)
    counts = Counter(case["status"] for cases in every.values() for case in cases)
    wanted = {name: [one for one in cases if status in (None, one["status"])] for name, cases in every.items()}
    largest = sorted((name for name in names if wanted[name]), key=lambda name: (-len(wanted[name]), name))
    whole = _newest_of_all(lake, largest[:COUNTED_IN], _LISTED)
    asked = {name: times_asked(recent.of(name, now), cases) for name, cases in whole.items()}
    alike = {name: alike_cases(cases) for name, cases in whole.items()}
    against = {(name, case_id) for name, cases in alike.items() for case_id in _contradicted(cases)}
    contradicted = sum(
        one["status"] == CaseStatus.ACCEPTED and (name, one["case_id"]) in against
        for name, cases in whole.items()
        for one in cases
    )
    found = [(name, one) for name in largest for one in wanted[name]]

    def order(named: tuple[str, dict[str, Any]]) -> tuple[bool, int, float, str, str]:
        name, one = named
        case_id = one["case_id"]
        times = asked.get(name, {}).get(case_id, 0)
        return (name, case_id) not in against, -times, -(one["confidence"] or 0.0), name, case_id

    listed = [(name, one["case_id"]) for name, one in sorted(found, key=order)[:MOST]]
    others = _newest_of_all(lake, list(dict.fromkeys(name for name, _ in listed if name not in whole)), _LISTED)
    alike |= {name: alike_cases(cases) for name, cases in others.items()}
    rows = {(name, one["case_id"]): one for name, cases in (whole | others).items() for one in cases}
    cases = [
        _queued(rows[name, case_id], alike[name], asked.get(name, {}), name, with_texts=may_read(name))
        for name, case_id in listed
        if (name, case_id) in rows
    ]
    return Queue({str(one): counts[one] for one in CaseStatus}, cases, total=len(found), contradicted=contradicted)


def _newest_of_all(lake: Lake, names: Sequence[str], columns: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Read some columns of the newest versions of the cases of deployments."""

    def read(name: str) -> list[dict[str, Any]]:
        table = lake.table(GROUND_TRUTH, deployment_of(name))
        return [] if table.version() is None else list(newest_versions(table.read(columns)).to_pylist())

    return dict(zip(names, map_at_once(lake.root, read, names), strict=True))


def _contradicted(alike: Mapping[str, AlikeCases]) -> set[str]:
    return {case_id for case_id, one in alike.items() if one.contradicting}


def surest(cases: Sequence[Mapping[str, Any]], least: float) -> list[Mapping[str, Any]]:
    """Return the proposed cases from a confidence on that no other case contradicts and that are not doubted."""
    alike = alike_cases(cases)
    return [
        one
        for one in cases
        if one["status"] == CaseStatus.PROPOSED
        and (one["confidence"] or 0.0) >= least
        and not is_doubted(one)
        and not alike.get(one["case_id"], AlikeCases()).contradicting
    ]


def _ordered(
    cases: Iterable[dict[str, Any]], asked: Mapping[str, int], contradicted: Container[str]
) -> list[dict[str, Any]]:
    def order(case: Mapping[str, Any]) -> tuple[bool, int, float, str]:
        case_id = case["case_id"]
        return case_id not in contradicted, -asked[case_id], -(case["confidence"] or 0.0), case_id

    return sorted(cases, key=order)


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
        doubt=case["doubt"] if is_doubted(case) else None,
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
        doubt=case["doubt"] if is_doubted(case) else None,
        metrics=[one for one in metrics if case["facts"] or not one.startswith(_OF_FACTS)],
    )


def _signals(lake: Lake, deployment: str | None, case: Mapping[str, Any]) -> list[CaseSignal]:
    source = locate_source(lake, deployment, case)
    if source is None:
        return []
    signals = read_answer_signals(lake, deployment, source.date, source.event_id)
    return [CaseSignal(one.signal or "", one.value, one.origin, one.signaled_at) for one in signals if one.signaled_at]
