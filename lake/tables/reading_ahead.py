"""Reads whole tables ahead of who takes them in, in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO, Self, cast

import pyarrow as pa

from lake.schemas import TABLES
from lake.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from lake.tables.table import Change, Table

_HEADER = struct.Struct("<qqq")
"""Place of a table among those wanted, its version, and how many bytes of it follow: none if it could not be read."""
_NO_TABLE = -1
_OVER = sys.maxsize


@dataclass(frozen=True)
class Wanted:
    """Columns of a table of one deployment."""

    spec: TableSpec
    deployment: str | None
    columns: tuple[str, ...]


class ReadAhead:
    """Reads tables in an order that is known beforehand; each process is at most a table ahead of `take`.

    Processes and not threads: to read many small files keeps the interpreter busy. A process that ends is no harm: its
    tables are then given as None. A context manager; its end ends them. Raises OSError where none can be started.
    """

    def __init__(self, lake: Lake, wanted: Sequence[Wanted], processes: int) -> None:
        self._places = {(one.spec.name, one.deployment): place for place, one in enumerate(wanted)}
        names = list(dict.fromkeys(one.deployment for one in wanted))
        self._reader_of = {name: place % processes for place, name in enumerate(names)}
        parts: list[list[tuple[int, str, str | None, tuple[str, ...]]]] = [[] for _ in range(processes)]
        for place, one in enumerate(wanted):
            parts[self._reader_of[one.deployment]].append((place, one.spec.name, one.deployment, one.columns))
        self._readers: list[_Reader] = []
        try:
            for part in parts:
                self._readers.append(_Reader(lake, part))
        except OSError:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers:
            reader.close()

    def take(self, spec: TableSpec, deployment: str | None) -> Change | None:
        """Give all rows of a table, once; None where it was not wanted or could not be read: read it yourself."""
        place = self._places.pop((spec.name, deployment), None)
        return None if place is None else self._readers[self._reader_of[deployment]].take(place)


class _Reader:
    """A process that reads tables one after the other, and waits until each is taken."""

    def __init__(self, lake: Lake, wanted: Sequence[tuple[int, str, str | None, tuple[str, ...]]]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from lake.tables.reading_ahead import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._output = cast("IO[bytes]", self._process.stdout)
        task = {"root": lake.root, "storage": asdict(lake.storage), "wanted": wanted}
        # Not as an argument, which every user of the machine can see: the storage may hold a key.
        with contextlib.suppress(BrokenPipeError), cast("IO[bytes]", self._process.stdin) as told:
            told.write(json.dumps(task).encode())

    def take(self, place: int) -> Change | None:
        """Give the table at a place, passing over those before it, which nobody took."""
        found, version, data = self._next()
        while found < place:
            found, version, data = self._next()
        if found != place or not data:
            return None
        return Change(pa.ipc.open_stream(pa.py_buffer(data)).read_all(), None if version == _NO_TABLE else version)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()

    def _next(self) -> tuple[int, int, bytes]:
        header = self._output.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return _OVER, _NO_TABLE, b""
        place, version, size = _HEADER.unpack(header)
        data = self._output.read(size)
        return (place, version, data) if len(data) == size else (_OVER, _NO_TABLE, b"")


def serve() -> None:
    """Read the tables that standard input names and write them to standard output, in Arrow's format."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever prints must not get between the tables.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task = json.load(sys.stdin)
    lake = Lake(task["root"], Storage(**task["storage"]))
    with contextlib.suppress(BrokenPipeError), output:
        for place, spec, deployment, columns in task["wanted"]:
            version, data = _read(lake.table(TABLES[spec], deployment), columns)
            output.write(_HEADER.pack(place, version, len(data)))
            output.write(data)


def _read(table: Table, columns: Sequence[str]) -> tuple[int, bytes | pa.Buffer]:
    try:
        change = table.read_since(None, columns)
    except Exception:
        # Who wanted it reads it then, and meets the error where it is told and counted.
        return _NO_TABLE, b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, change.rows.schema) as stream:
        # A year of small files is thousands of small pieces, each with its own cost in every step.
        stream.write_table(change.rows.combine_chunks())
    return _NO_TABLE if change.version is None else change.version, sink.getvalue()
