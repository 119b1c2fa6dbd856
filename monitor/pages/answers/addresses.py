"""Addresses of answers: what the query of a page says, and the deployments that its reader may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Protocol
from urllib.parse import parse_qsl, urlencode

from fastapi import Request
from pydantic import Field
from starlette.exceptions import HTTPException

from lake.spec.schemas import UNASSIGNED, deployment_of
from monitor.access.reader import Reader
from monitor.alerting.incidents.incident import Incident
from monitor.notify.texts.link import answer_page
from monitor.notify.texts.onset import incident_onset
from monitor.pages.answers.query import AnswerQuery, BadQueryError
from monitor.pages.news import open_incident
from monitor.pages.rendering import reader_of
from monitor.pages.visibility import snapshot_for
from monitor.service.snapshot import DeploymentState, Snapshot

_NOT_FOUND, _UNPROCESSABLE = 404, 422
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
_MOST_CALLEES = 30
"""Deployments whose tables are looked into for the calls behind an answer: those that are called most."""


class _Addressed(Protocol):
    @property
    def deployment(self) -> str | None: ...
    @property
    def date(self) -> date: ...
    @property
    def event_id(self) -> str: ...


@dataclass(frozen=True)
class Visible:
    """What the reader of a page may see of the newest snapshot."""

    reader: Reader
    snapshot: Snapshot | None

    @classmethod
    def to(cls, request: Request, snapshot: Snapshot | None) -> Visible:
        """Return what the reader who sent a request may see of a snapshot."""
        reader = reader_of(request)
        return cls(reader, snapshot_for(reader, snapshot))

    @property
    def states(self) -> Mapping[str, DeploymentState]:
        """The deployments by name."""
        return self.snapshot.deployments if self.snapshot else {}

    @property
    def now(self) -> datetime:
        """The time that the pages are of."""
        return self.snapshot.taken_at.astimezone(UTC) if self.snapshot else datetime.now(UTC)

    @property
    def callees(self) -> list[str | None]:
        """The deployments that other applications call: any answer may have called them."""
        calls = {name: _calls_of(state) for name, state in self.states.items()}
        most = sorted((name for name in calls if calls[name]), key=calls.__getitem__, reverse=True)
        return [deployment_of(name) for name in most[:_MOST_CALLEES]]

    def references(self, name: str) -> dict[str, float]:
        """Return what is usual in a deployment: the reference mean of each metric that has one."""
        readings = self.states[name].readings if name in self.states else {}
        return {metric: one.reference_mean for metric, one in readings.items() if one.reference_mean is not None}

    def incident(self, name: str, incident_id: str) -> str:
        """Return the id of an incident of a deployment; empty where it has no such incident."""
        known = (one.incident_id for one in self.states[name].incidents) if name in self.states else ()
        return incident_id if incident_id in known else ""

    def open_incident(self, name: str, at: datetime) -> Incident | None:
        """Return the open incident of a deployment that lasted at a time; None where there is none."""
        found = open_incident(self.states[name]) if name in self.states else None
        return found if found and incident_onset(found) <= at else None

    def may_read_texts(self, name: str) -> bool:
        """Whether the reader may read texts of a deployment."""
        return self.reader.may_read_texts(name)

    def metrics(self, query: AnswerQuery | None) -> list[str]:
        """Return the metrics to choose from: those of the deployment that is searched, or of all."""
        chosen = [self.states[query.deployment]] if query and query.deployment in self.states else self.states.values()
        known = {metric for state in chosen for metric in state.scores.metrics}
        asked = {query.metric, query.sort} - {"", "time"} if query else set()
        return sorted(known | asked)

    def query(self, given: Mapping[str, str]) -> AnswerQuery:
        """Read the form; raises BadQueryError, also where the reader may not see or search what it names."""
        query = AnswerQuery.read(given, self.now)
        if query.deployment and query.deployment not in self.states:
            raise BadQueryError("There is no such deployment")
        names = [query.deployment] if query.deployment else self.states
        if query.is_of_people and not any(map(self.may_read_texts, names)):
            raise BadQueryError(
                "Only people with the right to read the texts of a deployment can search words, comments, clients "
                "and users"
            )
        return query

    def list_in_address(self, text: str) -> AnswerQuery | None:
        """Read the query of a list from the part of its address behind the question mark; None where it is none.

        What the reader may not search is none either: which answer is next tells whether it has a word.
        """
        try:
            query = self.query(dict(parse_qsl(text)))
        except ValueError:
            return None
        return query if query.deployment else None


@dataclass(frozen=True)
class AnswerPlace:
    """The address of one answer; `name` is the deployment's as the pages show it."""

    name: Annotated[str, Field(alias="deployment")]
    date: date
    event_id: str

    @classmethod
    def read(cls, given: Mapping[str, str], seen: Visible) -> AnswerPlace:
        """Return the place that a query names; raises HTTPException where it is incomplete, or not to be seen."""
        for field in ("deployment", "date", "event_id"):
            if not given.get(field):
                message = f"The address of an answer has a deployment, a date and an event_id: {field} is missing"
                raise HTTPException(_UNPROCESSABLE, message)
        place = cls(given["deployment"], day_of(given["date"], "date"), given["event_id"])
        if place.name not in seen.states:
            raise no_answer()
        return place

    def address(self, path: str) -> str:
        """Return the path with the query of this answer."""
        return answer_page(self.name, self.date, self.event_id, path)


def address_of(answer: _Addressed) -> str:
    """Return the path of the page of an answer, or of a call."""
    return answer_page(answer.deployment or UNASSIGNED, answer.date, answer.event_id)


def _calls_of(state: DeploymentState) -> int:
    return sum(one.calls for one in (state.requests, *state.other_requests.values()))


def in_list(answer: _Addressed, query: AnswerQuery, *, found_everywhere: bool = False) -> str:
    """Return the path of the page of an answer that is opened from a list, and so knows the one before and after it.

    `found_everywhere`: its list was found in a search of all deployments, to which the page leads back.
    """
    fields = {"everywhere": "1"} if found_everywhere else {}
    return address_with_list(address_of(answer), query, **fields)


def address_with_list(path: str, query: AnswerQuery, **fields: str) -> str:
    """Return a path with the query of a list in its field `list`."""
    text = urlencode(fields | {"list": query.address("")[1:]}, errors="replace")
    return f"{path}{'&' if '?' in path else '?'}{text}"


def day_of(text: str, field: str) -> date:
    """Read a day; raises HTTPException."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise HTTPException(_UNPROCESSABLE, f"A {field} is written as 2026-11-20") from None
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise HTTPException(_UNPROCESSABLE, f"A {field} has a year from {_FIRST_YEAR} to {_LAST_YEAR}")
    return day


def no_answer() -> HTTPException:
    """Return what says that there is no such answer: the same for one that may not be seen."""
    return HTTPException(_NOT_FOUND, "There is no such answer")
