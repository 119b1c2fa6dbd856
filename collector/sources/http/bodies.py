"""The body of a request: read and unpacked up to a limit, and split into lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec
from fastapi import HTTPException, Request
from isal import igzip_lib

from collector.parsing.json_text.value_limit import hold_more_values
from collector.parsing.line.core_lines import BOM
from collector.parsing.line.envelopes import read_cri
from collector.sources.lines import GZIP_MAGIC, SourceLine, join_parts

BYTES_OF_AN_ITEM = 500
"""Memory that a line or an item of a body takes besides its own bytes: many small ones need much memory."""
_BYTES_OF_A_VALUE = 64
_IDLE_SECONDS = 20.0
"""A sender that sends nothing for so long in the middle of a body is gone."""


async def read_body(request: Request, limit: int, seconds: float) -> AsyncIterator[bytes]:
    """Yield the body in pieces, unpacked; raises HTTPException 400, 408, 413 or 415.

    It stops at the limit, so that a small body cannot fill the memory, and does not begin where `Content-Length` is
    over it already. All of it must come within so many seconds.
    """
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise HTTPException(415, f"Content-Encoding {encoding!r} is not known: send gzip, or none")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit)
    unzip = _Unzip() if encoding == "gzip" else None
    size = 0
    async for chunk in _in_time(request.stream(), seconds):
        for piece in unzip.feed(chunk, limit) if unzip else [chunk]:
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            yield piece
    if unzip is not None and not unzip.is_whole():
        raise HTTPException(400, "the gzip body is not one whole gzip stream; send it again")


def split_lines(body: bytes, limit: int) -> list[bytes]:
    """Cut a body that holds a JSON value a line into its lines; a body that is one value stays whole.

    A line that is no JSON is one all the same, to be rejected with its bytes, as long as another one could be JSON, or
    be what a container runtime writes. Lines with the parts of one line stay together.
    Raises HTTPException 400 where none could, and 413 where what the body holds takes more than the limit in bytes.
    """
    if is_json(body):
        require_few_values([body], limit)
        return [body] if not _is_empty_array(body) else []
    lines = lines_of(body, limit)
    if not any(line.lstrip().startswith((b"[", b"{")) or read_cri(line) for line in lines):
        shown = body[:40].decode(errors="replace")
        raise HTTPException(400, f"the body must be JSON, an array of log lines or a line each; it begins {shown!r}")
    return [line.raw for line in join_parts(SourceLine(line, 0) for line in lines)]


def lines_of(body: bytes, limit: int) -> list[bytes]:
    """Cut a body at its newlines; blank lines are nothing. Raises HTTPException 413 where there are too many."""
    require_few_items(body.count(b"\n"), limit)
    return [line for line in body.removeprefix(BOM).split(b"\n") if line.strip()]


def require_few_items(count: int, limit: int) -> None:
    """Raise HTTPException 413 where so many lines or items take more than the limit in bytes."""
    most = limit // BYTES_OF_AN_ITEM
    if count > most:
        raise _too_much(f"more than {most} lines or items")


def require_few_values(texts: Sequence[bytes], limit: int) -> None:
    """Raise HTTPException 413 where the values of JSON texts would take more than the limit in bytes, all together.

    Each text must be one that is decoded from its beginning: a string that it leaves open hides nothing of the next.
    """
    most = limit // _BYTES_OF_A_VALUE
    if hold_more_values(texts, most):
        raise _too_much(f"more than {most} JSON values")


def is_json(body: bytes) -> bool:
    """Whether a body is one JSON value; makes nothing of it."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _is_empty_array(body: bytes) -> bool:
    return body.lstrip().startswith(b"[") and not body.strip()[1:-1].strip()


async def _in_time(stream: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    """Yield what comes as it comes; raises HTTPException 408 where it takes too long, or nothing comes any more."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        left = end - loop.time()
        try:
            async with asyncio.timeout(min(left, _IDLE_SECONDS)):
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            reason = f"nothing came for {_IDLE_SECONDS:g} s" if left > _IDLE_SECONDS else f"it took over {seconds:g} s"
            detail = f"the body did not come in time: {reason}"
            raise HTTPException(408, detail, headers={"Connection": "close"}) from None
        yield chunk


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


def _too_much(what: str) -> HTTPException:
    return HTTPException(413, f"the body holds {what}; send smaller batches, or raise collector.http.max_body_bytes")
