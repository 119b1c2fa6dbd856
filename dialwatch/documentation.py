"""Page of docs that lists every setting, written from the settings themselves.

Run `python -m dialwatch.documentation docs/configuration.md` after a change of a setting.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args, get_origin

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from dialwatch.config import Settings
from dialwatch.config_loading import key_in_file
from dialwatch.config_names import RENAMED, RETIRED
from runtime.setting import Section, setting_of

_HEAD = """\
# Configuration

<!-- Written by `python -m dialwatch.documentation docs/configuration.md` from the settings themselves. -->

All settings are in one YAML file, `dialwatch.yaml`. Most installations need a few of the [common
settings](#common-settings). The [others](#all-other-settings) are for experts: their defaults seldom need a change.

A dot in a key is one level of the YAML: `lake.root` is

```yaml
lake:
  root: lake-data
```

`<name>` is a name of yours. `monitor.webhooks`, `monitor.mail.receivers` and `monitor.silences` are lists:
each item has these keys.

- **Environment.** Every key also has a variable: `DIALWATCH_` and the key in upper case, with `__` for each dot
  (`DIALWATCH_LAKE__ROOT`). There, lists and mappings are JSON, and `null` is none:

        DIALWATCH_COLLECTOR__FILES__PATHS='["/var/log/dial/*.log"]'
        DIALWATCH_LAKE__MAINTENANCE__RETENTION='{"parsed_logs": "90d"}'

- **What wins.** An option of the command line wins over the environment, and the environment over the file.
- **Errors.** An unknown key is an error that names the known ones, and so is a key that stands twice in the file, with
  both lines.
- **Paths.** A relative `lake.root` in the file is below the folder of the file, wherever the command is started. One
  that is typed (`--lake`), or in the environment, and all other relative paths, are below the current folder.
- **Secrets** are never in the file. A key that ends in `_file` names a file that holds the secret, or the environment
  gives it (`DIALWATCH_COLLECTOR__HTTP__TOKEN`, without `_file`).
- **Times** are in seconds. Where the default has a unit, one can be written: `30s`, `5m`, `24h`, `90d`. Those of
  `monitor.regression` and `monitor.limits.window` can be ISO 8601 too: `PT1H`. Defaults "on a store" hold where
  `lake.root` is on one, which is paid by the request.
"""
_ABOUT = {
    "collector": "[collector.md](collector.md) describes what these do: the [origin](collector.md#what-made-a-request) "
    "of requests, [bounds](collector.md#bounds), and [who may send without a token](collector.md#the-http-endpoint).",
    "evaluator": "[evaluator.md](evaluator.md), [judges.md](judges.md) and [anchors.md](anchors.md) describe what "
    "these do.",
    "lake": "[lake.md](lake.md) describes what these do.",
    "log": "All processes log to stderr. [Operations](operations.md#logs) says what a record has.",
    "monitor": "[monitor.md](monitor.md), [detector.md](detector.md) and [alerts.md](alerts.md) describe what these "
    "do.",
}
_TABLE = "| key | default | meaning |\n|---|---|---|"
_REQUIRED = "must be given"
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


@dataclass(frozen=True)
class Row:
    """A setting: its key as in the file, what it is without one, what it means, and whether it is a common one."""

    key: str
    default: str
    meaning: str
    common: bool

    def __str__(self) -> str:
        """Return the line of a table."""
        return f"| `{self.key}` | {self.default} | {self.meaning} |"


def rows() -> list[Row]:
    """Return all settings, in the order of their fields."""
    return list(_rows(Settings, "", _REQUIRED, set()))


def page() -> str:
    """Return the page: a table of the common settings, then those of each section."""
    every = rows()
    parts = [_HEAD, "## Common settings\n", _TABLE, *(str(row) for row in every if row.common), ""]
    parts += ["## All other settings\n"]
    for section in Settings.model_fields:
        others = (str(row) for row in every if row.key.startswith(f"{section}.") and not row.common)
        parts += [f"### {section}\n", f"{_ABOUT[section]}\n", _TABLE, *others, ""]
    return "\n".join([*parts, *_earlier_settings()])


def _earlier_settings() -> Iterator[str]:
    """Yield the lines about settings of earlier versions."""
    yield "## Settings of earlier versions\n"
    yield "They stop nothing: the log warns of each that is still set.\n"
    yield from (
        f"- `{'.'.join(old)}` is `{'.'.join(new)}`; the earlier name is still read." for old, new in RENAMED.items()
    )
    yield from (f"- `{'.'.join(place)}` is no setting: {text}." for place, text in RETIRED.items())
    yield ""


def _rows(model: type[Section], prefix: str, required: str, seen: set[type]) -> Iterator[Row]:
    """Yield the settings of a section; one that has the keys of another, for one deployment, is a single row."""
    seen.update(model.__mro__)
    meanings = _meanings(model)
    for name, field in model.model_fields.items():
        inner = _section_in(field)
        is_mapping = get_origin(field.annotation) is Mapping
        key = f"{prefix}{key_in_file(name, field)}" + (".<name>" if inner and is_mapping else "")
        if inner is None or inner in seen:
            yield Row(key, _default(key, field, required), meanings.get(name, ""), setting_of(field).common)
        else:
            where = f"{_REQUIRED} under a name" if is_mapping else required
            if field.default is None:
                where = f"{_REQUIRED} under `{name}`"
            yield from _rows(inner, f"{key}.", where, seen)


def _meanings(model: type[Section]) -> dict[str, str]:
    """Return the docstrings below the fields of a section, by field, each in one line.

    Pydantic can do it too (`use_attribute_docstrings`), but then each start of a program reads their source.
    """
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, Section):
            body = ast.parse(dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
            for field, below in pairwise(body):
                match field, below:
                    case (ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text)))):
                        found[name] = " ".join(inspect.cleandoc(text).split())
    return found


def _section_in(field: FieldInfo) -> type[Section] | None:
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Section)), None)


def _default(key: str, field: FieldInfo, required: str) -> str:
    setting = setting_of(field)
    if setting.default is not None:
        return setting.default
    if field.is_required():
        return required
    has_unit = _takes_unit(field)
    shown = _shown(field.get_default(call_default_factory=True), has_unit=has_unit)
    if key.endswith("_bytes"):
        shown += f" ({int(field.default) >> 20} MiB)"
    return shown if setting.on_store is None else f"{shown}; on a store {_shown(setting.on_store, has_unit=has_unit)}"


def _takes_unit(field: FieldInfo) -> bool:
    """Whether a number can be written as a time, such as 5m: nothing else is read before it is checked."""
    inner = chain.from_iterable(get_args(kind) for kind in get_args(field.annotation))
    is_number = isinstance(field.default, float | timedelta)
    return is_number and any(isinstance(one, BeforeValidator) for one in chain(field.metadata, inner))


def _shown(value: Any, *, has_unit: bool) -> str:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if has_unit:
        size, unit = next((size, unit) for size, unit in _UNITS if value % size == 0)
        return f"{value / size:.0f}{unit}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.12g}"
    if not value:
        return "none"
    if isinstance(value, tuple):
        return f"`[{', '.join(one if one.isidentifier() else json.dumps(one) for one in value)}]`"
    return str(value)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
