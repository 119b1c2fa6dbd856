"""Silences in an Alertmanager of incidents that need no repeated notification: acknowledged, or recovering."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import httpcore
import msgspec

from monitor.alerting.incidents.incident import Incident
from monitor.notify.delivery import request_headers
from monitor.notify.texts.incident import severity_of
from monitor.notify.texts.plain import one_line, time

LASTS = timedelta(hours=1)
"""How long a silence holds that is not renewed, as after a monitor is gone."""
_RENEWED = timedelta(minutes=30)
"""How long before its end a silence is made to last longer."""
_CREATED_BY = "dialwatch"
_OVER = "expired"
_LONGEST = 1 << 20


class SilenceError(Exception):
    """An Alertmanager did not do what it was asked."""


class _Status(msgspec.Struct):
    state: str


class _Matcher(msgspec.Struct):
    name: str
    value: str


class _Known(msgspec.Struct, rename="camel"):
    """A silence as `GET /api/v2/silences` gives it."""

    id: str
    status: _Status
    created_by: str
    ends_at: datetime
    matchers: list[_Matcher]

    @property
    def severity(self) -> str | None:
        """The severity that it holds back."""
        return next((one.value for one in self.matchers if one.name == "severity"), None)


_decode_known = msgspec.json.Decoder(list[_Known]).decode


class AlertmanagerSilences:
    """Keeps one silence of each quiet incident, of its present severity alone, so that a raise passes.

    What is there is asked each time: so it is right after a restart, and with several monitors.
    """

    def __init__(self, pool: httpcore.ConnectionPool, url: str) -> None:
        self._pool = pool
        self._api = f"{url.rstrip('/')}/api/v2"

    def update(self, incidents: Iterable[Incident], now: datetime) -> None:
        """Make, renew or end the silences of these incidents. Raises SilenceError, or what the network does."""
        for incident in incidents:
            wanted = severity_of(incident.tier) if incident.is_quiet else None
            there = None
            for known in self._known(incident):
                if known.severity == wanted and there is None:
                    there = known
                else:
                    self._call("DELETE", f"/silence/{known.id}")
            if wanted is not None and (there is None or there.ends_at < now + _RENEWED):
                silence = _silence(incident, wanted, now) | ({"id": there.id} if there else {})
                self._call("POST", "/silences", msgspec.json.encode(silence))

    def _known(self, incident: Incident) -> list[_Known]:
        query = urlencode({"filter": f'incident="{incident.incident_id}"'})
        found = _decode_known(self._call("GET", f"/silences?{query}"))
        return [one for one in found if one.created_by == _CREATED_BY and one.status.state != _OVER]

    def _call(self, method: str, path: str, body: bytes = b"") -> bytes:
        url = self._api + path
        with self._pool.stream(method, url, headers=request_headers(url, {}), content=body) as response:
            content = b""
            for part in response.iter_stream():
                content += part
                if len(content) > _LONGEST:
                    raise SilenceError(f"{method} {path}: more than {_LONGEST} bytes came back")
        if not 200 <= response.status < 300:
            raise SilenceError(f"{method} {path}: answered {response.status}")
        return content


def _silence(incident: Incident, severity: str, now: datetime) -> dict[str, Any]:
    return {
        "matchers": [
            {"name": name, "value": value, "isRegex": False, "isEqual": True}
            for name, value in (("incident", incident.incident_id), ("severity", severity))
        ],
        "startsAt": now.isoformat(),
        "endsAt": (now + LASTS).isoformat(),
        "createdBy": _CREATED_BY,
        "comment": one_line(_reason(incident)),
    }


def _reason(incident: Incident) -> str:
    noted = incident.acknowledged
    if noted:
        return f"acknowledged by {noted.who or 'somebody'}: {noted.comment}"
    return f"recovering since {time(incident.recovering_since)}"
