"""Answers to programs: `/metrics`, `/healthz` and `/readyz`."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request, Response
from prometheus_client.registry import Collector

from monitor.exporter.registry import registry_of
from monitor.pages.json_answers import json_answer
from monitor.pages.rendering import reader_of
from monitor.pages.visibility import health_for, problem_for
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from runtime.metric_texts import encoder

_NONE = re.compile(r"q=0(\.0*)?")
_GZIP_LEVEL = 1
"""Names repeat, so that the least level makes a twentieth of it already."""


@dataclass(frozen=True)
class Readiness:
    """Whether there are figures, and the process that makes them gets lines; `problem` says what is missing."""

    ready: bool
    problem: str | None = None


class MachineAnswers:
    """Handlers of the addresses that programs ask for.

    `settings` bound the labels of the metrics, `more` are further ones. `is_private`: only programs of our own reach
    them, so that `/healthz` says why a part fails.
    """

    def __init__(
        self,
        monitor: Monitor,
        settings: MonitorSettings | None,
        more: Sequence[Collector] = (),
        *,
        is_private: bool = False,
    ) -> None:
        self._monitor = monitor
        self._is_private = is_private
        self._registry = registry_of(
            lambda: monitor.snapshot,
            monitor.lake.installation,
            monitor.health,
            lambda: monitor.failures,
            settings,
            monitor.audit,
            more,
            monitor.wrong_tokens,
        )

    def metrics(self, request: Request) -> Response:
        """Answer with the metrics, in the format that is asked for."""
        encode, content_type = encoder(request.headers.getlist("accept"))
        headers, body = {"Content-Type": content_type, "Vary": "Accept, Accept-Encoding"}, encode(self._registry)
        if _takes_gzip(request):
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, _GZIP_LEVEL)
        return Response(body, headers=headers)

    def healthz(self, request: Request) -> Response:
        """Answer with the health, and 503 where a part does not work."""
        # Errors may name deployments: with access their words are for who may see all, and shows it.
        health = self._monitor.health()
        shown = health if self._is_private else health_for(reader_of(request), health)
        return json_answer(shown, 200 if health.healthy else 503)

    def readyz(self, request: Request) -> Response:
        """Answer whether there are figures, and 503 where there are none."""
        problem = self._monitor.lacks() if self._monitor.snapshot is not None else "the lake has not been read yet"
        shown = problem_for(None if self._is_private else reader_of(request), problem)
        return json_answer(Readiness(problem is None, shown), 200 if problem is None else 503)


def _takes_gzip(request: Request) -> bool:
    given = ",".join(request.headers.getlist("accept-encoding")).lower().replace(" ", "").split(",")
    return any(one.partition(";")[0] == "gzip" and not _NONE.fullmatch(one.partition(";")[2]) for one in given)
