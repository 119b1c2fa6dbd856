"""Formats of a request for JSON that fits a schema: three, best first, of which an endpoint knows one or more."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from evaluator.judges.exchange import ChatMessage
from evaluator.judges.schema import MisfitError, Schema
from evaluator.judges.settings import LIMIT_PARAMETERS, JudgeSettings

RequestFormat = Literal["schema", "tool", "text"]
REQUEST_FORMATS: tuple[RequestFormat, ...] = ("schema", "tool", "text")
_NAME = "answer"
_BYTES_A_TOKEN = 3
"""English has four bytes a token, Russian and Chinese between three and a half and seven."""
_BYTES_AROUND_A_TEXT = 30
"""Ten tokens: the marks around a message, and the name of a schema."""
_IMAGE_TOKENS = 3_000
"""Of one of 2,000 by 2,000 pixels, by most models' rules; what an image did cost counts in the end."""
_MOST_ALTERNATIVES = 20
"""OpenAI and vLLM give no more; a scale has fewer grades that matter."""
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
    settings: JudgeSettings,
    messages: Sequence[ChatMessage],
    schema: Schema,
    form: RequestFormat,
    *,
    probabilities: bool = False,
) -> dict[str, Any]:
    """Return the body of a chat completion request.

    All forms begin with the same messages, so that an endpoint's cache of prefixes serves them all. Halves of
    surrogate pairs, which UTF-8 cannot hold, become `?`.
    """
    body: dict[str, Any] = {
        "model": settings.model_name,
        "messages": [_message(message) for message in messages],
        settings.limit_parameter: settings.max_tokens,
    }
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if probabilities:
        body |= {"logprobs": True, "top_logprobs": _MOST_ALTERNATIVES}
    if form == "schema":
        return body | _with_schema(schema)
    if form == "tool":
        return body | _with_tool(schema)
    if (shown := _as_text(schema)) not in (last := messages[-1]).content:
        body["messages"][-1] = _message(replace(last, content=f"{last.content}\n\n{shown}"))
    return body


def _message(message: ChatMessage) -> dict[str, Any]:
    return {"role": message.role, "content": content_of(message)}


def content_of(message: ChatMessage) -> str | list[dict[str, Any]]:
    """Return the content of a message as it is sent: its text, or its images and its text."""
    text = _sendable(message.content)
    if not message.images:
        return text
    shown = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
    return [*shown, {"type": "text", "text": text}]


def bound_of(shape: str, contents: Iterable[str | list[dict[str, Any]]]) -> int:
    """Return the most tokens that most prompts have, with the schema as text; see `token_bound`."""
    parts = [part for one in contents for part in ([{"text": one}] if isinstance(one, str) else one)]
    texts = [part["text"] for part in parts if "text" in part]
    return token_bound(shape, *texts) + (len(parts) - len(texts)) * _IMAGE_TOKENS


def request_key(
    settings: JudgeSettings,
    messages: Sequence[ChatMessage],
    schema: Schema,
    version: str,
    draw: int,
    *,
    probabilities: bool,
) -> str:
    """Return what a reply is kept under: a digest of the judge and of all that it is asked."""
    judge = [settings.base_url, settings.deployment, settings.model, settings.temperature, settings.max_tokens]
    prompt = [[message.role, message.content, *map(_digest, message.images)] for message in messages]
    more = ["probabilities"] if probabilities else []
    return hashlib.sha256(json.dumps([judge, version, draw, prompt, schema, *more]).encode()).hexdigest()


def _digest(image: str) -> str:
    return hashlib.sha256(image.encode()).hexdigest()


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


def tokens_of(text: str) -> int:
    """Return about how many tokens a text has, where nobody counted them."""
    return -(-len(text) // _BYTES_A_TOKEN)


def token_bound(*texts: str) -> int:
    """Return the most tokens that most texts have; for the rare one of more, the true cost counts in the end."""
    size = sum(len(text.encode("utf-8", "replace")) + _BYTES_AROUND_A_TEXT for text in texts)
    return -(-size // _BYTES_A_TOKEN)


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
