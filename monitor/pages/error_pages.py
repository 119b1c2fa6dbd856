"""Errors: a page, or JSON for who asked for JSON, says what is wrong with an address."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from monitor.pages.json_answers import asks_for_json
from monitor.pages.rendering import Renderer

_NOT_FOUND, _METHOD_NOT_ALLOWED, _UNPROCESSABLE, _FAILED = 404, 405, 422, 500
_PLAIN_NOT_FOUND = "Not Found"
"""What Starlette says of an address that leads nowhere."""


def add_error_pages(app: FastAPI, renderer: Renderer) -> None:
    """Answer what `app` cannot serve with a page for people (`error_page.html`); of `.json` addresses with JSON."""

    def answer(request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
        return renderer.error(request, status, message, headers)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        path, message = request.url.path, str(error.detail)
        if error.status_code == _NOT_FOUND and not (asks_for_json(request) and message != _PLAIN_NOT_FOUND):
            message = f"There is no page {path}"
        if error.status_code == _METHOD_NOT_ALLOWED:
            message = f"{path} does not take {request.method}"
        return answer(request, error.status_code, message, error.headers)

    @app.exception_handler(RequestValidationError)
    async def incomplete(request: Request, error: RequestValidationError) -> Response:
        parameters = ", ".join(str(one["loc"][-1]) for one in error.errors())
        message = f"The address {request.url.path} lacks a usable {parameters}"
        return answer(request, _UNPROCESSABLE, message)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:  # noqa: ARG001 - it is logged
        return answer(request, _FAILED, "An error of dialwatch kept this from being given; its log says more")
