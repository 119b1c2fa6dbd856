"""Settings of the monitor."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from annotated_types import Ge, Gt
from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from monitor.access.settings import AccessSettings
from monitor.alerting.controls.silences import Silence
from monitor.detect.limits import FloorSettings
from monitor.detect.regression import RegressionSettings
from monitor.notify import WebhookSettings
from runtime.durations import reads_seconds
from runtime.host_names import reads_hosts

_seconds = reads_seconds("smh")


def _zone(value: Any) -> ZoneInfo:
    if isinstance(value, ZoneInfo):
        return value
    try:
        return ZoneInfo(value)
    # A name that nothing has, one that cannot be a name, that of a folder, and what is no text.
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        raise ValueError(f"{value!r} is no time zone: give a name like Europe/Berlin, Asia/Kathmandu or UTC") from None


class MonitorSettings(BaseModel):
    """How often to read the lake, what a regression is, where alerts go. Times are in seconds; `5m` is one too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    refresh_seconds: Annotated[float, BeforeValidator(_seconds), Gt(0)] = 5.0
    """Seconds from one refresh to the next."""
    external_url: str = ""
    """Where people find the pages, for the links in webhooks; empty: no links."""
    time_zone: Annotated[ZoneInfo, BeforeValidator(_zone)] = ZoneInfo("UTC")
    """Zone of the times on the pages, by its name in the database of IANA. JSON, CSV and messages are in UTC."""
    most_deployments: Annotated[int, Ge(1)] = 5000
    """Deployments with series of their own in `/metrics`; the rest are `other` there."""
    most_label_values: Annotated[int, Ge(1)] = 100
    """The same of the words of signals, and of status codes."""
    regression: RegressionSettings = RegressionSettings()
    floors: FloorSettings = FloorSettings()
    webhooks: tuple[WebhookSettings, ...] = ()
    internal_hosts: Annotated[tuple[str, ...], BeforeValidator(reads_hosts)] = ()
    """Hosts, as in a webhook's url, that may be at a private address and be reached by plain http."""
    group_seconds: Annotated[float, BeforeValidator(_seconds), Ge(0)] = 60.0
    """Changes of one deployment that are found within this time are one message, which waits until it is over."""
    judge_wait_seconds: Annotated[float, BeforeValidator(_seconds), Ge(0)] = 7200.0
    """A page of a metric that a judge gives waits so long at most, as a warning, for the judge's anchors to say
    whether the judge changed."""
    silences: tuple[Silence, ...] = ()
    access: AccessSettings | Literal["none"] | None = None
    """Who may see the pages. None: everybody, and then the pages are for loopback alone; `none`: everybody."""

    @model_validator(mode="after")
    def _sends_nothing_in_the_clear(self) -> Self:
        internal = {host.lower() for host in self.internal_hosts}
        for webhook in self.webhooks:
            # A URL has an IPv6 address in brackets.
            if webhook.url.scheme == "http" and (webhook.url.host or "").strip("[]") not in internal:
                raise ValueError(
                    f"webhook {webhook.name!r} would be sent unencrypted: give an https url, or name "
                    f"{webhook.url.host} in monitor.internal_hosts if it is a machine of your own"
                )
        return self
