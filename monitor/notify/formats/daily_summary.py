"""Bodies of the daily summary, in the formats of webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from monitor.alerting.alerts.change import AlertChange
from monitor.notify.alert_text import summary
from monitor.notify.formats.slack import slack_text_body
from monitor.notify.formats.standard import summary_body
from monitor.notify.formats.teams import teams_text_body
from monitor.notify.incident_text import IncidentNote
from monitor.notify.plain_text import one_line, time

MOST = 20
"""Incidents in the words of a message."""
Incidents = Sequence[tuple[AlertChange, IncidentNote]]
SummaryFormat = Callable[[Incidents, str, str], bytes]
"""Gives the body from the incidents, each with an alert that fires, the receiver's name and our pages' address."""


def title(incidents: Incidents) -> str:
    """Say in one line what a summary is about."""
    one = len(incidents) == 1
    return (
        f"{len(incidents)} incident{'' if one else 's'} {'goes' if one else 'go'} on, and nobody has acknowledged "
        f"{'it' if one else 'them'}"
    )


def lines(incidents: Incidents) -> list[str]:
    """Say in a line of each incident what it is and since when."""
    shown = [
        one_line(
            f"{note.severity} since {time(change.fired_at)}: {summary(change)}"
            + (f"; {note.link}" if note.link else "")
        )
        for change, note in incidents[:MOST]
    ]
    more = len(incidents) - len(shown)
    return [*shown, *([f"{more} more are on the page of incidents."] if more else [])]


def _slack(incidents: Incidents, _receiver: str, external_url: str) -> bytes:
    return slack_text_body(title(incidents), lines(incidents), page_of_incidents(external_url))


def _teams(incidents: Incidents, _receiver: str, external_url: str) -> bytes:
    return teams_text_body(title(incidents), lines(incidents), page_of_incidents(external_url))


def page_of_incidents(external_url: str) -> str:
    """Return the address of the page of incidents; empty where nobody said where our pages are."""
    return f"{external_url.rstrip('/')}/incidents" if external_url else ""


SUMMARY_FORMATS: Mapping[str, SummaryFormat] = {"standard": summary_body, "slack": _slack, "teams": _teams}
"""By the value of `monitor.webhooks.format`; an Alertmanager repeats by itself."""
