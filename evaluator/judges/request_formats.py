"""Formats of a request for JSON that fits a schema: three, best first, of which an endpoint knows one or more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from evaluator.judges.exchange import ChatMessage
from evaluator.judges.schema import MisfitError, Schema
from evaluator.judges.settings import LIMIT_PARAMETERS, JudgeSettings

RequestFormat = Literal["schema", "tool", "text"]
REQUEST_FORMATS: tuple[RequestFormat, ...] = ("schema", "tool", "text")
_NAME = "answer"
_AS_TEXT = "Reply with one JSON object that fits this JSON Schema, and with nothing else:\n"


class AcceptedParameters:
    """Settings as requests to an endpoint are written: those of the judge without the parameters that it refused.

    The limit of a reply's tokens is never left out, as the budget counts on it: it has two names.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self._refused: set[str] = set()

    def without(self, parameter: str | None) -> tuple[bool, str]:
        """Do without a parameter that the endpoint refused: whether a request can, and what to tell the first time."""
        if parameter not in ("temperature", *LIMIT_PARAMETERS):
            return False, ""
        is_known = parameter in self._refused
        self._refused.add(parameter)
        if parameter == "temperature":
            changed: dict[str, Any] = {"temperature": None}
            instead = "it is asked without it, and the model chooses; set temperature to null if that is right"
        elif others := [name for name in LIMIT_PARAMETERS if name not in self._refused]:
            changed = {"limit_parameter": others[0]}
            instead = f"it is asked with {others[0]}; set limit_parameter to {others[0]}"
        else:
            return False, ""
        self.settings = self.settings.model_copy(update=changed)
        return True, "" if is_known else instead


def request(
    settings: JudgeSettings, messages: Sequence[ChatMessage], schema: Schema, form: RequestFormat
) -> dict[str, Any]:
    """Return the body of a chat completion request.

    All forms begin with the same messages, so that an endpoint's cache of prefixes serves them all. Halves of
    surrogate pairs, which UTF-8 cannot hold, become `?`.
    """
    body: dict[str, Any] = {
        "model": settings.model_name,
        "messages": [{"role": message.role, "content": _sendable(message.content)} for message in messages],
        settings.limit_parameter: settings.max_tokens,
    }
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if form == "schema":
        return body | _with_schema(schema)
    if form == "tool":
        return body | _with_tool(schema)
    if (shown := _as_text(schema)) not in body["messages"][-1]["content"]:
        body["messages"][-1]["content"] += f"\n\n{shown}"
    return body


def asked_again(
    messages: Sequence[ChatMessage], text: str, misfit: MisfitError, schema: Schema | None = None
) -> list[ChatMessage]:
    """Return the conversation that shows a judge its reply and what is wrong with it.

    `schema` is what the reply does not fit: it is shown as text, as the endpoint may not have heeded it elsewhere.
    """
    complaint = f"That reply does not fit what was asked for. {misfit}\nReply again, with the whole JSON object."
    if schema is not None:
        complaint += f"\n\n{_as_text(schema)}"
    return [*messages, ChatMessage("assistant", text or "(empty)"), ChatMessage("user", complaint)]


def _as_text(schema: Schema) -> str:
    return _AS_TEXT + json.dumps(schema, separators=(",", ":"))  # blanks are a quarter of its tokens


def _with_schema(schema: Schema) -> dict[str, Any]:
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": _NAME, "schema": schema, "strict": True}}
    }


def _with_tool(schema: Schema) -> dict[str, Any]:
    function = {"name": _NAME, "description": "Give the answer.", "parameters": schema}
    return {
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": _NAME}},
    }


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
