"""What tells one log file from all others, also after it was moved, packed, cut short or written anew.

A file is its name and its first line: a name that is used again is a new file. So is one under its old name and with
its old first line that got shorter, or whose committed position no longer follows a line's end (a `generation`).

A file that rests or leaves its name is also known by its content (`collector.sources.files.contents`). A file under
another name that begins with a known content is read from there on, be it plain or packed. Two files that differ
anywhere in it are two, but for one chance in 2^32 where first line and length are equal.
"""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from isal import isal_zlib

from collector.commit.position import Partition
from collector.sources.files.listing import LogFile
from collector.sources.lines import SourceLine, read_lines
from lake import SourceKind


def file_partition(file: LogFile, first_line: bytes, generation: int = 0) -> Partition:
    """Partition of the lines of the file with this name and first line."""
    told = os.fsencode(file.uri) + b"\0" + first_line.strip()
    return Partition(SourceKind.FILE, file.name, hash_of(told + (b"\0%d" % generation if generation else b"")))


def checksum_after(line: SourceLine, before: int) -> int:
    """CRC-32 of all lines up to this one, from that of the lines before it."""
    return isal_zlib.crc32(line.raw, isal_zlib.crc32(b"\n", before))


def ends_a_line(stream: BinaryIO, size: int, position: int) -> bool:
    """Whether a plain file can have been read up to this position: a line ends there, or begins there."""
    if position > size:
        return False
    stream.seek(position - 1)
    around = stream.read(2)
    return position == size or b"\n" in around


def content_checksum(stream: BinaryIO, offset: int) -> int | None:
    """Checksum of the lines up to `offset`, read once more; None where no line ends there."""
    stream.seek(0)
    so_far = 0
    for line in read_lines(stream):
        so_far = checksum_after(line, so_far)
        if line.offset >= offset:
            return so_far if line.offset == offset else None
    return None


def hash_of(told: bytes) -> str:
    """128 bits that tell these bytes from all others, as 32 hex digits."""
    return hashlib.sha256(told).hexdigest()[:32]
