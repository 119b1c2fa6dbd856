"""Handlers of the page of ground truth, of the same as JSON, and of its forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ConfigDict
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from lake.spec.case_vocabulary import CaseStatus
from lake.spec.service_vocabulary import AuditAction
from lake.spec.tool_calls import call_line
from monitor.access.authentication import Authentication
from monitor.access.reader import Reader
from monitor.pages.answers.addresses import AnswerPlace, Visible
from monitor.pages.forms import checked_form
from monitor.pages.ground_truth.actions import MOST_CHARACTERS, CaseActions, fact_line, least_confidence
from monitor.pages.ground_truth.queue import (
    ASKED_WITHIN,
    COUNTED_IN,
    CaseSignal,
    CaseVersion,
    Queue,
    QueuedCase,
    RecentlyAsked,
    read_queue,
    read_queues,
)
from monitor.pages.json_answers import json_answer
from monitor.pages.lake_reads import LakeReads
from monitor.pages.page import Page
from monitor.pages.rendering import Renderer
from monitor.service.monitor import Monitor

_NOT_FOUND, _FORBIDDEN, _UNPROCESSABLE, _SEE_OTHER = 404, 403, 422, 303
_ALL = "all"
Act = Callable[[Reader, str, Mapping[str, str]], None]


@dataclass(frozen=True)
class CaseQuery:
    """The fields of the address."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    deployment: str = ""
    """Deployment whose cases are listed; without it those of all."""
    status: str = CaseStatus.PROPOSED
    """Status of the cases that are listed, or `all`."""
    case: str = ""
    """Id of the case that is shown in full; without it the first of the list."""
    least: str = ""
    """Confidence from which on all proposed cases are to be accepted; the page asks once more."""

    @property
    def chosen_status(self) -> CaseStatus | None:
        """The status to list; None for all. Raises HTTPException."""
        if self.status == _ALL:
            return None
        try:
            return CaseStatus(self.status)
        except ValueError:
            words = ", ".join([*CaseStatus, _ALL])
            raise HTTPException(_UNPROCESSABLE, f"A status is one of {words}") from None

    def with_case(self, case_id: str) -> str:
        """Return the address of another case of the list."""
        return case_address(self.deployment, self.status, case_id)


def case_address(deployment: str, status: str, case_id: str = "") -> str:
    """Return the address of a case in the list of a status."""
    return f"/ground-truth?{urlencode({'deployment': deployment, 'status': status, 'case': case_id})}"


@dataclass(frozen=True)
class CaseData:
    """The chosen case: texts, facts, who decided, its history, and the signals of the answer that it was made of."""

    case_id: str
    version: int
    status: str
    question: str | None
    answer: str | None
    facts: Sequence[str]
    missing_facts: Sequence[str]
    contexts: Sequence[str]
    documents: Sequence[str]
    tool_calls: Sequence[str] | None
    source_response_id: str | None
    history: Sequence[CaseVersion]
    signals: Sequence[CaseSignal]
    asked: int
    metrics: Sequence[str]
    doubt: str | None


@dataclass(frozen=True)
class QueueData:
    """Cases of a deployment, or of all where it is empty, how many there are of each status, and the chosen one."""

    deployment: str
    counts: Mapping[str, int]
    total: int
    cases: Sequence[QueuedCase]
    chosen: CaseData | None


class GroundTruthPage(Page):
    """Handlers of the queue of cases, and of its forms."""

    def __init__(self, monitor: Monitor, renderer: Renderer, authentication: Authentication, reads: LakeReads) -> None:
        super().__init__(monitor, renderer, authentication, reads)
        self._actions = CaseActions(monitor)
        self._recent = RecentlyAsked(monitor.lake)

    def show(self, request: Request) -> Response:
        """Answer with the queue as a page."""
        seen, query, queue = self._read(request)
        name = query.deployment
        return self._renderer.page(
            request,
            "ground_truth.html",
            names=list(seen.states),
            query=query,
            queue=queue,
            view=queue.chosen,
            may_read_texts=bool(name) and seen.may_read_texts(name),
            may_act=bool(name) and seen.reader.may_act(name),
            done=request.query_params.get("done", ""),
            together=request.query_params.get("together", ""),
            least=query.least,
            asked_days=ASKED_WITHIN.days,
            counted_in=COUNTED_IN,
            most_characters=MOST_CHARACTERS,
            ALL=_ALL,
            fact_line=fact_line,
            case_address=case_address,
            call_line=call_line,
        )

    def show_json(self, request: Request) -> Response:
        """Answer with the queue as JSON."""
        _, query, queue = self._read(request)
        return json_answer(QueueData(query.deployment, queue.counts, queue.total, queue.cases, _data_of(queue)))

    async def decide(self, request: Request) -> Response:
        """Accept or reject a case."""
        return await self._act(request, self._actions.decide)

    async def edit(self, request: Request) -> Response:
        """Change the texts of a case."""
        return await self._act(request, self._actions.edit)

    async def undo(self, request: Request) -> Response:
        """Take the newest version of a case back."""
        return await self._act(request, self._actions.undo)

    async def accept_surest(self, request: Request) -> Response:
        """Accept all proposed cases from a confidence on."""
        return await self._act_together(request, lambda *given: f"&together={self._actions.accept_surest(*given)}")

    async def undo_together(self, request: Request) -> Response:
        """Make those proposed again that were accepted together."""

        def undo(*given: Any) -> str:
            self._actions.undo_together(*given)
            return "&done="

        return await self._act_together(request, undo)

    async def make(self, request: Request) -> Response:
        """Make a case of an answer."""
        fields = await checked_form(request, self._authentication)
        seen = Visible.to(request, self._monitor.snapshot)
        place = AnswerPlace.read(fields, seen)
        self._check_rights(seen, place.name)
        case_id = await run_in_threadpool(self._actions.make, seen.reader, place)
        return RedirectResponse(CaseQuery(place.name, _ALL).with_case(case_id) + "&done=made", _SEE_OTHER)

    async def _act(self, request: Request, act: Act) -> Response:
        fields = await checked_form(request, self._authentication)
        seen, name = Visible.to(request, self._monitor.snapshot), fields.get("deployment", "")
        if name not in seen.states:
            raise HTTPException(_NOT_FOUND, "There is no such case")
        self._check_rights(seen, name)
        query = CaseQuery(name, fields.get("list") or CaseStatus.PROPOSED)
        # It reads and writes the lake: other requests are answered meanwhile.
        await run_in_threadpool(act, seen.reader, name, fields)
        done = f"&{urlencode({'done': fields.get('case', '')})}"
        return RedirectResponse(query.with_case(fields.get("then") or fields.get("case", "")) + done, _SEE_OTHER)

    async def _act_together(self, request: Request, act: Callable[[Reader, str, Mapping[str, str]], str]) -> Response:
        fields = await checked_form(request, self._authentication)
        seen, name = Visible.to(request, self._monitor.snapshot), fields.get("deployment", "")
        if name not in seen.states:
            raise HTTPException(_NOT_FOUND, "There is no such deployment")
        self._check_rights(seen, name)
        said = await run_in_threadpool(act, seen.reader, name, fields)
        return RedirectResponse(case_address(name, CaseStatus.PROPOSED) + said, _SEE_OTHER)

    def _check_rights(self, seen: Visible, name: str) -> None:
        if not seen.reader.may_act(name) or not seen.may_read_texts(name):
            raise HTTPException(
                _FORBIDDEN,
                "Only people with the right to act on this deployment and to read its texts can change cases",
            )

    def _read(self, request: Request) -> tuple[Visible, CaseQuery, Queue]:
        seen, given = Visible.to(request, self._monitor.snapshot), request.query_params
        listed = given.get("status") or CaseStatus.PROPOSED
        query = CaseQuery(given.get("deployment", ""), listed, given.get("case", ""), given.get("least", ""))
        name, lake, now = query.deployment, self._monitor.lake, self._monitor.now()
        if not name:
            return seen, query, self._reads.run(seen.reader, lambda: self._read_all(seen, query))
        if name not in seen.states:
            raise HTTPException(_NOT_FOUND, "There is no such deployment")
        with_texts, status, least = seen.may_read_texts(name), query.chosen_status, least_confidence(query.least)
        queue = self._reads.run(
            seen.reader,
            lambda: read_queue(lake, self._recent, name, status, query.case, now, with_texts=with_texts, least=least),
        )
        if with_texts and queue.cases:
            detail = f"{len(queue.cases)} cases of ground truth"
            self._monitor.audit.note(seen.reader.who, AuditAction.READ_TEXTS, name, detail=detail)
        return seen, query, queue

    def _read_all(self, seen: Visible, query: CaseQuery) -> Queue:
        """Read the queue of all deployments that the reader may see."""
        now = self._monitor.now()
        names, may_read = list(seen.states), seen.may_read_texts
        queue = read_queues(self._monitor.lake, self._recent, names, query.chosen_status, now, may_read)
        for name, count in Counter(one.deployment for one in queue.cases if one.question is not None).items():
            detail = f"{count} cases of ground truth"
            self._monitor.audit.note(seen.reader.who, AuditAction.READ_TEXTS, name, detail=detail)
        return queue


def _data_of(queue: Queue) -> CaseData | None:
    view = queue.chosen
    if view is None:
        return None
    row = view.row
    return CaseData(
        case_id=row["case_id"],
        version=row["version"],
        status=row["status"],
        question=row["question"],
        answer=row["answer"],
        facts=row["facts"] or (),
        missing_facts=view.missing_facts,
        contexts=row["context"] or (),
        documents=row["documents"] or (),
        tool_calls=None if row["tool_calls"] is None else [call_line(call) for call in row["tool_calls"]],
        source_response_id=row["source_response_id"],
        history=view.history,
        signals=view.signals,
        asked=view.asked,
        metrics=view.metrics,
        doubt=view.doubt,
    )
