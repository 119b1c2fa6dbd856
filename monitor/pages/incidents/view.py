"""Contents of the page of an incident: what the snapshot knows, and what was read of the lake for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta

from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.detect.causes import AroundOnset, TextDifference, differences
from monitor.pages.answers.addresses import deployment_of
from monitor.pages.incidents.alert_view import AlertView, alerts_of
from monitor.pages.incidents.changes_view import ChangesView
from monitor.pages.incidents.commands import Commands, commands_of
from monitor.pages.incidents.evidence import Evidence, read_evidence
from monitor.pages.incidents.finding import Found
from monitor.pages.incidents.held_back import HeldBack, silences_of
from monitor.pages.incidents.log_rows import LogRow, Told, log_of, read_deliveries, told
from monitor.pages.incidents.metric_charts import MetricChart, chart_of
from monitor.pages.incidents.moments import Moment, moments_of
from monitor.pages.news import sentence_of
from monitor.service.monitor import Monitor


@dataclass(frozen=True)
class Read:
    """What was read of the lake."""

    evidence: Evidence | None
    differences: Sequence[TextDifference]
    """Of system prompts and tools; empty for who may not read texts."""
    deliveries: Sequence[AlertChange]
    silences: Sequence[HeldBack]


@dataclass(frozen=True)
class IncidentView:
    """All that the page shows; `read` is None where the lake could not be read."""

    found: Found
    alerts: tuple[AlertView, ...]
    chosen: AlertView
    """Whose chart is large, and whose answers are shown."""
    charts: tuple[MetricChart, ...]
    """That of the chosen alert first."""
    log: tuple[LogRow, ...]
    told: tuple[Told, ...]
    moments: tuple[Moment, ...]
    commands: Commands
    read: Read | None

    @property
    def sentence(self) -> str:
        """What the incident is, in a line: that of its messages."""
        return sentence_of(self.found.incident)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names to choose from in the forms: that of the chosen alert first."""
        return tuple(dict.fromkeys((self.chosen.metric, *self.found.metrics)))

    @property
    def changes(self) -> ChangesView | None:
        """What else changed around the onset; None where that was not looked for."""
        found = changes_of(self.found)
        return ChangesView.of(*found) if found else None

    @property
    def release_at(self) -> str:
        """The onset, as a browser's field of date and time writes it."""
        at = self.chosen.onset or self.found.incident.opened_at
        return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M}"

    @property
    def can_learn(self) -> bool:
        """Whether one of its metrics has a reference, which a release would make it learn anew."""
        return any(not one.fired.is_floor for one in self.alerts)


def chosen_of(alerts: Sequence[AlertView], metric: str) -> AlertView:
    """Give the alert that is asked for by its metric, else the first."""
    return next((one for one in alerts if one.metric == metric), alerts[0])


def read_for(monitor: Monitor, found: Found, chosen: AlertView, *, with_texts: bool) -> Read:
    """Read what the page shows beside the snapshot."""
    lake = monitor.lake
    return Read(
        evidence=read_evidence(lake, chosen, found, with_texts=with_texts),
        differences=_differences(lake, found) if with_texts else (),
        deliveries=read_deliveries(lake, deployment_of(found.name), found.incident),
        silences=silences_of(monitor, found),
    )


def changes_of(found: Found) -> tuple[AroundOnset, AlertChange] | None:
    """Give what changed around the onset, with the alert that says it: the first one that was looked at."""
    looked = ((one.details.around_onset, one) for one in found.incident.alerts)
    return next(((around, one) for around, one in looked if around is not None), None)


def _differences(lake: Lake, found: Found) -> Sequence[TextDifference]:
    changes = changes_of(found)
    return differences(lake, found.name, changes[0].changes) if changes else ()


def view_of(found: Found, metric: str, batch: timedelta, read: Read | None) -> IncidentView:
    """Give the contents; `metric` is the one whose chart is large, the first where there is no such alert."""
    alerts = alerts_of(found, batch)
    chosen = chosen_of(alerts, metric)
    newest: dict[str, AlertView] = {}
    for one in (chosen, *alerts):
        newest.setdefault(one.metric, one)
    charts = (chart_of(one, found, f"metric-{number}") for number, one in enumerate(newest.values(), 1))
    deliveries = read.deliveries if read else ()
    received = told(deliveries)
    return IncidentView(
        found=found,
        alerts=alerts,
        chosen=chosen,
        charts=tuple(charts),
        log=log_of(found.incident, found.state.changes, deliveries),
        told=received,
        moments=moments_of(found, chosen, received),
        commands=commands_of(
            found.incident.incident_id, found.name, chosen.metric, None if chosen.fired.is_floor else chosen.onset
        ),
        read=read,
    )
