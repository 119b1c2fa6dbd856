"""Change of one key in the file of the configuration, whose other lines and comments stay as they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from dialwatch.config_file import read_yaml
from dialwatch.errors import ConfigError


def set_key(path: Path, keys: Sequence[str], value: str) -> None:
    """Set a key, such as `["evaluator", "judge"]`, to a value that is written as YAML in one line.

    Raises ConfigError where the file cannot be read, changed or written; it is as it was then.
    """
    before = read_yaml(path)
    text = path.read_text("utf-8")
    changed = _changed(text, keys, value)
    try:
        is_right = yaml.safe_load(changed) == _with(before, keys, yaml.safe_load(value))
    except (yaml.YAMLError, ValueError):
        is_right = False
    if not is_right:
        line = f"{'.'.join(keys)}: {value}"
        raise ConfigError(f"{path} cannot be changed without touching other lines: write {line} into it yourself")
    try:
        _replace(path, changed)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    """Write the text beside the file, with its permissions, and put it in its place in one step."""
    real = path.resolve()
    written = real.with_name(f".{real.name}.new")
    try:
        # A file of an earlier attempt has its own permissions, which `os.open` would keep.
        written.unlink(missing_ok=True)
        # It may hold secrets: nobody else reads it before it has the permissions of the old one.
        opened = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.write(text)
        written.chmod(real.stat().st_mode & 0o7777)
        written.replace(real)
    finally:
        written.unlink(missing_ok=True)


def _with(values: object, keys: Sequence[str], value: Any) -> dict[str, Any]:
    first, *rest = keys
    if values is not None and not isinstance(values, dict):
        raise ValueError(f"{first} has no place in {type(values).__name__}")
    known = values or {}
    return known | {first: _with(known.get(first), rest, value) if rest else value}


def _changed(text: str, keys: Sequence[str], value: str) -> str:
    """Return the text with the key, beside those that are there already."""
    node = yaml.compose(text, yaml.SafeLoader)
    assert node is not None  # noqa: S101 - for the type: it is a mapping
    for number, name in enumerate(keys):
        if not isinstance(node, yaml.MappingNode) or not node.value:
            return _after(text, node, _nested(keys[number:], value))
        inner: yaml.Node | None = next((found for key, found in node.value if key.value == name), None)
        if inner is None:
            return _into(text, node, _nested(keys[number:], value))
        node = inner
    return text[: node.start_mark.index] + value + _rest(text, node)


def _rest(text: str, node: yaml.Node) -> str:
    """Return what follows a value; that of a block reaches over the line's end."""
    value = text[node.start_mark.index : node.end_mark.index]
    return text[node.start_mark.index + len(value.rstrip()) :]


def _nested(keys: Sequence[str], value: str) -> str:
    first, *rest = keys
    return f"{first}: {{{_nested(rest, value)}}}" if rest else f"{first}: {value}"


def _after(text: str, node: yaml.Node, entry: str) -> str:
    """Put an entry in the place of what holds none: an empty mapping, or null."""
    space = "" if text[: node.start_mark.index].endswith(" ") else " "
    return f"{text[: node.start_mark.index]}{space}{{{entry}}}{_rest(text, node)}"


def _into(text: str, node: yaml.MappingNode, entry: str) -> str:
    """Put an entry before the first one of a mapping, in its style."""
    first = node.value[0][0].start_mark
    if node.flow_style:
        return f"{text[: first.index]}{entry}, {text[first.index :]}"
    return f"{text[: first.index]}{entry}\n{' ' * first.column}{text[first.index :]}"
