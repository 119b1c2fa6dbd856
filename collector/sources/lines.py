"""Lines of a stream, plain or gzip, with the position after each; of damaged gzip only the damaged part is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec
from isal import igzip_lib

from lake import RejectionReason

CHUNK_BYTES = 256 << 10
PACKED_CHUNK_BYTES = 64 << 10
MAX_LINE_BYTES = 64 << 20
GZIP_MAGIC = b"\x1f\x8b"
_KEPT_OF_TOO_LONG = 1 << 20


class SourceLine(msgspec.Struct, frozen=True, gc=False):
    """A line without its newline, and the position after it in the unpacked stream.

    `ended` is False for bytes after the last newline. `problem` is a reason and a message where the stream itself could
    not be read on, or the line is too long to be held.
    """

    raw: bytes
    offset: int
    ended: bool = True
    problem: tuple[str, str] | None = None


class BrokenGzipError(ValueError):
    """A gzip stream that ends early or holds bytes that are no gzip."""


def read_lines(stream: BinaryIO, start: int = 0) -> Iterator[SourceLine]:
    """Yield the lines after position `start`; a stream is gzip if its first bytes say so, whatever its name."""
    packed = is_packed(stream)
    stream.seek(0 if packed else start)
    chunks = _skip(_unpacked(stream), start) if packed else _chunks(stream)
    cutter = _LineCutter(start)
    problem = None
    try:
        for chunk in chunks:
            yield from cutter.feed(chunk)
    except BrokenGzipError as error:
        problem = (RejectionReason.BROKEN_GZIP, str(error))
    # The end of a whole gzip stream ends its last line too: nothing can follow.
    yield from cutter.rest(ended=packed and problem is None)
    if problem is not None:
        yield SourceLine(b"", cutter.offset + 1, ended=False, problem=problem)


def is_packed(stream: BinaryIO) -> bool:
    """Whether a stream is gzip, by its first bytes."""
    stream.seek(0)
    return stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def _unpacked(stream: BinaryIO) -> Iterator[bytes]:
    """Unpack gzip of any number of members; zeros after a member are padding, as gzip itself takes them."""
    packed = stream.read(PACKED_CHUNK_BYTES)
    while packed:
        member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        while not member.eof:
            try:
                # A piece of at most one chunk: a small stream of zeros unpacks to a thousand times its size.
                yield member.decompress(packed, CHUNK_BYTES)
            except igzip_lib.IsalError as error:  # type: ignore[misc]  # the stub says it is an instance
                raise BrokenGzipError(f"the gzip stream is damaged ({error}); the lines before it are kept") from error
            packed = b""
            if member.needs_input and not (packed := stream.read(PACKED_CHUNK_BYTES)):
                raise BrokenGzipError("the gzip stream ends before its end mark; the lines before it are kept")
        packed = member.unused_data.lstrip(b"\0")
        while not packed and (more := stream.read(PACKED_CHUNK_BYTES)):
            packed = more.lstrip(b"\0")


def _skip(chunks: Iterator[bytes], count: int) -> Iterator[bytes]:
    for chunk in chunks:
        if count < len(chunk):
            yield chunk[count:]
            count = 0
        else:
            count -= len(chunk)


class _LineCutter:
    """Cuts chunks at newlines; holds at most one line of at most `MAX_LINE_BYTES`."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self._pending: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[SourceLine]:
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            self._hold(chunk[begin:end])
            yield self._take(newline=1, ended=True)
            begin = end + 1
        if begin < len(chunk):
            self._hold(chunk[begin:])

    def rest(self, *, ended: bool) -> Iterator[SourceLine]:
        if self._size:
            yield self._take(newline=0, ended=ended)

    def _hold(self, part: bytes) -> None:
        # Of a line that is too long only the beginning is kept, so that memory stays bounded.
        room = MAX_LINE_BYTES - self._size
        self._pending.append(part if room >= len(part) else part[: max(room, 0)])
        self._size += len(part)

    def _take(self, *, newline: int, ended: bool) -> SourceLine:
        size = self._size
        raw = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        self._pending, self._size = [], 0
        self.offset += size + newline
        if size <= MAX_LINE_BYTES:
            return SourceLine(raw, self.offset, ended)
        message = (
            f"the line has {size} bytes, more than {MAX_LINE_BYTES}; its first {_KEPT_OF_TOO_LONG} are kept: "
            "lower the logger's entry limit, no line of Core needs so much"
        )
        return SourceLine(raw[:_KEPT_OF_TOO_LONG], self.offset, ended, (RejectionReason.TOO_LONG, message))
