"""Description of the addresses that give JSON, `/openapi.json`: how each route says what it answers, and the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from starlette.routing import BaseRoute

from monitor.pages.access_control import MACHINE_PATHS
from monitor.pages.json_answers import JSON, ErrorAnswer, json_answer

_UNPROCESSABLE, _UNAVAILABLE = 422, 503
_REFUSALS = {
    403: "The reader may see no deployment, or may not do this.",
    404: "There is none of what the address names, or the reader may not see it.",
    422: "A parameter is missing or cannot be used; `message` says which, and what it takes.",
    503: "It cannot be read now: try again after the seconds of `Retry-After`.",
}
_TOKEN = "token"  # noqa: S105 - a name
_REFUSED = {
    "description": "Nobody is signed in.",
    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}}},
}
_UNUSED = ("HTTPValidationError", "ValidationError")
"""What FastAPI describes for the pages."""


def described(
    model: Any, summary: str, *refusals: int, parameters: Any = None, required: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """Return the arguments of a route that answers JSON, so that `/openapi.json` describes it.

    `model` is the dataclass, or another type that pydantic knows, of what it answers; `refusals` are the statuses of
    errors besides 422. `parameters` is a dataclass with the fields of the address, for a route that reads them itself;
    `required` are those that must be given where these are others than the fields without a default.
    """
    errors = {
        status: {"model": ErrorAnswer, "description": _REFUSALS[status]} for status in (*refusals, _UNPROCESSABLE)
    }
    found: dict[str, Any] = {"response_model": model, "summary": summary, "responses": errors}
    return found | ({"openapi_extra": {"parameters": _parameters_of(parameters, required)}} if parameters else {})


def described_probe(model: type, summary: str) -> dict[str, Any]:
    """Return the arguments of a route that answers the same with 200 and with 503."""
    words = {"model": model, "description": "No: the answer says more, where there is more."}
    return {"response_model": model, "summary": summary, "responses": {_UNAVAILABLE: words}}


@cache
def _parameters_of(kind: Any, required: tuple[str, ...] | None) -> list[dict[str, Any]]:
    """Return the fields of a dataclass as parameters of an address."""
    schema = TypeAdapter(kind).json_schema()
    needed, words = schema.get("required", []) if required is None else required, schema.get("$defs", {})
    return [
        {"name": name, "in": "query", "required": name in needed}
        | ({"description": found.pop("description")} if "description" in found else {})
        | {"schema": _inlined(found, words)}
        for name, found in schema["properties"].items()
    ]


def _inlined(schema: Any, words: Mapping[str, Any]) -> Any:
    """Return the schema with the enumerations in the place of references, which would lead out of it."""
    if isinstance(schema, list):
        return [_inlined(one, words) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return words[schema["$ref"].rpartition("/")[2]]
    return {name: _inlined(one, words) for name, one in schema.items()}


class OpenApi:
    """The description, made once, when it is first asked for; `server` is where the pages are found, if known."""

    def __init__(self, server: str, *, has_token: bool) -> None:
        self._server = server
        self._has_token = has_token
        self._made: dict[str, Any] | None = None

    def show(self, request: Request) -> Response:
        """Answer with the description of the application's routes."""
        if self._made is None:
            self._made = self._description(request.app.routes)
        return json_answer(self._made)

    def _description(self, routes: Sequence[BaseRoute]) -> dict[str, Any]:
        made = get_openapi(
            title="dialwatch",
            version=version("dialwatch"),
            description="The data of the pages. Times are UTC, dates are days in UTC.",
            routes=routes,
            servers=[{"url": self._server.rstrip("/")}] if self._server else None,
        )
        made["paths"] = {path: one for path, one in made["paths"].items() if _is_for_programs(path)}
        for path, item in made["paths"].items():
            for operation in item.values():
                # That is the handler's docstring, for who reads the code.
                operation.pop("description", None)
                operation["operationId"] = path.strip("/").removesuffix(JSON).replace("/", "_")
                if self._has_token and path not in MACHINE_PATHS:
                    operation["security"] = [{_TOKEN: []}]
                    operation["responses"]["401"] = _REFUSED
        components = made["components"]
        components["schemas"] = {name: one for name, one in components["schemas"].items() if name not in _UNUSED}
        if self._has_token:
            components["securitySchemes"] = {_TOKEN: {"type": "http", "scheme": "bearer"}}
        return made


def _is_for_programs(path: str) -> bool:
    return path.endswith(JSON) or path in MACHINE_PATHS
