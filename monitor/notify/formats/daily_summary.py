"""Bodies of the daily summary, which may be a digest too, in the formats of webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from monitor.alerting.alerts.change import AlertChange
from monitor.notify.digest.table import DigestTable
from monitor.notify.digest.words import headline, row_line, total_line
from monitor.notify.formats.slack import slack_text_body
from monitor.notify.formats.standard import summary_body
from monitor.notify.formats.teams import teams_text_body
from monitor.notify.texts.alert import summary
from monitor.notify.texts.incident import IncidentNote, urgency_of
from monitor.notify.texts.plain import one_line, time

MOST = 20
"""Incidents, and deployments, in the words of a message."""
_LINES = 5
"""Of deployments in one text."""
Incidents = Sequence[tuple[AlertChange, IncidentNote]]


class SummaryFormat(Protocol):
    """Gives the body of a summary."""

    def __call__(
        self, incidents: Incidents, receiver: str, external_url: str, digest: DigestTable | None = None, /
    ) -> bytes:
        """Return the body for the incidents, each with an alert that fires, the receiver's name and our pages' address.

        Where it is a digest, it begins with the table.
        """


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
            f"{urgency_of(note.severity)} since {time(change.fired_at)}: {summary(change)}"
            + (f"; {note.link}" if note.link else "")
        )
        for change, note in incidents[:MOST]
    ]
    more = len(incidents) - len(shown)
    return [*shown, *([f"{more} more are on the page of incidents."] if more else [])]


def digest_lines(table: DigestTable) -> list[str]:
    """Say what all deployments had, and each of the first of them in a line."""
    shown = [row_line(row, table.currency) for row in table.rows[:MOST]]
    more = len(table.rows) - len(shown)
    return [total_line(table), *shown, *([f"{more} more deployments are on the overview."] if more else [])]


def _slack(incidents: Incidents, _receiver: str, external_url: str, digest: DigestTable | None = None) -> bytes:
    if digest is None:
        return slack_text_body(title(incidents), lines(incidents), page_of_incidents(external_url))
    texts = [*_blocks(digest_lines(digest)), *_going_on(incidents)]
    return slack_text_body(headline(digest), texts, external_url, ":bar_chart: ")


def _teams(incidents: Incidents, _receiver: str, external_url: str, digest: DigestTable | None = None) -> bytes:
    if digest is None:
        return teams_text_body(title(incidents), lines(incidents), page_of_incidents(external_url))
    return teams_text_body(headline(digest), [*digest_lines(digest), *_going_on(incidents)], external_url, "default")


def _going_on(incidents: Incidents) -> list[str]:
    return [f"{title(incidents)}:", *lines(incidents)] if incidents else []


def _blocks(every: Sequence[str]) -> list[str]:
    """Return the lines as few texts: a message of Slack has 50 blocks."""
    return ["\n".join(every[first : first + _LINES]) for first in range(0, len(every), _LINES)]


def page_of_incidents(external_url: str) -> str:
    """Return the address of the page of incidents; empty where nobody said where our pages are."""
    return f"{external_url.rstrip('/')}/incidents" if external_url else ""


SUMMARY_FORMATS: Mapping[str, SummaryFormat] = {"standard": summary_body, "slack": _slack, "teams": _teams}
"""By the value of `monitor.webhooks.format`; an Alertmanager repeats by itself."""
