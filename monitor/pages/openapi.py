"""`/openapi.json`: the addresses that give JSON, and those for programs, described by what their routes say."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi

from monitor.pages.access_control import MACHINE_PATHS
from monitor.pages.json_answers import JSON, ErrorAnswer, json_answer

OPENAPI = "/openapi.json"
_TOKEN = "token"  # noqa: S105 - a name
_REFUSED = {
    "description": "Nobody is signed in.",
    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}}},
}
_UNUSED = ("HTTPValidationError", "ValidationError")
"""What FastAPI describes for the pages."""


def add_openapi(app: FastAPI, *, server: str, has_token: bool) -> None:
    """Serve the description; `server` is where the pages are found, if that is known."""

    @cache
    def description() -> dict[str, Any]:
        return _description(app, server, has_token=has_token)

    @app.get(OPENAPI, include_in_schema=False)
    def openapi() -> Response:
        return json_answer(description())


def _description(app: FastAPI, server: str, *, has_token: bool) -> dict[str, Any]:
    made = get_openapi(
        title="dialwatch",
        version=version("dialwatch"),
        description="The data of the pages. Times are UTC, dates are days in UTC.",
        routes=app.routes,
        servers=[{"url": server.rstrip("/")}] if server else None,
    )
    made["paths"] = {path: item for path, item in made["paths"].items() if path.endswith(JSON) or path in MACHINE_PATHS}
    for path, item in made["paths"].items():
        for operation in item.values():
            operation["operationId"] = path.strip("/").removesuffix(JSON).replace("/", "_")
            if has_token and path not in MACHINE_PATHS:
                operation["security"] = [{_TOKEN: []}]
                operation["responses"]["401"] = _REFUSED
    components = made["components"]
    components["schemas"] = {name: one for name, one in components["schemas"].items() if name not in _UNUSED}
    if has_token:
        components["securitySchemes"] = {_TOKEN: {"type": "http", "scheme": "bearer"}}
    return made
