"""Forms that pages send: their fields, and the token that shows that a page of ours sent them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

from monitor.access.authentication import Authentication
from monitor.pages.rendering import reader_of

_MOST_BYTES = 64 * 1024
_MOST_FIELDS = 100
_RECEIVE_SECONDS = 20.0
_TYPE = "application/x-www-form-urlencoded"


async def fields_of(request: Request) -> Mapping[str, str]:
    """Return the fields of a form that was posted, of several with one name the last; raises HTTPException."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise HTTPException(415, f"A form is sent as {_TYPE}")
    body = bytearray()
    try:
        async with asyncio.timeout(_RECEIVE_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise HTTPException(413, "The form is too long")
    except TimeoutError:
        raise HTTPException(408, "The form came too slowly") from None
    try:
        return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise HTTPException(413, "The form has too many fields") from None


async def checked_form(request: Request, authentication: Authentication) -> Mapping[str, str]:
    """Return the fields of a form whose `form_token` is that of the reader's session; else raises HTTPException 403."""
    fields = await fields_of(request)
    if not authentication.forms.fits(reader_of(request).session, fields.get("form_token", "")):
        raise HTTPException(403, "This form is too old or was not ours: open its page again, and send it from there")
    return fields
