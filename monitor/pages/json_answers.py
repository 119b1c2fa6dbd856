"""Answers in JSON: the data of a page, or what was wrong with an address; and how their routes are described."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter

from runtime.json_values import json_values

JSON = ".json"
_UNPROCESSABLE = 422
NOT_KEPT = {"Cache-Control": "no-store"}
"""Texts are not left in a browser's cache."""
_REFUSALS = {
    403: "The reader may see no deployment, or may not do this.",
    404: "There is none of what the address names, or the reader may not see it.",
    422: "A parameter is missing or cannot be used; `message` says which, and what it takes.",
    503: "It cannot be read now: try again after the seconds of `Retry-After`.",
}


@dataclass(frozen=True)
class ErrorAnswer:
    """What is given in place of the data: the HTTP status, and in words what was wrong."""

    status: int
    message: str


def json_answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Give data as JSON: fields of dataclasses by name, times as ISO 8601 in UTC, null for what is no number."""
    # Details may hold what the faster encoders refuse: large numbers, half characters.
    text = json.dumps(json_values(body))
    return Response(text, status, NOT_KEPT | dict(headers or {}), "application/json")


def error_answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Give what was wrong as JSON."""
    return json_answer(ErrorAnswer(status, message), status, headers)


def asks_for_json(request: Request) -> bool:
    """Say whether this address gives JSON, also where it cannot be given."""
    return request.url.path.endswith(JSON)


def described(
    model: Any, summary: str, *refusals: int, parameters: Any = None, required: Sequence[str] | None = None
) -> dict[str, Any]:
    """Give the arguments with which a route that answers JSON is added, so that `/openapi.json` describes it.

    `model` is the dataclass, or another type that pydantic knows, of what it answers; `refusals` are the statuses of
    errors besides 422. `parameters` is a dataclass with the fields of the address, for a route that reads them itself;
    `required` are those that must be given where these are others than the fields without a default.
    """
    errors = {
        status: {"model": ErrorAnswer, "description": _REFUSALS[status]} for status in (*refusals, _UNPROCESSABLE)
    }
    found: dict[str, Any] = {"response_model": model, "summary": summary, "responses": errors}
    return found | ({"openapi_extra": {"parameters": _parameters_of(parameters, required)}} if parameters else {})


def _parameters_of(kind: Any, required: Sequence[str] | None) -> list[dict[str, Any]]:
    """Give the fields of a dataclass as parameters of an address."""
    schema = TypeAdapter(kind).json_schema()
    needed, words = schema.get("required", []) if required is None else required, schema.get("$defs", {})
    return [
        {"name": name, "in": "query", "required": name in needed}
        | ({"description": found.pop("description")} if "description" in found else {})
        | {"schema": _inlined(found, words)}
        for name, found in schema["properties"].items()
    ]


def _inlined(schema: Any, words: Mapping[str, Any]) -> Any:
    """Give the schema with the enumerations in the place of references, which would lead out of it."""
    if isinstance(schema, list):
        return [_inlined(one, words) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return words[schema["$ref"].rpartition("/")[2]]
    return {name: _inlined(one, words) for name, one in schema.items()}
