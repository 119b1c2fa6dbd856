"""Prompts of judges: texts of the folder `prompts`, each with the schema of its reply."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

from evaluator.judges.exchange import ChatMessage, JudgeRequest
from evaluator.judges.schema import Schema

_PART = re.compile(r"\{\{(\w+)\}\}")
_REASON = "reason"


@dataclass(frozen=True)
class Prompt:
    """The system prompt (`system`), what is to be done with the texts (`task`), and the schema of its reply.

    The texts come between the two: first those that several prompts share, so that an endpoint's cache of prefixes
    serves them all. `version` is a digest of all three.
    """

    system: str
    task: Template
    schema: Schema
    version: str

    @classmethod
    def read(cls, name: str, schema: Schema, *, reasons: bool = False) -> Prompt:
        """Read `prompts/<name>.md` and `prompts/system.md`.

        Where a file says `{{verdict}}`, `prompts/verdict.md` stands in its place; `{{reason}}`, which asks for a few
        words before a verdict, is nothing unless `reasons`. The schema has `because(reasons)` then.
        """
        system, task = _text("system", reasons=reasons), _text(name, reasons=reasons)
        digest = hashlib.sha256(json.dumps([system, task, schema]).encode()).hexdigest()
        return cls(system, Template(task), schema, digest[:12])

    def request(
        self,
        *texts: str,
        values: Mapping[str, str] | None = None,
        draw: int = 0,
        check: Callable[[Any], None] | None = None,
        usual: Any = None,
        optional: Set[str] = frozenset(),
        halves: Callable[[], tuple[JudgeRequest, JudgeRequest]] | None = None,
        probabilities: bool = False,
        images: tuple[str, ...] = (),
        usable_cut: bool = False,
    ) -> JudgeRequest:
        """Ask about texts, fenced; `values` stand where the task names them, others as in `JudgeRequest`."""
        content = "\n\n".join((*texts, self.task.substitute(values or {})))
        messages = [ChatMessage("system", self.system), ChatMessage("user", content, images)]
        return JudgeRequest(
            messages, self.schema, self.version, draw, check, usual, optional, halves, probabilities, usable_cut
        )


def _text(name: str, *, reasons: bool) -> str:
    text = files(__package__).joinpath("prompts", f"{name}.md").read_text("utf-8").strip()
    return _PART.sub(lambda part: _part(part[1], reasons=reasons), text)


def _part(name: str, *, reasons: bool) -> str:
    if name != _REASON:
        return _text(name, reasons=reasons)
    return f"{_text(name, reasons=reasons)} " if reasons else ""


def list_of(item: Schema) -> Schema:
    """Return the JSON schema of a list."""
    return {"type": "array", "items": item}


def object_of(**properties: Schema) -> Schema:
    """Return the schema of an object that has all of the properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def because(reasons: bool) -> dict[str, Schema]:
    """Return the property that has the words before a verdict, where `reasons` are asked for."""
    return {_REASON: TEXT} if reasons else {}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
YES_OR_NO: Schema = {"type": "boolean"}
