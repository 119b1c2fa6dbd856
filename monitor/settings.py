"""Settings of the monitor."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from annotated_types import Ge, Gt
from pydantic import BeforeValidator, model_validator

from lake.spec.deployment_families import Families
from monitor.access.settings import AccessSettings, Proxies
from monitor.alerting.controls.silences import Silence
from monitor.detect.limits import LimitSettings
from monitor.detect.regression import RegressionSettings
from monitor.notify.settings import MailSettings, ReceiverSettings, WebhookSettings
from runtime.durations import reads_seconds
from runtime.host_names import reads_hosts
from runtime.setting import COMMON, Section

_seconds = reads_seconds("smh")


def _zone(value: Any) -> ZoneInfo:
    if isinstance(value, ZoneInfo):
        return value
    try:
        return ZoneInfo(value)
    # A name that nothing has, one that cannot be a name, that of a folder, and what is no text.
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        raise ValueError(f"{value!r} is no time zone: give a name like Europe/Berlin, Asia/Kathmandu or UTC") from None


def _versions(value: Any) -> Any:
    # YAML reads `off` as false.
    return {False: "off", True: "auto"}[value] if isinstance(value, bool) else value


def _digest(value: Any) -> Any:
    # YAML reads `off` as false.
    return "off" if value is False else value


class MetricsDetail(StrEnum):
    """How many series `/metrics` has."""

    USUAL = "usual"
    ALL = "all"


class ExporterSettings(Section):
    """What `/metrics` has."""

    detail: MetricsDetail = MetricsDetail.USUAL
    """`usual`: what the rules and the dashboard of dialwatch ask for, 20 to 40 series for each deployment of 5 metrics;
    `all`: 190, see [monitor.md](monitor.md#series)."""


class MonitorSettings(Section):
    """How often to read the lake, what a regression is, where alerts go. Times are in seconds; `5m` is one too."""

    refresh_seconds: Annotated[float, BeforeValidator(_seconds), Gt(0)] = 5.0
    """Time between two reads of the lake."""
    external_url: Annotated[str, COMMON] = ""
    """Address under which people open the pages, for the links in messages; without it they have none."""
    time_zone: Annotated[ZoneInfo, BeforeValidator(_zone), COMMON] = ZoneInfo("UTC")
    """Zone of the times on the pages, a name of the IANA database: `Europe/Berlin`, `Asia/Kathmandu`. JSON, CSV,
    messages and the days of filters are in UTC."""
    most_deployments: Annotated[int, Ge(1)] = 5000
    """Deployments with series of their own in `/metrics`, those with the most requests first. Counters and histograms
    of the others are summed as `other`; their gauges are left out."""
    exporter: ExporterSettings = ExporterSettings()
    most_label_values: Annotated[int, Ge(1)] = 100
    """Words of signals, status codes and names of tools with series of their own in `/metrics`, of each so many;
    `dialwatch_other_label_values` counts how many are in `other`."""
    versions: Annotated[Literal["auto", "off"] | dict[str, tuple[str, ...]], BeforeValidator(_versions), COMMON] = (
        "auto"
    )
    """Which deployments are [versions of one application](detector.md#new-versions): `auto`, those whose ids differ in
    the version at their end (`help__1.0.0`, `help__1.1.0`); `off`, none; or families by name, each with its
    deployments, the oldest first (`{help: [help-v1, help-v2]}`), beside those by their ids."""
    regression: RegressionSettings = RegressionSettings()
    limits: LimitSettings = LimitSettings()
    webhooks: tuple[WebhookSettings, ...] = ()
    mail: MailSettings | None = None
    digest: Annotated[Literal["off", "daily", "weekly"], BeforeValidator(_digest), COMMON] = "off"
    """Whether each receiver gets a [digest](alerts.md#the-digest) of its deployments at 8 o'clock in `time_zone`:
    `daily`, `weekly` (on Mondays) or `off`."""
    currency: str = ""
    """Word behind amounts of money in digests and on the pages, such as EUR: that of DIAL's price table and of the
    judges' prices."""
    internal_hosts: Annotated[tuple[str, ...], BeforeValidator(reads_hosts)] = ()
    """Hosts, as in a webhook's url or `monitor.mail.server`, that may be at a private address and be reached by plain `http://`."""
    group_seconds: Annotated[float, BeforeValidator(_seconds), Ge(0)] = 60.0
    """Changes of one incident found within this time are one message; it is sent when the time is over."""
    judge_wait_seconds: Annotated[float, BeforeValidator(_seconds), Ge(0)] = 7200.0
    """How long an urgent alert on a metric of a judge waits at most, as a warning, for [the judge's
    anchors](anchors.md#verdicts); 0 for no wait."""
    silences: tuple[Silence, ...] = ()
    access: AccessSettings | Literal["none"] | None = None
    """Who may see the pages. None: everybody, and then the pages are for loopback alone; `none`: everybody."""

    proxies: Proxies = ()
    """Addresses and networks of proxies in front of the pages: the client that they name last in `X-Forwarded-For` is
    the one whose [searches and wrong tokens](access.md#load-and-attack) are counted."""

    @model_validator(mode="after")
    def _each_is_of_one_family(self) -> Self:
        named = self.versions if isinstance(self.versions, dict) else {}
        each = Counter(deployment for deployments in named.values() for deployment in deployments)
        twice = [deployment for deployment, count in each.items() if count > 1]
        if twice:
            raise ValueError(f"monitor.versions names the deployment {twice[0]!r} twice: name it once, in one family")
        return self

    @property
    def families(self) -> Families:
        """Which deployments are versions of one application."""
        return Families(self.versions if isinstance(self.versions, dict) else {}, by_id=self.versions != "off")

    @property
    def receivers(self) -> tuple[ReceiverSettings, ...]:
        """All who get alerts."""
        return (*self.webhooks, *(self.mail.receivers if self.mail else ()))

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
        if self.mail is not None and self.mail.security == "none" and self.mail.server.lower() not in internal:
            raise ValueError(
                f"mail would be sent unencrypted: set monitor.mail.security to starttls or tls, or name "
                f"{self.mail.server} in monitor.internal_hosts if it is a machine of your own"
            )
        return self
