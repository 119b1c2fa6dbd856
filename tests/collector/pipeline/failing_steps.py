"""Steps of a collector that can be told to fail, or to kill the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pyarrow.parquet as pq

from collector.commit.table_rows import TableRows
from collector.pipeline import collector as pipeline
from lake.delta_log import writing
from lake.spec.root_tables import BATCHES
from lake.tables import buffered_files
from lake.tables.buffered_files import BufferedFiles
from lake.tables.lake import Lake
from lake.tables.table import Table


class KilledError(BaseException):
    """The process is killed here; what it holds in memory is lost."""


class Faults:
    """Steps of a collector, each of which can be told to fail, before or after it does its work."""

    def __init__(self) -> None:
        self._armed: dict[tuple[str, str], tuple[int, BaseException]] = {}
        self.patches = [
            self._at(pipeline, "parse_piece", lambda *_: "parse"),
            self._at(TableRows, "add", lambda *_: "take"),
            self._at(BufferedFiles, "add", lambda *_: "encode"),
            self._at(pq.ParquetWriter, "write_table", lambda *_: "row group"),
            self._at(writing._File, "close", lambda *_: "footer"),
            self._at(BufferedFiles, "store", lambda *_: "store"),
            self._at(buffered_files, "_write", lambda *_: "file"),
            self._at(Table, "commit", lambda *_: "commit"),
            self._at(Table, "append", lambda table, *_: "count" if table.spec is BATCHES else "append"),
            self._at(Table, "progress", lambda *_: "progress"),
            self._at(Lake, "deployments", lambda *_: "recover"),
        ]

    # Rows that could not be encoded are not added: that step has no "after".
    STEPS = (
        *(("commit", "before"), ("commit", "after"), ("count", "before"), ("count", "after"), ("progress", "before")),
        *(("store", "before"), ("store", "after"), ("file", "before"), ("file", "after"), ("encode", "before")),
        *(("row group", "before"), ("row group", "after"), ("footer", "before"), ("footer", "after")),
        *(("parse", "before"), ("parse", "after"), ("take", "before"), ("take", "after"), ("recover", "before")),
    )

    def arm(self, step: tuple[str, str], times: int, error: BaseException) -> None:
        """Let a step fail at its next calls."""
        self._armed[step] = (times, error)

    def end(self) -> None:
        """Let all steps work."""
        self._armed.clear()

    @contextmanager
    def absent(self) -> Iterator[None]:
        """Let all steps work as long as the block runs."""
        armed, self._armed = self._armed, {}
        try:
            yield
        finally:
            self._armed = armed

    def _at(self, owner: Any, name: str, step_of: Callable[..., str]) -> Any:
        real = getattr(owner, name)

        def step(*args: Any, **options: Any) -> Any:
            self._meet(step_of(*args), "before")
            result = real(*args, **options)
            self._meet(step_of(*args), "after")
            return result

        return mock.patch.object(owner, name, step)

    def _meet(self, step: str, moment: str) -> None:
        times, error = self._armed.get((step, moment), (0, None))
        if times and error is not None:
            self._armed[step, moment] = (times - 1, error)
            raise error
