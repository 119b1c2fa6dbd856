"""File of the configuration: its YAML, in which no key may stand twice, and places that are relative to it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import yaml

from dialwatch.errors import ConfigError
from lake.tables.storage import is_remote

_JSON = r"format['\"]?:\s*['\"]?json"
_JSON_LOGS = re.compile(
    rf"^log:\s*(?:\{{[^}}]*\b{_JSON}|(?:\#.*)?\n(?:[ \t].*\n|[ \t]*\#.*\n|[ \t]*\n)*?[ \t]+{_JSON})", re.MULTILINE
)
"""`log.format: json`, in a text that need not be YAML."""


_LOGS_OF_TABLES = ("*/_delta_log", "*/*/_delta_log")


class _RepeatedKeyError(Exception):
    def __init__(self, key: object, first: int, second: int) -> None:
        super().__init__(key, first, second)
        self.key, self.first, self.second = key, first, second


class _UniqueKeys(yaml.SafeLoader):
    """Loader that refuses a key that stands twice in one mapping, of which YAML's usual loaders keep the last."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            name, line = (key.tag, key.value), key.start_mark.line + 1
            if name in lines:
                raise _RepeatedKeyError(key.value, lines[name], line)
            lines[name] = line
        return node


def read_yaml(path: Path) -> dict[str, Any]:
    """Read the file of the configuration; raises ConfigError."""
    try:
        values = yaml.load(path.read_text("utf-8"), _UniqueKeys)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; name the file with -c") from None
    except _RepeatedKeyError as error:
        raise ConfigError(
            f"{path}: the key {error.key!r} is given twice, in line {error.first} and in line {error.second}, and the "
            "first would be ignored: put what is below both under one"
        ) from None
    except Exception as error:  # values such as 2026-13-45, and nesting without end, raise whatever they raise
        raise ConfigError(f"{path} is no YAML: {_yaml_problem(error)}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must hold sections such as `lake:`, it holds {type(values).__name__}")
    return values


def with_absolute_root(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the values with a root of the lake that does not depend on the folder that the command is started in.

    A relative root is below the folder of the file. Raises ConfigError where that would begin a lake anew beside one
    that stands below the current folder.
    """
    section = values.get("lake")
    if not isinstance(section, dict):
        return values
    root = section.get("root")
    if (
        not isinstance(root, str)
        or not root
        or is_remote(root)
        or root.startswith("file://")
        or Path(root).is_absolute()
    ):
        return values
    meant, here = path.absolute().parent / root, Path(root).absolute()
    if not meant.exists() and any(next(here.glob(pattern), None) for pattern in _LOGS_OF_TABLES):
        raise ConfigError(
            f"{path}: lake.root {root!r} is relative to this file, so it is {meant}, where nothing is; there is a "
            f"lake in {here}: write this whole path if that is yours, or move it"
        )
    return values | {"lake": section | {"root": os.path.normpath(meant)}}


def logs_as_json(path: Path | None) -> bool:
    """Whether a configuration, which need not be usable, asks for JSON logs."""
    try:
        chosen = json.loads(os.environ.get("DIALWATCH_LOG", "{}"))
        if isinstance(chosen, dict) and chosen.get("format") == "json":
            return True
        return path is not None and _JSON_LOGS.search(path.read_text("utf-8")) is not None
    except (OSError, ValueError):
        return False


def _yaml_problem(error: Exception) -> str:
    """Say what is wrong and where, with nothing that stands in the file: it may be a secret."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is no UTF-8"
    if isinstance(error, yaml.reader.ReaderError):
        return f"character {error.position} may not stand in YAML; write it as an escape between double quotes"
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return "one of its values is not of the kind that it looks like, or it nests too deep; put texts in quotes"
    problem, mark, begun = error.problem or "", error.problem_mark, error.context_mark
    if isinstance(error, yaml.composer.ComposerError | yaml.constructor.ConstructorError):
        # Names of aliases, anchors and tags.
        problem = re.sub(r"'.*'", "...", problem, flags=re.DOTALL)
        problem += "; a text that begins with *, & or ! stands in quotes"
    begins = f" (in what begins in line {begun.line + 1})" if begun and begun.line != mark.line else ""
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}{begins}"
