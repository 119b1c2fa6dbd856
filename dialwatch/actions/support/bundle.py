"""A support bundle: one archive of JSON and text files."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import typer

from dialwatch.actions.checks.run import findings_of, line_of
from dialwatch.actions.support.shown_lake import lines_of, rejections_of, services_of, tables_of
from dialwatch.actions.support.shown_settings import shown_settings
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from dialwatch.serving.addresses import local_url
from lake.store.store_errors import in_one_line, without_rows

_SECONDS = 10.0
_NOTE = "It holds names of deployments, hosts and files, no text of people, no secret. Look into it before you send it."


def write_bundle(settings: Settings, place: Path, now: datetime) -> None:
    """Write the archive, which its owner alone may read, and print what is in it; raises ConfigError if it exists."""
    if place.exists():
        raise ConfigError(f"{place} exists already: give another --output")
    content, names = BytesIO(), []
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, make in _parts(settings, now):
            archive.writestr(name, _made(make))
            names.append(name)
    place.touch(mode=0o600, exist_ok=False)
    place.write_bytes(content.getvalue())
    typer.echo(f"{place}: {', '.join(names)}")
    typer.echo(_NOTE)


def _parts(settings: Settings, now: datetime) -> Iterator[tuple[str, Callable[[], object]]]:
    lake = settings.lake.open()
    yield "versions.json", _versions
    yield "settings.json", lambda: shown_settings(settings)
    yield "check.txt", lambda: "".join(f"{line_of(one)}\n" for one in findings_of(settings, lake))
    yield "tables.json", lambda: list(tables_of(lake))
    yield "services.json", lambda: services_of(lake, now)
    yield "lines.json", lambda: lines_of(lake, now)
    yield "rejections.json", lambda: rejections_of(lake, now)
    for part, listen in _addresses(settings).items():
        yield f"metrics-{part}.txt", partial(_asked, listen, "/metrics")
    monitor = settings.monitor.metrics_listen or settings.monitor.listen
    yield "health.txt", partial(_asked, monitor, "/healthz")


def _made(make: Callable[[], object]) -> str:
    """Give a part's content; one that cannot be made says why, and the others are made."""
    try:
        made = make()
    except Exception as error:
        network = isinstance(error, httpx.HTTPError)
        return f"could not be made: {in_one_line(error) if network else without_rows(error)}\n"
    return made if isinstance(made, str) else json.dumps(made, indent=1, default=str, ensure_ascii=False) + "\n"


def _versions() -> dict[str, Any]:
    names = {re.split(r"[^\w.-]", one)[0] for one in requires("dialwatch") or ()}
    return {
        "dialwatch": version("dialwatch"),
        "python": sys.version,
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "packages": {name: found for name in sorted(names) if (found := _installed(name))},
    }


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _addresses(settings: Settings) -> dict[str, str]:
    """Give the addresses of this configuration at which parts of dialwatch show their metrics, as far as it has any."""
    http = settings.collector.http
    found = {
        "collector": settings.collector.metrics_listen or (http.listen if http else None),
        "evaluator": settings.evaluator.metrics_listen,
        "monitor": settings.monitor.metrics_listen or settings.monitor.listen,
    }
    return {part: listen for part, listen in found.items() if listen}


def _asked(listen: str, path: str) -> str:
    """Give what a part on this machine answers; other hosts have other parts and are not asked."""
    return httpx.get(f"{local_url(listen)}{path}", timeout=_SECONDS, trust_env=False).text


def usual_name(now: datetime) -> Path:
    """Give the name of a bundle that is made now, in this folder."""
    return Path(f"dialwatch-support-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.zip")
