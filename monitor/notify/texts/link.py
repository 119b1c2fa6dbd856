"""Links from messages to our pages."""

from __future__ import annotations

from datetime import date, timedelta
from urllib.parse import urlencode

from monitor.alerting.alerts.change import AlertChange


def link_to(deployment: str, external_url: str) -> str:
    """Return the address of a deployment's page; empty where nobody said where our pages are.

    The name is a query: it may hold slashes and dots, which servers between us and the person change in a path.
    """
    return f"{external_url.rstrip('/')}{page_of(deployment)}" if external_url else ""


def link_to_incident(incident_id: str, external_url: str) -> str:
    """Return the address of an incident's page; empty where nobody said where our pages are."""
    return f"{external_url.rstrip('/')}{incident_page(incident_id)}" if external_url else ""


def link_to_response(deployment: str, response_id: str, external_url: str, since: date | None = None) -> str:
    """Return the address of the page of an answer; empty where nobody said where our pages are."""
    return f"{external_url.rstrip('/')}{response_page(deployment, response_id, since)}" if external_url else ""


def page_of(deployment: str) -> str:
    """Return the path of a deployment's page, with its query."""
    return _address("/deployment", name=deployment)


def incident_page(incident_id: str) -> str:
    """Return the path of an incident's page, with its query."""
    return _address("/incident", id=incident_id)


def answer_page(deployment: str, day: date, event_id: str, path: str = "/answer") -> str:
    """Return the path of an answer's page, with its query."""
    return _address(path, deployment=deployment, date=day.isoformat(), event_id=event_id)


def response_page(deployment: str, response_id: str, since: date | None = None) -> str:
    """Return the path that looks up the answers with a response id; before the day `since` none is looked for."""
    days = {} if since is None else {"since": since.isoformat()}
    return _address("/answer", deployment=deployment, response_id=response_id, **days)


def worst_since(change: AlertChange) -> date | None:
    """Return a day before all worst answers of an alert: the change is dated to the hour, and days are those of UTC."""
    since = change.details.since_earliest or change.since
    return None if since is None else (since - timedelta(days=1)).date()


def _address(path: str, **query: str) -> str:
    # A text of a row may hold half a character, which no address can.
    return f"{path}?{urlencode(query, safe='/', errors='replace')}"
