"""A case as YAML for a person's editor, and back."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from dialwatch.commands.ground_truth.case_content import CONTENT, LISTS, NOTE
from dialwatch.errors import ConfigError
from dialwatch.reports.terminal_text import visible

_KEYS = (*CONTENT, NOTE)
_EDITOR = "vi"
_HELP = """\
Change what is wrong, save, and leave the editor. Nothing is changed where the text stays as it is.
Each fact must stand in one chunk of the context, word for word; upper case and punctuation within it do not count.
A call of a tool is its name and its arguments: get_order {"id": "4711"}
The note says why, and stands in the history of the case."""


class CaseYamlError(Exception):
    """Problems of a text that a person has edited, a line each."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent)


def yaml_of(case: Mapping[str, Any]) -> str:
    """Return what a person may change of a case, with an empty note.

    Where a text holds a character that one does not see, everything but ASCII is written as an escape.
    """
    content: dict[str, Any] = {name: list(case[name] or ()) if name in LISTS else case[name] or "" for name in CONTENT}
    texts = [text for value in content.values() for text in (value if isinstance(value, list) else [value])]
    is_seen = all(visible(text) == text.replace("\r\n", "\n").expandtabs(4) for text in texts)
    return yaml.dump(
        content | {NOTE: ""}, Dumper=_Dumper, sort_keys=False, allow_unicode=is_seen, width=1_000_000, line_break="\n"
    )


def content_of(text: str) -> dict[str, Any]:
    """Return the values of an edited text, with the note; raises CaseYamlError."""
    try:
        # Each scalar is a text: nobody wants an answer `no` to become false.
        read = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError) as error:
        raise CaseYamlError(f"this is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(read, dict):
        raise CaseYamlError(f"write a value for each of {', '.join(_KEYS)}")
    unknown = [f"{name!r} is no value of a case: these are {', '.join(_KEYS)}" for name in read if name not in _KEYS]
    missing = [
        f"{name} is missing: write {name}: {'[]' if name in LISTS else '...'}" for name in CONTENT if name not in read
    ]
    read = {name: [] if name in LISTS and value == "" else value for name, value in read.items()}
    wrong = [
        f"{name} must be a list, with - before each item" for name in LISTS if not isinstance(read.get(name, []), list)
    ]
    wrong += [
        f"{name} must be a text" for name in _KEYS if name not in LISTS and not isinstance(read.get(name, ""), str)
    ]
    if unknown or missing or wrong:
        raise CaseYamlError("\n".join(unknown + missing + wrong))
    return {NOTE: ""} | read


def edited(text: str, title: str, problems: Sequence[str] = ()) -> str:
    """Return a text as a person leaves it in `$EDITOR`, below comments; raises ConfigError where the editor fails."""
    comments = [title, *_HELP.splitlines(), *(["", "What is wrong:", *problems] if problems else [])]
    head = "".join(f"# {visible(line)}".rstrip() + "\n" for comment in comments for line in comment.split("\n") or [""])
    command = os.environ.get("EDITOR") or _EDITOR
    # In a folder of its own: editors write their backups beside the file.
    with tempfile.TemporaryDirectory(prefix="dialwatch-") as folder:
        file = Path(folder) / "case.yaml"
        file.write_text(head + text, encoding="utf-8", newline="")
        try:
            ended = subprocess.run([*shlex.split(command), str(file)], check=False)  # noqa: S603
        except (OSError, ValueError) as error:
            raise ConfigError(f"the editor {command!r} cannot be started: {error}; set EDITOR to another") from None
        if ended.returncode:
            raise ConfigError(f"the editor {command!r} ended with exit code {ended.returncode}: nothing was changed")
        with file.open(encoding="utf-8", errors="surrogateescape", newline="") as left:
            return left.read().removeprefix(head)
