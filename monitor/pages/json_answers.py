"""Answers in JSON: the data of a page, or what was wrong with an address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Request, Response

from runtime.json_values import json_values

JSON = ".json"
NOT_KEPT = {"Cache-Control": "no-store"}
"""Texts are not left in a browser's cache."""


@dataclass(frozen=True)
class ErrorAnswer:
    """What is given in place of the data: the HTTP status, and in words what was wrong."""

    status: int
    message: str


def json_answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return data as JSON: fields of dataclasses by name, times as ISO 8601 in UTC, null for what is no number."""
    # Details may hold what the faster encoders refuse: large numbers, half characters.
    text = json.dumps(json_values(body))
    return Response(text, status, NOT_KEPT | dict(headers or {}), "application/json")


def error_answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return what was wrong as JSON."""
    return json_answer(ErrorAnswer(status, message), status, headers)


def asks_for_json(request: Request) -> bool:
    """Return whether this address gives JSON, also where it cannot be given."""
    return request.url.path.endswith(JSON)
