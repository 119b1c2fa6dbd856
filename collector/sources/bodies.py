"""The body of a request, read and unpacked up to a limit, and what it is made of."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
from fastapi import HTTPException, Request
from isal import igzip_lib

from collector.parsing.entries import BOM
from collector.sources.lines import GZIP_MAGIC


async def read_body(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Give the body in pieces, unpacked; raises HTTPException 400, 413 or 415.

    It stops at the limit, so that a small body cannot fill the memory, and does not begin where `Content-Length` is
    over it already.
    """
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise HTTPException(415, f"Content-Encoding {encoding!r} is not known: send gzip, or none")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit)
    unzip = _Unzip() if encoding == "gzip" else None
    size = 0
    async for chunk in request.stream():
        for piece in unzip.feed(chunk, limit) if unzip else [chunk]:
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            yield piece
    if unzip is not None and not unzip.is_whole():
        raise HTTPException(400, "the gzip body is not one whole gzip stream; send it again")


def split_lines(body: bytes) -> list[bytes]:
    """Cut a body that holds a JSON value a line into its lines; a body that is one value stays whole.

    A line that is no JSON is one all the same, to be rejected with its bytes, as long as another one could be JSON.
    Raises HTTPException 400 where none could.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        lines = [line for line in body.removeprefix(BOM).split(b"\n") if line.strip()]
        if not any(line.lstrip().startswith((b"[", b"{")) for line in lines):
            shown = body[:40].decode(errors="replace")
            message = f"the body must be JSON, an array of log lines or a line each; it begins {shown!r}"
            raise HTTPException(400, message) from None
        return lines
    return [body] if value != [] else []


class _Unzip:
    """Unpacks gzip of any number of members; zeros after a member are padding."""

    def __init__(self) -> None:
        self._member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        self._fresh = True
        self._members = 0

    def feed(self, packed: bytes, limit: int) -> list[bytes]:
        """Unpack what came; never gives more than one byte over the limit at once."""
        pieces, room = [], limit + 1
        while room > 0:
            if self._fresh and not (packed := packed.lstrip(b"\0") if self._members else packed):
                break
            if self._fresh and not GZIP_MAGIC.startswith(packed[:2]):
                raise HTTPException(400, "the body is no gzip, or another stream than gzip follows")
            try:
                piece = self._member.decompress(packed, room)
            except igzip_lib.IsalError as error:  # type: ignore[misc]  # the stub says it is an instance
                raise HTTPException(400, f"the body is no gzip: {error}") from error
            self._fresh, packed = False, b""
            room -= len(piece)
            pieces.append(piece)
            if self._member.eof:
                packed = self._member.unused_data
                self._member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
                self._fresh, self._members = True, self._members + 1
            elif self._member.needs_input:
                break
        return pieces

    def is_whole(self) -> bool:
        """Whether the last member is at its end, and there was one."""
        return self._fresh and self._members > 0


def _too_large(limit: int) -> HTTPException:
    detail = f"the body is larger than {limit} bytes, unpacked; send smaller batches"
    return HTTPException(413, detail, headers={"Connection": "close"})
