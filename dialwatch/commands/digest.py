"""The command `dialwatch digest`: what happened in the last day or week, as receivers are sent it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, open_filled, settings_of
from dialwatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dialwatch.config import MonitorSection
    from lake.tables.lake import Lake
    from monitor.alerting.alerts.change import AlertChange
    from monitor.notify.texts.incident import IncidentNote


def digest(
    every: Annotated[
        Literal["daily", "weekly"] | None,
        typer.Option(help="Of yesterday, or of the last week; without it as monitor.digest says, or weekly."),
    ] = None,
    receiver: Annotated[str | None, typer.Option(help="Only what this receiver of the settings would get.")] = None,
    html: Annotated[
        bool, typer.Option("--html", help="Print the HTML of the mail, to be opened in a browser.")
    ] = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Print the digest of the last whole day or week (UTC): nothing is sent, and nothing is written."""
    settings = settings_of(config, lake)
    is_for = _routing(settings.monitor, receiver)
    opened = open_filled(settings)
    from monitor.notify.digest.table import DigestEvery, last_period, table_of
    from monitor.notify.formats.daily_summary import lines
    from monitor.notify.formats.digest_mail import digest_mail
    from monitor.service.digest import digest_rows, read_states

    chosen = settings.monitor
    period = last_period(
        DigestEvery(every or (chosen.digest if chosen.digest != "off" else "weekly")), datetime.now(UTC)
    )
    rows = digest_rows(read_states(opened, period), chosen.families, period)
    table = table_of(rows, period, is_for, chosen.currency)
    going_on = lines(_going_on(opened, is_for, chosen.external_url))
    mail = digest_mail(table, going_on, chosen.external_url, chosen.external_url)
    typer.echo(mail.html if html else mail.text, nl=html)


def _routing(settings: MonitorSection, name: str | None) -> Callable[[str], bool]:
    if name is None:
        return lambda _: True
    from monitor.notify.routing import Routing

    found = [one for one in settings.receivers if one.name == name]
    if not found:
        known = ", ".join(one.name for one in settings.receivers) or "none"
        raise ConfigError(f"the settings have no receiver {name!r}; known: {known}")
    return Routing(found[0]).is_for


def _going_on(lake: Lake, is_for: Callable[[str], bool], external_url: str) -> list[tuple[AlertChange, IncidentNote]]:
    """Return the open incidents that nobody looks after, pages first."""
    from monitor.alerting.incidents.log import read_incidents
    from monitor.alerting.incidents.state import state_of
    from monitor.notify.texts.incident import note_of

    found = []
    for one in read_incidents(lake):
        state = state_of(one.alerts)
        if one.ended_at is None and not one.is_quiet and state.foremost is not None and is_for(one.deployment):
            found.append((state.foremost, note_of(one.incident_id, state, external_url)))
    return sorted(found, key=lambda pair: (not pair[0].pages, pair[0].fired_at, pair[0].key.deployment))
