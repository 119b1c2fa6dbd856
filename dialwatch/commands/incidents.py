"""The commands `dialwatch incidents ...`: alerts of a deployment that overlap, and who looks after them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.console import print_list
from dialwatch.commands.options import (
    ConfigOption,
    LakeOption,
    OnlyDeploymentOption,
    account,
    check_name,
    comment_of,
    open_filled,
    settings_of,
    written_options,
)
from dialwatch.reports.terminal_text import MOST_CHARACTERS, in_one_line
from dialwatch.times import format_time
from lake.spec.alert_vocabulary import AlertEvent

if TYPE_CHECKING:
    from monitor.alerting.alerts.change import AlertChange
    from monitor.alerting.incidents.incident import Incident

app = typer.Typer(no_args_is_help=True, help="Incidents: alerts of a deployment that overlap in time.")

UNKNOWN = "somebody without a name"
_LINK = "Look at: "
"""Line of a message that links to a page."""
_SHOWN = 12
"""Characters of an id that are shown, and enough to name it."""

_IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="As `dialwatch incidents list` has it, or its beginning.")
]


@app.command("list")
def show(
    deployment: OnlyDeploymentOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """List the incidents that are open, the newest first."""
    check_name("--deployment", deployment, "give a name, or leave the option out")
    opened = open_filled(settings_of(config, lake))
    from monitor.alerting.incidents.log import read_incidents

    found = [
        one
        for one in read_incidents(opened)
        if deployment in (None, one.deployment) and (everything or one.ended_at is None)
    ]
    if not found:
        typer.echo("there is no incident" if everything else "no incident is open")
        return
    head = ("id", "deployment", "began", "change", "tier", "what changed", "acknowledged by")
    print_list((*head, "back", "closed") if everything else head, [_row(one, everything=everything) for one in found])
    typer.echo("More of one, with the answers behind it: dialwatch incidents show ID")


@app.command("show")
def show_one(written_id: _IdArgument, lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Print what is known of an incident: what fell since when, how sure that is, and the worst answers since."""
    opened = open_filled(settings_of(config, lake))
    from monitor.alerting.incidents.log import read_incidents
    from monitor.notify.texts.alert import description, summary
    from monitor.notify.texts.incident import severity_of, urgency_of

    incident = _chosen(read_incidents(opened), written_id)
    ended, took = incident.ended_at, incident.acknowledged
    typer.echo(f"incident {incident.incident_id}")
    urgency = urgency_of(severity_of(incident.tier))
    typer.echo(f"deployment {in_one_line(incident.deployment)}: {in_one_line(incident.what_changed)} ({urgency})")
    closed, back = f"closed at {format_time(ended)}" if ended else "still open", incident.back_at
    typer.echo(f"bad from {_began(incident)}{f' to about {format_time(back)}' if back else ''}")
    typer.echo(f"found at {format_time(incident.opened_at)}, {closed}")
    if took:
        comment = f": {in_one_line(took.comment, MOST_CHARACTERS)}" if took.comment else ""
        typer.echo(f"acknowledged by {in_one_line(took.who or UNKNOWN)} {format_time(took.at)}{comment}")
    for alert in incident.alerts:
        typer.echo(f"\n{in_one_line(summary(alert), MOST_CHARACTERS)}")
        for line in description(alert, "").splitlines():
            if not line.startswith(_LINK):
                typer.echo(f"  {in_one_line(line, MOST_CHARACTERS)}")
    worst = _worst_of(incident)
    if worst:
        name = shlex.quote(in_one_line(worst))
        typer.echo(f"\nThe worst answer: dialwatch show {name}{written_options(config, lake)}")


@app.command("acknowledge")
def acknowledge(
    written_id: _IdArgument,
    comment: Annotated[str, typer.Option(help="What you do about it; it stands on the incident's page.")] = "",
    who: Annotated[str | None, typer.Option(help="Who looks after it; by default your name on this machine.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Record that somebody looks after an incident, until receivers are told something new of it."""
    check_name("--who", who, "give a name, or leave the option out")
    comment, who = comment_of(comment), who or account()
    opened = open_filled(settings_of(config, lake))
    from monitor.alerting.incidents.log import IncidentLog, read_incidents

    incident = _chosen(read_incidents(opened), written_id)
    if incident.ended_at is not None:
        ended = format_time(incident.ended_at)
        raise typer.BadParameter(f"incident {written_id} was over at {ended}", param_hint="ID")
    IncidentLog(opened).acknowledge(incident, who, comment, datetime.now(UTC))
    by = f" by {who}" if who else ""
    typer.echo(f"incident {incident.incident_id[:_SHOWN]} of {incident.deployment} is acknowledged{by}")


def _chosen(incidents: Sequence[Incident], written_id: str) -> Incident:
    found = [one for one in incidents if written_id and one.incident_id.startswith(written_id)]
    if len(found) > 1:
        raise typer.BadParameter(f"{len(found)} incidents begin with {written_id!r}: give more of it", param_hint="ID")
    if not found:
        there = ", ".join(one.incident_id[:_SHOWN] for one in incidents if one.ended_at is None) or "none"
        raise typer.BadParameter(f"there is no incident {written_id!r}; open ones: {there}", param_hint="ID")
    return found[0]


def _row(incident: Incident, *, everything: bool) -> tuple[str, ...]:
    row = (
        incident.incident_id[:_SHOWN],
        incident.deployment,
        _began(incident),
        "\n".join(map(_change, incident.alerts)),
        incident.tier,
        in_one_line(incident.what_changed),
        (incident.acknowledged.who or UNKNOWN) if incident.acknowledged else "",
    )
    ended = format_time(incident.ended_at) if incident.ended_at else ""
    back = format_time(incident.back_at) if incident.back_at else ""
    return (*row, back, ended) if everything else row


def _began(incident: Incident) -> str:
    from monitor.notify.texts.onset import incident_onset

    return format_time(incident_onset(incident))


def _change(alert: AlertChange) -> str:
    over = "" if alert.change == AlertEvent.FIRING else " (over)"
    if alert.reference_mean is None or alert.current_mean is None:
        return f"{alert.key.metric}{over}"
    return f"{alert.key.metric} {alert.reference_mean:.2f} to {alert.current_mean:.2f}{over}"


def _worst_of(incident: Incident) -> str | None:
    return next((one.details.worst[0].response_id for one in incident.alerts if one.details.worst), None)
