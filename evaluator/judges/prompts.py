"""Prompts: files beside this one, each with the schema of its reply."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

from evaluator.judges.answer import Message, Request
from evaluator.judges.schema import Schema


@dataclass(frozen=True)
class Prompt:
    """What a judge is told (`system`), what it is to do with the texts (`task`), and the schema of its reply.

    The texts come between the two: first those that several prompts share, so that an endpoint's cache of prefixes
    serves them all. `version` is a digest of all three.
    """

    system: str
    task: Template
    schema: Schema
    version: str

    @classmethod
    def read(cls, name: str, schema: Schema) -> Prompt:
        """Read `prompts/<name>.md` and `prompts/system.md`."""
        folder = files(__package__).joinpath("prompts")
        system, task = (folder.joinpath(f"{one}.md").read_text("utf-8").strip() for one in ("system", name))
        digest = hashlib.sha256(json.dumps([system, task, schema]).encode()).hexdigest()
        return cls(system, Template(task), schema, digest[:12])

    def request(
        self,
        *texts: str,
        values: Mapping[str, str] | None = None,
        draw: int = 0,
        check: Callable[[Any], None] | None = None,
    ) -> Request:
        """Ask about texts, which are fenced; `values` are put where the task names them."""
        content = "\n\n".join((*texts, self.task.substitute(values or {})))
        return Request(
            [Message("system", self.system), Message("user", content)], self.schema, self.version, draw, check
        )


def list_of(item: Schema) -> Schema:
    """Give the schema of a list."""
    return {"type": "array", "items": item}


def object_of(**properties: Schema) -> Schema:
    """Give the schema of an object that has all of the properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
YES_OR_NO: Schema = {"type": "boolean"}
