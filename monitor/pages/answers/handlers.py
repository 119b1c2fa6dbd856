"""Handlers of the pages of answers, and of the same as JSON and CSV."""

from __future__ import annotations

import csv
import io
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from lake.queries.answer_details import AnswerScore, read_answer_row
from lake.queries.answer_lookup import locate_response
from lake.queries.answer_search import AnswerPage, AnswerRow, find_answers
from lake.queries.ratings import AnswerLabel
from lake.spec.schemas import deployment_of
from lake.spec.service_vocabulary import AuditAction
from lake.spec.vocabulary import Signal
from lake.tables.lake import Lake
from monitor.alerting.controls.labels import MOST_CHARACTERS, Label, write_label
from monitor.notify.texts.link import response_page
from monitor.notify.texts.onset import incident_onset
from monitor.pages.answers.addresses import (
    AnswerPlace,
    Visible,
    address_of,
    address_with_list,
    day_of,
    in_list,
    no_answer,
)
from monitor.pages.answers.answer_view import AnswerView, as_json_text, read_view
from monitor.pages.answers.everywhere import find_everywhere
from monitor.pages.answers.query import MOST_DAYS, USUAL_COLUMNS, AnswerQuery, BadQueryError, Column
from monitor.pages.answers.reasons import ReasonKind
from monitor.pages.answers.saved_searches import MOST_CHARACTERS as MOST_OF_NAME
from monitor.pages.answers.saved_searches import SavedSearch, read_saved_searches
from monitor.pages.answers.without_texts import page_without_texts, without_others_errors
from monitor.pages.forms import checked_form
from monitor.pages.json_answers import NOT_KEPT, json_answer
from monitor.pages.page import Page
from runtime.spreadsheet_cells import cell_of_text

_MOST_IN_CSV = 10_000
_OF_EACH = 3
"""Answers of each deployment that are shown where all are searched."""
_FORBIDDEN, _NOT_FOUND, _UNPROCESSABLE, _SEE_OTHER = 403, 404, 422, 303
_BEGINNING = date(1970, 1, 1)
FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class AnswerList:
    """A page of the answers that fit a search, and how many fit in all; without the right to texts, without these."""

    total: int
    page: int
    has_more: bool
    rows: Sequence[AnswerRow]


class AnswerPages(Page):
    """Handlers of the search (as a page, JSON and CSV), of one answer, and of its label; they read the lake."""

    def search(self, request: Request) -> Response:
        """Answer with the list that is searched, or with what is wrong with the search."""
        seen, query, found, everywhere, problem = self._seen(request), None, None, None, ""
        try:
            query = seen.query(_fields_of(request))
            if query.deployment:
                found = self._found(seen, query)
            elif query.is_narrow:
                everywhere = find_everywhere(seen, query.with_page(1), lambda one: self._found(seen, one, _OF_EACH))
        except BadQueryError as error:
            problem = str(error)
        return self._renderer.page(
            request,
            "answers.html",
            _UNPROCESSABLE if problem else 200,
            names=list(seen.states),
            metrics=seen.metrics(query),
            query=query,
            found=found,
            everywhere=everywhere,
            problem=problem,
            chosen=_chosen_metric(query),
            first=1 + (found.filter.page - 1) * found.filter.page_size if found else 0,
            all_of_period=AnswerQuery(query.deployment, query.since, query.until).address() if query else "",
            most_in_csv=_MOST_IN_CSV,
            may_read_texts=bool(query) and seen.may_read_texts(query.deployment if query else ""),
            may_act=bool(query) and seen.reader.may_act(query.deployment if query else ""),
            saved=self._saved(seen, query.deployment if query else ""),
            most_of_name=MOST_OF_NAME,
            Column=Column,
            usual_columns=USUAL_COLUMNS,
            in_list=in_list,
        )

    def _saved(self, seen: Visible, deployment: str) -> Sequence[SavedSearch]:
        try:
            return self._reads.run(seen.reader, lambda: read_saved_searches(self._monitor.lake, seen, deployment))
        except HTTPException:
            # The answers, which were read, are shown without them.
            return ()

    def search_json(self, request: Request) -> Response:
        """Answer with a page of the list as JSON."""
        query, found = self._searched(request)
        return json_answer(AnswerList(found.total, query.page, found.has_more, found.rows))

    def search_csv(self, request: Request) -> Response:
        """Answer with the beginning of the list as a file for spreadsheets."""
        _, found = self._searched(request, _MOST_IN_CSV)
        headers = NOT_KEPT | {"Content-Disposition": 'attachment; filename="answers.csv"'}
        return Response(csv_of(found.rows), media_type="text/csv; charset=utf-8", headers=headers)

    def show(self, request: Request) -> Response:
        """Answer with one answer as a page; one that is named by its `response_id` is located first."""
        if "response_id" in request.query_params and "event_id" not in request.query_params:
            return self._show_located(request)
        place, view = self._read(request)
        opened_from, seen = self._list_of(request), self._seen(request)
        references = seen.references(place.name)
        return self._renderer.page(
            request,
            "answer.html",
            view=view,
            place=place,
            references=references,
            latest=_farthest_first(view, references),
            back=opened_from and opened_from.of_deployment("" if "everywhere" in request.query_params else place.name),
            neighbours=_neighbours(opened_from, place.event_id),
            incident=seen.incident(place.name, request.query_params.get("incident", "")),
            open_incident=seen.open_incident(place.name, view.details.row["requested_at"]),
            incident_onset=incident_onset,
            ReasonKind=ReasonKind,
            label_id=new_label_id(),
            was_labelled="labelled" in request.query_params and view.details.label != AnswerLabel.NONE,
            address_of=address_of,
            as_json_text=as_json_text,
        )

    def go_to_neighbour(self, request: Request, event_id: str, step: Step) -> Response:
        """Lead to the answer before or after one in its list."""
        seen, query = self._seen(request), self._list_of(request)
        if query is None:
            raise HTTPException(_UNPROCESSABLE, "A neighbour is one of a list: the query of the list is missing")
        found = neighbour(lambda page: self._found(seen, page), query, event_id, step)
        if found is None:
            return RedirectResponse(query.address(), _SEE_OTHER)
        row, page = found
        return RedirectResponse(in_list(row, page), _SEE_OTHER)

    def _list_of(self, request: Request) -> AnswerQuery | None:
        """Return the list from which the answer was opened; None where the address names none that may be seen."""
        return self._seen(request).list_in_address(request.query_params.get("list", ""))

    def show_json(self, request: Request) -> Response:
        """Answer with one answer as JSON."""
        return json_answer(self._read(request)[1].details)

    async def label(self, request: Request) -> Response:
        """Label an answer as right or wrong."""
        fields = await checked_form(request, self._authentication)
        return await run_in_threadpool(self._label, request, fields)

    def _label(self, request: Request, fields: Mapping[str, str]) -> Response:
        seen = self._seen(request)
        place = AnswerPlace.read(fields, seen)
        if not seen.reader.may_act(place.name):
            raise HTTPException(
                _FORBIDDEN, "Only people with the right to act on this deployment can label its answers"
            )
        label, now = label_of(fields, seen.reader.who), self._monitor.now()
        if self._reads.run(seen.reader, lambda: label_answer(self._monitor.lake, place, label, now)):
            self._monitor.audit.note(seen.reader.who, AuditAction.LABEL, place.name, place.event_id)
        return RedirectResponse(f"{place.address('/answer')}&labelled=1", _SEE_OTHER)

    def _show_located(self, request: Request) -> Response:
        seen, given = self._seen(request), request.query_params
        response_id, name = given["response_id"], given.get("deployment", "")
        since = day_of(given["since"], "since") if given.get("since") else None
        first = since or seen.now.date() - timedelta(days=MOST_DAYS)
        known = [deployment_of(one) for one in seen.states if name in ("", one)]
        found = self._reads.run(
            seen.reader, lambda: self._known(locate_response(self._monitor.lake, response_id, known, first))
        )
        if len(found) == 1:
            return RedirectResponse(address_of(found[0]), _SEE_OTHER)
        return self._renderer.page(
            request,
            "located.html",
            200 if found else _NOT_FOUND,
            response_id=response_id,
            found=found,
            first=first,
            further=response_page(name, response_id, _BEGINNING) if first > _BEGINNING else "",
            address_of=address_of,
        )

    def _read(self, request: Request) -> tuple[AnswerPlace, AnswerView]:
        seen = self._seen(request)
        place = AnswerPlace.read(request.query_params, seen)
        may_read, callees = seen.may_read_texts(place.name), seen.callees
        view = self._reads.run(
            seen.reader,
            lambda: self._known(
                read_view(
                    self._monitor.lake,
                    deployment_of(place.name),
                    place.date,
                    place.event_id,
                    callees,
                    with_texts=may_read,
                )
            ),
        )
        if view is None:
            raise no_answer()
        if may_read:
            self._monitor.audit.note(seen.reader.who, AuditAction.READ_TEXTS, place.name, place.event_id)
        return place, replace(view, details=without_others_errors(view.details, seen.may_read_texts))

    def _searched(self, request: Request, page_size: int | None = None) -> tuple[AnswerQuery, AnswerPage]:
        seen = self._seen(request)
        try:
            query = seen.query(_fields_of(request))
            if not query.deployment:
                raise BadQueryError("A search needs a deployment")
        except BadQueryError as error:
            raise HTTPException(_UNPROCESSABLE, str(error)) from None
        return query, self._found(seen, query, page_size)

    def _found(self, seen: Visible, query: AnswerQuery, page_size: int | None = None) -> AnswerPage:
        wanted = query.filter() if page_size is None else query.with_page(1).filter(page_size)
        found = self._reads.run(seen.reader, lambda: self._known(find_answers(self._monitor.lake, wanted)))
        if not seen.may_read_texts(query.deployment):
            return page_without_texts(found)
        detail = f"list of {len(found.rows)} answers from {query.since} to {query.until}"
        self._monitor.audit.note(seen.reader.who, AuditAction.READ_TEXTS, query.deployment, detail=detail)
        return found

    def _known(self, found: FoundT) -> FoundT:
        """Return what was found; raises FileNotFoundError where nothing was, as the lake was moved away."""
        is_empty = found.total == 0 if isinstance(found, AnswerPage) else not found
        snapshot = self._monitor.snapshot
        if is_empty and snapshot and snapshot.deployments and not self._monitor.lake.deployments():
            raise FileNotFoundError(f"no deployment is left in {self._monitor.lake.root}")
        return found

    def _seen(self, request: Request) -> Visible:
        return Visible.to(request, self._monitor.snapshot)


def _farthest_first(view: AnswerView, references: Mapping[str, float]) -> list[AnswerScore]:
    """Return the latest scores with a value: those that are farthest from what is usual first, where that is known."""
    latest = [(one.value, one) for one in view.details.scores if one.is_latest and one.value is not None]
    known = sorted(latest, key=lambda pair: -abs(pair[0] - references.get(pair[1].metric, pair[0])))
    return [one for _, one in known]


def _neighbours(query: AnswerQuery | None, event_id: str) -> dict[Step, str]:
    """Return the addresses that lead to the answers before and after one in its list."""
    if query is None:
        return {}
    return {one: address_with_list("/answers/neighbour", query, event_id=event_id, step=one) for one in Step}


def _chosen_metric(query: AnswerQuery | None) -> str:
    """The one metric whose value the list shows."""
    if query is None:
        return ""
    return query.metric or ("" if query.sort == "time" else query.sort)


def _fields_of(request: Request) -> dict[str, str]:
    """Return the fields of the address; a form gives each column that is chosen as a field of its own."""
    columns = ",".join(request.query_params.getlist("columns"))
    return dict(request.query_params) | ({"columns": columns} if columns else {})


_COLUMNS = (
    "deployment", "date", "event_id", "response_id", "requested_at", "status", "http_status", "failures", "error",
    "rating", "label", "question", "answer", "model", "chat_id", "duration_ms", "price", "comments",
    "user_id", "project_id", "client",
)  # fmt: skip


def csv_of(rows: Iterable[AnswerRow]) -> str:
    """Return a line for each answer, with a column for each metric that any of them has a score of.

    A text that begins like a formula, or has one behind a semicolon, a tab or a line end, gets an apostrophe there;
    numbers stay numbers.
    """
    rows = list(rows)
    metrics = sorted({metric for row in rows for metric in row.values})
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([_cell(name) for name in (*_COLUMNS, *metrics)])
    for row in rows:
        cells = [(" " if name == "failures" else "\n", getattr(row, name)) for name in _COLUMNS]
        values = [between.join(one) if isinstance(one, tuple) else one for between, one in cells]
        values += [row.values.get(metric) for metric in metrics]
        writer.writerow([_cell(value) for value in values])
    return file.getvalue().encode("utf-8", "replace").decode()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    # Python's csv quotes line ends, and not what a spreadsheet takes for a formula.
    return cell_of_text(value.replace("\x00", "\ufffd"))


_UNPROCESSABLE = 422
_ID = re.compile(r"[0-9a-f]{32}")


def new_label_id() -> str:
    """Return the id of a form that is about to be shown: however often it is sent, it is one label."""
    return uuid.uuid4().hex


def label_of(fields: Mapping[str, str], who: str | None) -> Label:
    """Read the fields of the form; raises HTTPException."""
    said, given_id = fields.get("label"), fields.get("label_id", "")
    if said not in (Signal.RIGHT, Signal.WRONG):
        raise HTTPException(_UNPROCESSABLE, f"A label is {Signal.RIGHT} or {Signal.WRONG}: choose one")
    if not _ID.fullmatch(given_id):
        raise HTTPException(_UNPROCESSABLE, "A label has a label_id: 32 hex digits, new for each label")
    comment = fields.get("comment", "").strip()
    if len(comment) > MOST_CHARACTERS:
        raise HTTPException(_UNPROCESSABLE, f"A comment has at most {MOST_CHARACTERS:,} characters")
    return Label(said == Signal.RIGHT, comment, who, given_id)


def label_answer(lake: Lake, place: AnswerPlace, label: Label, now: datetime) -> bool:
    """Write the label, once; False where the form was sent before. Raises HTTPException where there is no answer."""
    row = read_answer_row(lake, deployment_of(place.name), place.date, place.event_id)
    if row is None:
        raise no_answer()
    return write_label(lake, row, label, now)


class Step(StrEnum):
    """Which neighbour: the one above in the list, or the one below."""

    PREVIOUS = "previous"
    NEXT = "next"


def neighbour(
    find: Callable[[AnswerQuery], AnswerPage], query: AnswerQuery, event_id: str, step: Step
) -> tuple[AnswerRow, AnswerQuery] | None:
    """Return the neighbour of an answer on the list's page `query.page`, and the page that it stands on.

    None where the list ends there, or no longer has the answer on that page. `find` is called once or twice.
    """
    found = find(query)
    place = next((number for number, row in enumerate(found.rows) if row.event_id == event_id), None)
    if place is None:
        return None
    if step is Step.NEXT:
        if place + 1 < len(found.rows):
            return found.rows[place + 1], query
        return _first(find, query.with_page(query.page + 1), 0) if found.has_more else None
    if place:
        return found.rows[place - 1], query
    return _first(find, query.with_page(query.page - 1), -1) if query.page > 1 else None


def _first(
    find: Callable[[AnswerQuery], AnswerPage], query: AnswerQuery, place: int
) -> tuple[AnswerRow, AnswerQuery] | None:
    rows = find(query).rows
    return (rows[place], query) if rows else None
