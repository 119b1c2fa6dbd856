"""Identity of a log file, also after the file was renamed, compressed, truncated or rewritten.

A file is identified by its name and its first line: if a name is used again with another first line, it is a new file.
With the same first line it is also a new file (a new `generation`) if it got shorter, or if the committed offset is no
longer just after the end of a line.

A file is also identified by its content, as far as it was read (see `collector.sources.files.contents`). A file of
another name that begins with a known content is read from the end of that content, plain or compressed. Files with
different contents are never taken for one, except with probability 2^-32 if their first lines and lengths are equal.
"""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from isal import isal_zlib

from collector.commit.position import Partition
from collector.sources.files.listing import LogFile
from collector.sources.lines import SourceLine, read_lines
from lake.spec.vocabulary import SourceKind


def file_partition(file: LogFile, first_line: bytes, generation: int = 0) -> Partition:
    """Partition of the lines of the file with this name and first line."""
    return _partition(file.name, os.fsencode(file.uri), first_line, generation)


def named_partition(name: str, first_line: bytes, generation: int) -> Partition:
    """Partition of the lines of a file with this first line, if its name was Unicode."""
    return _partition(name, name.encode(), first_line, generation)


def _partition(name: str, path: bytes, first_line: bytes, generation: int) -> Partition:
    identity = path + b"\0" + first_line.strip() + (b"\0%d" % generation if generation else b"")
    return Partition(SourceKind.FILE, name, hash_of(identity))


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


def hash_of_line(first_line: bytes) -> str:
    """Hash of a first line, by which contents are told apart."""
    return hash_of(first_line.strip())


def hash_of(identity: bytes) -> str:
    """Hash of 128 bits, as 32 hex digits."""
    return hashlib.sha256(identity).hexdigest()[:32]
