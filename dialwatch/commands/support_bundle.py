"""The command `dialwatch support-bundle`: one archive of JSON and text files with what a maintainer needs to know.

Of the lake it holds how much is where, how its parts are, and counts; no row that people wrote. Of the settings it
holds numbers and choices as they are, and of free texts only those known harmless.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import typer

from dialwatch.commands.check import findings_of, line_of
from dialwatch.commands.options import ConfigOption, LakeOption, settings_of
from dialwatch.errors import ConfigError
from dialwatch.serving.addresses import local_url

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from dialwatch.config import Settings
    from lake.tables.lake import Lake

_SECONDS = 10.0
_NOTE = "It holds names of deployments, hosts and files, no text of people, no secret. Look into it before you send it."
_DAYS = timedelta(days=7)
_RUN = ["part", "host", "since"]
_STATE = ["heartbeat_at", "state", "last_success", "last_error", "error"]
_SIZES = {"rows": "num_records", "bytes": "size_bytes"}
_SHOWN = frozenset(
    {
        *("root", "region", "paths", "bootstrap_servers", "topics", "group_id", "group_instance_id", "listen"),
        *("metrics_listen", "metrics", "judge", "judges", "deployment", "model", "metric", "api_version", "segment_by"),
        *(
            "time_zone",
            "question_likelihood",
            "answer_reward",
            "sentence_encoder",
            "cross_encoder",
            "entailment",
            "toxicity",
            "device",
        ),
        *("judge_calls", "leave_out", "sasl_mechanism", "limit_parameter", "installation"),
    }
)
"""Keys whose texts name a place, a metric or a model."""
_ADDRESSES = ("http://", "https://")


def support_bundle(
    lake: LakeOption = None,
    config: ConfigOption = None,
    output: Annotated[
        Path | None, typer.Option(help="Archive to write; without it dialwatch-support-<time>.zip in this folder.")
    ] = None,
) -> None:
    """Collect versions, settings, checks, sizes of tables, heartbeats, counts and metrics, without texts or secrets."""
    settings, now = settings_of(config, lake), datetime.now(UTC)
    import zipfile

    place = output or Path(f"dialwatch-support-{now:%Y%m%dT%H%M%SZ}.zip")
    if place.exists():
        raise ConfigError(f"{place} exists already: give another --output")
    content, names = BytesIO(), []
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, make in _parts(settings, now):
            archive.writestr(name, _made(make))
            names.append(name)
    # Its owner alone may read it.
    place.touch(mode=0o600, exist_ok=False)
    place.write_bytes(content.getvalue())
    typer.echo(f"{place}: {', '.join(names)}")
    typer.echo(_NOTE)


def _parts(settings: Settings, now: datetime) -> Iterator[tuple[str, Callable[[], object]]]:
    lake = settings.lake.open()
    yield "versions.json", _versions
    yield "settings.json", lambda: _shown_settings(settings)
    yield "check.txt", lambda: "".join(f"{line_of(one)}\n" for one in findings_of(settings, lake))
    yield "tables.json", lambda: list(_tables_of(lake))
    yield "services.json", lambda: _services_of(lake, now)
    yield "lines.json", lambda: _lines_of(lake, now)
    yield "rejections.json", lambda: _rejections_of(lake, now)
    for part, listen in _addresses(settings).items():
        yield f"metrics-{part}.txt", partial(_asked, listen, "/metrics")
    monitor = settings.monitor.metrics_listen or settings.monitor.listen
    yield "health.txt", partial(_asked, monitor, "/healthz")


def _made(make: Callable[[], object]) -> str:
    """Return a part's content; one that cannot be made says why, and the others are made."""
    import httpx

    from lake.store.store_errors import in_one_line, without_rows

    try:
        made = make()
    except Exception as error:
        network = isinstance(error, httpx.HTTPError)
        return f"could not be made: {in_one_line(error) if network else without_rows(error)}\n"
    return made if isinstance(made, str) else json.dumps(made, indent=1, default=str, ensure_ascii=False) + "\n"


def _versions() -> dict[str, Any]:
    from importlib.metadata import requires, version

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
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _addresses(settings: Settings) -> dict[str, str]:
    """Return the addresses of this configuration at which parts of dialwatch show their metrics, if it has any."""
    http = settings.collector.http
    found = {
        "collector": settings.collector.metrics_listen or (http.listen if http else None),
        "evaluator": settings.evaluator.metrics_listen,
        "monitor": settings.monitor.metrics_listen or settings.monitor.listen,
    }
    return {part: listen for part, listen in found.items() if listen}


def _asked(listen: str, path: str) -> str:
    """Return what a part on this machine answers; other hosts have other parts and are not asked."""
    import httpx

    return httpx.get(f"{local_url(listen)}{path}", timeout=_SECONDS, trust_env=False).text


def _tables_of(lake: Lake) -> Iterator[dict[str, Any]]:
    """Yield each table with its version, and the number of its files, rows and bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from lake.maintenance.maintenance import all_tables
    from lake.store.store_errors import without_rows

    for deployment, table in all_tables(lake):
        shown: dict[str, Any] = {"deployment": deployment, "table": table.spec.name}
        try:
            delta = table.snapshot()
            if delta is not None:
                files = pa.table(delta.get_add_actions(flatten=True))
                shown |= {"version": delta.version(), "files": files.num_rows}
                shown |= {name: pc.sum(files[column]).as_py() or 0 for name, column in _SIZES.items()}
        except Exception as error:  # one that is broken is what the bundle is for
            shown["error"] = without_rows(error)
        yield shown


def _services_of(lake: Lake, now: datetime) -> list[dict[str, Any]]:
    """Return the last heartbeat of each run of a part; its error is the store's, or the kind of another."""
    from lake.spec.root_tables import SERVICES

    rows = lake.table(SERVICES).read([*_RUN, *_STATE], where=_recent(now)).sort_by("heartbeat_at")
    last = {tuple(row[name] for name in _RUN): row for row in rows.to_pylist()}
    return list(last.values())


def _lines_of(lake: Lake, now: datetime) -> list[dict[str, Any]]:
    """Return the counts of the collector's lines by day."""
    from lake.spec.root_tables import BATCHES
    from lake.spec.service_vocabulary import LineOutcome

    counts = ["lines", *map(str, LineOutcome)]
    rows = lake.table(BATCHES).read(["date", *counts], where=_recent(now))
    return list(rows.group_by("date").aggregate([(name, "sum") for name in counts]).sort_by("date").to_pylist())


def _rejections_of(lake: Lake, now: datetime) -> list[dict[str, Any]]:
    """Return the number of rejected lines by day and reason."""
    from lake.spec.root_tables import REJECTED

    rows = lake.table(REJECTED).read(["date", "reason"], where=_recent(now))
    return list(rows.group_by(["date", "reason"]).aggregate([([], "count_all")]).sort_by("date").to_pylist())


def _recent(now: datetime) -> ds.Expression:
    import pyarrow.dataset as ds

    return ds.field("date") >= (now - _DAYS).date()


def _shown_settings(model: BaseModel) -> dict[str, Any]:
    """Return the settings as JSON takes them; what is not shown says how long it is."""
    return {name: _shown(name, field, getattr(model, name)) for name, field in type(model).model_fields.items()}


def _shown(name: str, field: FieldInfo | None, value: Any) -> Any:
    from pydantic import BaseModel, SecretStr

    if isinstance(value, BaseModel):
        return _shown_settings(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, SecretStr):
        return "(secret)"
    if isinstance(value, Mapping):
        return {str(key): _shown(name, None, item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_shown(name, field, item) for item in value]
    text = str(value.value if isinstance(value, Enum) else value)
    if text.startswith(_ADDRESSES):
        # The path may be a secret, and so may what stands before the host.
        parts = urlsplit(text)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
    if name in _SHOWN or isinstance(value, Enum) or (field is not None and _is_choice(field.annotation)):
        return text
    return f"({len(text)} characters)"


def _is_choice(annotation: Any) -> bool:
    """Whether only words of ours can stand there."""
    kinds = [annotation, *get_args(annotation)]
    return any(get_origin(kind) is Literal for kind in kinds)
