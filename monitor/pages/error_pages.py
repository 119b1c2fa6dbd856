"""Error pages: they say what is wrong with an address, and where to go on."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from monitor.pages.rendering import Renderer

_NOT_FOUND, _METHOD_NOT_ALLOWED, _UNPROCESSABLE = 404, 405, 422


def add_error_pages(app: FastAPI, renderer: Renderer) -> None:
    """Answer what `app` cannot serve with a page for people, or with `{"error": ...}` where JSON was asked for."""

    def page(request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
        return renderer.error(request, status, message, headers)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        if error.status_code == _NOT_FOUND:
            return page(request, _NOT_FOUND, f"There is no page {request.url.path}")
        if error.status_code == _METHOD_NOT_ALLOWED:
            return page(
                request, _METHOD_NOT_ALLOWED, f"{request.url.path} does not take {request.method}", error.headers
            )
        return page(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def incomplete(request: Request, error: RequestValidationError) -> Response:
        parameters = ", ".join(str(one["loc"][-1]) for one in error.errors())
        return page(request, _UNPROCESSABLE, f"The address {request.url.path} lacks a usable {parameters}")
