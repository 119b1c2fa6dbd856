"""Handlers of saved searches: their list as JSON, and the forms that save and remove one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from lake.spec.service_vocabulary import AuditAction
from monitor.pages.answers.addresses import Visible
from monitor.pages.answers.query import AnswerQuery, BadQueryError
from monitor.pages.answers.saved_searches import (
    MOST_CHARACTERS,
    MOST_SEARCHES,
    SavedSearch,
    read_saved_searches,
    remove_search,
    save_search,
)
from monitor.pages.forms import checked_form
from monitor.pages.json_answers import json_answer
from monitor.pages.page import Page
from runtime.unseen_characters import visible

_FORBIDDEN, _CONFLICT, _UNPROCESSABLE, _SEE_OTHER = 403, 409, 422, 303


@dataclass(frozen=True)
class SavedSearches:
    """Those that the reader may look at, by deployment and name."""

    searches: Sequence[SavedSearch]


class SavedSearchPages(Page):
    """Handlers of saved searches. Who may act on a deployment may save and remove its searches."""

    def show_json(self, request: Request, deployment: str = "") -> Response:
        """Answer with the saved searches, of one deployment where it is named."""
        seen = Visible.to(request, self._monitor.snapshot)
        found = self._reads.run(seen.reader, lambda: read_saved_searches(self._monitor.lake, seen, deployment))
        return json_answer(SavedSearches(found))

    async def save(self, request: Request) -> Response:
        """Save a search by a name, in the place of one that has the name."""
        fields = await checked_form(request, self._authentication)
        return await run_in_threadpool(self._save, request, fields)

    async def remove(self, request: Request) -> Response:
        """Remove a saved search."""
        fields = await checked_form(request, self._authentication)
        return await run_in_threadpool(self._remove, request, fields)

    def _save(self, request: Request, fields: Mapping[str, str]) -> Response:
        seen, query, name = self._asked(request, fields)
        lake, now = self._monitor.lake, self._monitor.now()

        def save() -> int:
            known = {one.name for one in read_saved_searches(lake, seen, query.deployment)}
            if len(known | {name}) > MOST_SEARCHES:
                raise HTTPException(_CONFLICT, f"A deployment has at most {MOST_SEARCHES} searches: remove one first")
            return save_search(lake, query, name, seen.reader.who, now)

        number = self._reads.run(seen.reader, save)
        self._monitor.audit.note(
            seen.reader.who, AuditAction.SAVE_SEARCH, query.deployment, detail=f"saved search {number}"
        )
        return RedirectResponse(query.address(), _SEE_OTHER)

    def _remove(self, request: Request, fields: Mapping[str, str]) -> Response:
        seen, query, name = self._asked(request, fields)
        who, now = seen.reader.who, self._monitor.now()
        number = self._reads.run(
            seen.reader, lambda: remove_search(self._monitor.lake, query.deployment, name, who, now)
        )
        self._monitor.audit.note(who, AuditAction.SAVE_SEARCH, query.deployment, detail=f"removed search {number}")
        return RedirectResponse(query.address(), _SEE_OTHER)

    def _asked(self, request: Request, fields: Mapping[str, str]) -> tuple[Visible, AnswerQuery, str]:
        """Return who asks, the search of the form, and the name; raises HTTPException."""
        seen = Visible.to(request, self._monitor.snapshot)
        try:
            query = seen.query(dict(parse_qsl(fields.get("list", ""))))
        except (BadQueryError, ValueError) as error:
            raise HTTPException(_UNPROCESSABLE, str(error)) from None
        if not query.deployment:
            raise HTTPException(_UNPROCESSABLE, "A search is saved of one deployment: choose it first")
        if not seen.reader.may_act(query.deployment):
            raise HTTPException(
                _FORBIDDEN, "Only people with the right to act on this deployment can save and remove its searches"
            )
        name = visible(" ".join(fields.get("name", "").split()))
        if not 0 < len(name) <= MOST_CHARACTERS:
            raise HTTPException(_UNPROCESSABLE, f"A search has a name of 1 to {MOST_CHARACTERS} characters")
        return seen, query, name
