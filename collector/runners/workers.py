"""Several processes that read one set of files into the lake: a core each, each a collector of its own."""

from __future__ import annotations

import heapq
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa

from collector.commit.batch import Counts
from collector.pipeline.settings import PipelineSettings
from collector.runners.share import Outcome, Share, collect_share
from collector.sources.files.listing import LogFile
from collector.sources.files.source import FileSource
from lake import Lake, Storage

_POLL_SECONDS = 0.05


class WorkerError(RuntimeError):
    """A worker ended before its files were read; what it had committed is in the lake, the next run goes on."""


def collect_with_workers(
    lake: Lake,
    settings: PipelineSettings,
    paths: Sequence[str],
    storage: Storage,
    workers: int,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[int, Outcome]:
    """Read files into the lake in `workers` processes, this one included; gives the number of files and the outcome.

    Every worker is a whole collector over its share of the files, about equal in bytes, with batches of its own: memory
    grows with their number, since smaller batches would be more commits, which cost more than the parsing. When `stop`
    says so they commit what they have and end. Raises WorkerError where another process fails, and what this one meets;
    the others then commit and end too.
    """
    files = FileSource(paths, storage, exclude=lake.root).find()
    chosen = _split(files, workers)
    if not chosen:
        return 0, Outcome(Counts(), {})
    level = logging.getLogger().level
    own = Share(lake.root, lake.storage, settings, paths, storage, chosen[0], level)
    others: list[_Worker] = []
    try:
        others += [_Worker(replace(own, chosen=uris)) for uris in chosen[1:]]
        outcomes = [collect_share(own, lambda: stop() or any(worker.has_failed() for worker in others))]
        while any(worker.is_running() for worker in others) and not any(worker.has_failed() for worker in others):
            if stop():
                break
            time.sleep(_POLL_SECONDS)
    finally:
        for worker in others:
            worker.ask_to_end()
        told = [worker.wait() for worker in others]
    failed = [worker.exit_code for worker in others if worker.has_failed()]
    if failed:
        raise WorkerError(f"{len(failed)} of {len(chosen)} workers failed (exit code {failed[0]}); run it again")
    outcomes += told
    unreadable = {uri: reason for outcome in outcomes for uri, reason in outcome.unreadable.items()}
    return len(files), Outcome(sum((outcome.counts for outcome in outcomes), Counts()), unreadable)


def _split(files: Sequence[LogFile], shares: int) -> list[frozenset[str]]:
    """Shares of about equal size: the largest file first, each to the share that has least."""
    heap: list[tuple[int, int, list[str]]] = [(0, number, []) for number in range(min(shares, len(files)))]
    for file in sorted(files, key=lambda file: file.size, reverse=True):
        size, number, uris = heap[0]
        uris.append(file.uri)
        heapq.heapreplace(heap, (size + file.size, number, uris))
    return [frozenset(uris) for _, _, uris in heap]


class _Worker:
    """Another process with its share."""

    def __init__(self, share: Share) -> None:
        given, giving = os.pipe()
        telling, told = os.pipe()
        self._input, self._output = os.fdopen(giving, "wb"), os.fdopen(telling, "rb")
        self._asked = False
        with os.fdopen(given, "rb") as stdin, os.fdopen(told, "wb") as stdout:
            # Not multiprocessing: it would import the parent's program, with all that only the parent needs.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "collector.runners.worker"], stdin=stdin, stdout=stdout, env=_environment()
            )
        with suppress(BrokenPipeError):  # its exit code says more
            self._input.write(pickle.dumps(share))
            self._input.flush()

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def is_running(self) -> bool:
        return self.exit_code is None

    def has_failed(self) -> bool:
        """Whether it ended, and neither well nor because it was asked to before it had begun."""
        return self.exit_code not in {None, 0, -signal.SIGTERM if self._asked else 0}

    def ask_to_end(self) -> None:
        if self.is_running():
            self._asked = True
            self._process.terminate()

    def wait(self) -> Outcome:
        """Wait for the end and give what it told."""
        with self._output:
            told = self._output.read()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._input.close()
        if self.exit_code != 0:
            return Outcome(Counts(), {})
        outcome = json.loads(told)
        return Outcome(Counts(**outcome["counts"]), outcome["unreadable"])


def _environment() -> dict[str, str]:
    """Modules and memory are found where this process finds them."""
    found = {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "ARROW_DEFAULT_MEMORY_POOL": pa.default_memory_pool().backend_name,
    }
    return os.environ | found
