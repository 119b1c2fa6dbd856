"""Handlers of the pages of incidents, of the same as JSON, and of the forms of an incident."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from lake.spec.service_vocabulary import AuditAction
from monitor.access.authentication import Authentication
from monitor.access.reader import Reader
from monitor.pages.answers.addresses import Visible, address_of
from monitor.pages.forms import checked_form
from monitor.pages.incidents.actions import MOST_CHARACTERS, Actions, silence_lengths
from monitor.pages.incidents.alert_view import alerts_of
from monitor.pages.incidents.as_json import incident_data, list_data
from monitor.pages.incidents.commands import silence_command
from monitor.pages.incidents.finding import (
    FoundIncident,
    earlier_incidents,
    incident_of,
    listed_incidents,
    other_open_incidents,
)
from monitor.pages.incidents.log_rows import MOST
from monitor.pages.incidents.view import (
    MOST_COMMENTS,
    IncidentView,
    Read,
    chosen_of,
    older_version_of,
    read_for,
    view_of,
)
from monitor.pages.incidents.worst_answers import WORST
from monitor.pages.json_answers import json_answer
from monitor.pages.lake_reads import LakeReads
from monitor.pages.page import Page
from monitor.pages.rendering import Renderer
from monitor.service.monitor import Monitor

_NOT_FOUND, _FORBIDDEN, _UNPROCESSABLE, _UNAVAILABLE, _SEE_OTHER = 404, 403, 422, 503, 303
_MOST_RELATED = 10
_MOST_LISTED = 500
Act = Callable[[Reader, FoundIncident, Mapping[str, str]], str]


@dataclass(frozen=True)
class IncidentAddress:
    """The address of an incident; `metric` chooses whose scores and worst answers are shown."""

    id: str
    metric: str = ""


class IncidentPages(Page):
    """Handlers of the list of incidents, of one incident, and of its forms."""

    def __init__(self, monitor: Monitor, renderer: Renderer, authentication: Authentication, reads: LakeReads) -> None:
        super().__init__(monitor, renderer, authentication, reads)
        self._actions = Actions(monitor, renderer.times.zone)

    def listed(self, request: Request) -> Response:
        """Answer with the open incidents, and those that ended of late."""
        seen = self._seen(request)
        found = listed_incidents(seen.snapshot)
        return self._renderer.page(
            request,
            "incidents.html",
            snapshot=seen.snapshot,
            open=[one for one in found if one.is_open],
            ended=[one for one in found if not one.is_open][:_MOST_LISTED],
        )

    def listed_json(self, request: Request) -> Response:
        """Answer with the same as JSON."""
        return json_answer(list_data(listed_incidents(self._seen(request).snapshot)))

    def show(self, request: Request) -> Response:
        """Answer with one incident as a page."""
        seen, view, problem = self._viewed(request)
        found, given = view.found, request.query_params
        new_silence = self._actions.silence_of(found, given.get("silenced", ""))
        return self._renderer.page(
            request,
            "incident.html",
            view=view,
            found=found,
            problem=problem,
            earlier=earlier_incidents(found)[:_MOST_RELATED],
            others=other_open_incidents(found)[:_MOST_RELATED],
            may_act=seen.reader.may_act(found.name),
            may_read_texts=seen.may_read_texts(found.name),
            has_alertmanager=any(one.format == "alertmanager" for one in self._monitor.settings.webhooks),
            new_silence=new_silence if new_silence and new_silence[1].until > found.now else None,
            ended_silence=self._actions.silence_of(found, given.get("ended", "")),
            new_release=self._actions.release_of(found, given.get("released", "")),
            was_acknowledged="acknowledged" in given and found.incident.acknowledged is not None,
            was_unacknowledged="unacknowledged" in given and found.incident.acknowledged is None,
            address_of=address_of,
            was_withdrawn=given.get("withdrawn", "").isdecimal(),
            silence_lengths=silence_lengths(self._monitor.now(), self._renderer.times.zone),
            silence_command=partial(silence_command, found.name, None),
            most_characters=MOST_CHARACTERS,
            most_rows=MOST,
            most_comments=MOST_COMMENTS,
            most_worst=WORST,
        )

    def show_json(self, request: Request) -> Response:
        """Answer with one incident as JSON; 503 where the lake cannot be read."""
        _, view, problem = self._viewed(request)
        if problem:
            raise HTTPException(_UNAVAILABLE, problem, {"Retry-After": "2"})
        others = other_open_incidents(view.found)
        return json_answer(incident_data(view, earlier_incidents(view.found), others))

    async def acknowledge(self, request: Request) -> Response:
        """Record that the reader takes note of an incident."""

        def act(reader: Reader, found: FoundIncident, fields: Mapping[str, str]) -> str:
            self._actions.acknowledge(reader, found, fields)
            return "acknowledged=1"

        return await self._act(request, act)

    async def withdraw_acknowledgement(self, request: Request) -> Response:
        """Take an acknowledgement back."""

        def act(reader: Reader, found: FoundIncident, _: Mapping[str, str]) -> str:
            self._actions.withdraw_acknowledgement(reader, found)
            return "unacknowledged=1"

        return await self._act(request, act)

    async def silence(self, request: Request) -> Response:
        """Add a silence."""

        def act(reader: Reader, found: FoundIncident, fields: Mapping[str, str]) -> str:
            return f"silenced={self._actions.silence(reader, found, fields, self._monitor.now())}"

        return await self._act(request, act)

    async def end_silence(self, request: Request) -> Response:
        """End a silence."""

        def act(reader: Reader, found: FoundIncident, fields: Mapping[str, str]) -> str:
            return f"ended={self._actions.end_silence(reader, found, fields, self._monitor.now())}"

        return await self._act(request, act)

    async def release(self, request: Request) -> Response:
        """Accept the new level."""

        def act(reader: Reader, found: FoundIncident, fields: Mapping[str, str]) -> str:
            return f"released={self._actions.release(reader, found, fields, self._monitor.now())}"

        return await self._act(request, act)

    async def withdraw(self, request: Request) -> Response:
        """Take an accepted level back."""

        def act(reader: Reader, found: FoundIncident, fields: Mapping[str, str]) -> str:
            return f"withdrawn={self._actions.withdraw(reader, found, fields, self._monitor.now())}"

        return await self._act(request, act)

    async def _act(self, request: Request, act: Act) -> Response:
        fields = await checked_form(request, self._authentication)
        seen = self._seen(request)
        found = incident_of(seen.snapshot, fields.get("id", ""))
        if found is None:
            raise _no_incident()
        if not seen.reader.may_act(found.name):
            raise HTTPException(_FORBIDDEN, "Only people with the right to act on this deployment can do this")
        # It writes to the lake: other requests are answered meanwhile.
        done = await run_in_threadpool(act, seen.reader, found, fields)
        query = urlencode({"id": found.incident.incident_id}, errors="replace")
        return RedirectResponse(f"/incident?{query}&{done}", _SEE_OTHER)

    def _viewed(self, request: Request) -> tuple[Visible, IncidentView, str]:
        """Return what the reader may see, the contents of the page, and why the lake could not be read."""
        seen = self._seen(request)
        if not request.query_params.get("id"):
            raise HTTPException(_UNPROCESSABLE, "The address of an incident has its id: it is missing")
        found = incident_of(seen.snapshot, request.query_params["id"])
        if found is None:
            raise _no_incident()
        metric = request.query_params.get("metric", "")
        chosen = chosen_of(alerts_of(found), metric)
        with_texts = seen.may_read_texts(found.name)
        older = older_version_of(chosen)
        if older is not None and (older not in seen.states or (with_texts and not seen.may_read_texts(older))):
            older = None
        read: Read | None = None
        problem = ""
        try:
            read = self._reads.run(
                seen.reader, lambda: read_for(self._monitor, found, chosen, older, with_texts=with_texts)
            )
        except HTTPException as error:
            # Who was woken sees what the snapshot knows.
            problem = str(error.detail)
        if with_texts and read:
            self._note_texts(seen, found, read)
        return seen, view_of(found, metric, read), problem

    def _note_texts(self, seen: Visible, found: FoundIncident, read: Read) -> None:
        """Note in the audit log that texts were shown, if there were any."""
        shown = len(read.evidence.pairs) if read.evidence else 0
        words = read.evidence.words if read.evidence else None
        compared = words.worst + words.good if words and (words.questions or words.documents) else 0
        if shown or read.comments or compared or read.tool_error:
            detail = f"{shown} answers of incident {found.incident.incident_id}, and earlier ones"
            detail += f"; words of {compared} answers" if compared else ""
            detail += f"; comments: {len(read.comments)}" if read.comments else ""
            detail += "; the last error of a tool" if read.tool_error else ""
            names = (
                {pair.earlier.deployment for pair in read.evidence.pairs if pair.earlier} if read.evidence else set()
            )
            for name in sorted({found.name, *names}):
                self._monitor.audit.note(seen.reader.who, AuditAction.READ_TEXTS, name, detail=detail)

    def _seen(self, request: Request) -> Visible:
        return Visible.to(request, self._monitor.snapshot)


def _no_incident() -> HTTPException:
    """Return what says that there is no such incident: the same for one that may not be seen."""
    return HTTPException(_NOT_FOUND, "There is no such incident")
