"""Lines of a stream, plain or gzip, with the position after each; of damaged gzip only the damaged part is lost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec
from isal import igzip_lib

from collector.parsing.line.envelopes import UnendedParts
from lake.spec.service_vocabulary import RejectionReason

CHUNK_BYTES = 256 << 10
PACKED_CHUNK_BYTES = 64 << 10
MAX_LINE_BYTES = 64 << 20
GZIP_MAGIC = b"\x1f\x8b"
_KEPT_OF_TOO_LONG = 1 << 20
_KEPT_OF_NULS = 1024
"""A file that is truncated under a writer that goes on at its old place begins with NULs, a hole of any size."""
_MOST_PARTS = 10_000


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
    data = 0 if packed else _end_of_hole(stream, start)
    stream.seek(data)
    chunks = _skip(_unpacked(stream), start) if packed else _chunks(stream)
    cutter = _LineCutter(start, nuls=max(data - start, 0))
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


def join_parts(lines: Iterable[SourceLine]) -> Iterator[SourceLine]:
    """Yield the lines of a container's log, those that hold the parts of one line as one, with newlines between.

    A line whose last part is missing ends at the end of the stream, unended, or where it is too long.
    """
    held: list[SourceLine] = []
    size, unended = 0, UnendedParts()
    for line in lines:
        if held and (line.problem or unended.begins_anew(line.raw)):
            yield _joined(held)
            held, size = [], 0
            unended.clear()
        unended.read(line.raw)
        if not held and not unended:
            yield line
            continue
        held.append(line)
        size += len(line.raw)
        if not unended or size > MAX_LINE_BYTES or len(held) >= _MOST_PARTS:
            yield _joined(held)
            held, size = [], 0
            unended.clear()
    if held:
        yield _joined(held, ended=False)


def _joined(lines: list[SourceLine], *, ended: bool = True) -> SourceLine:
    last = lines[-1]
    return SourceLine(b"\n".join(line.raw for line in lines), last.offset, ended and last.ended)


def is_packed(stream: BinaryIO) -> bool:
    """Whether a stream is gzip, by its first bytes."""
    stream.seek(0)
    return stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def _end_of_hole(stream: BinaryIO, start: int) -> int:
    """Position of the first byte that is stored, at or after `start`: the file system knows holes of sparse files."""
    stream.seek(start)
    if stream.read(1) != b"\0":
        return start
    try:
        file = stream.fileno()
        before = os.lseek(file, 0, os.SEEK_CUR)
        try:
            return os.lseek(file, start, os.SEEK_DATA)
        finally:
            os.lseek(file, before, os.SEEK_SET)
    except (OSError, AttributeError):
        return start  # No file of its own, or nothing but the hole.


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
    """Cuts chunks at newlines; holds at most one line of at most `MAX_LINE_BYTES`, and few of the NULs before it."""

    def __init__(self, offset: int, nuls: int) -> None:
        self.offset = offset
        self._pending: list[bytes] = []
        self._size = 0
        self._nuls = nuls

    def feed(self, chunk: bytes) -> Iterator[SourceLine]:
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            self._hold(chunk[begin:end])
            yield self._take(newline=1, ended=True)
            begin = end + 1
        if begin < len(chunk):
            self._hold(chunk[begin:])

    def rest(self, *, ended: bool) -> Iterator[SourceLine]:
        if self._size or self._nuls:
            yield self._take(newline=0, ended=ended)

    def _hold(self, part: bytes) -> None:
        if not self._size and part[:1] == b"\0":
            text = part.lstrip(b"\0")
            self._nuls += len(part) - len(text)
            if not text:
                return
            part = text
        # Of a line that is too long only the beginning is kept, so that memory stays bounded.
        room = MAX_LINE_BYTES - self._size
        self._pending.append(part if room >= len(part) else part[: max(room, 0)])
        self._size += len(part)

    def _take(self, *, newline: int, ended: bool) -> SourceLine:
        size = self._size
        raw = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        self.offset += self._nuls + size + newline
        if self._nuls:
            raw = b"\0" * min(self._nuls, _KEPT_OF_NULS) + raw
        self._pending, self._size, self._nuls = [], 0, 0
        if size <= MAX_LINE_BYTES:
            return SourceLine(raw, self.offset, ended)
        message = (
            f"the line has {size} bytes, more than {MAX_LINE_BYTES}; its first {_KEPT_OF_TOO_LONG} are kept: "
            "lower the logger's entry limit, no line of Core needs so much"
        )
        return SourceLine(raw[:_KEPT_OF_TOO_LONG], self.offset, ended, (RejectionReason.TOO_LONG, message))
