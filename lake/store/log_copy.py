"""Copy of a table's log in a folder, which deltalake reads in the place of a store's: it would list that several times.

The last checkpoint and the commits after it are fetched by their names:
https://github.com/delta-io/delta/blob/master/PROTOCOL.md says which they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

from deltalake import DeltaTable

LOG = "_delta_log"
LAST_CHECKPOINT = "_last_checkpoint"
MOST_AT_ONCE = 10

Read = Callable[[str], bytes | None]
"""Gives the bytes of a file of the log by its name; None where there is none."""


class UnusualLogError(Exception):
    """The log can only be read by deltalake: another program has written its checkpoint, or that is gone."""


def commit_name(version: int) -> str:
    """Return the name of a commit within the log, as the Delta protocol has it."""
    return f"{version:020}.json"


def checkpoint_name(version: int) -> str:
    """Return the name of a checkpoint of one file."""
    return f"{version:020}.checkpoint.parquet"


def log_entries(read: Read, until: int | None = None, most_at_once: int = MOST_AT_ONCE) -> Mapping[str, bytes] | None:
    """Return the files of a log from which its table is known, by name: up to a version, or as it is now.

    None where there is no table. Raises UnusualLogError where other files would be needed. Of a store, which is slow to
    answer, many commits are read at once.
    """
    pointer = read(LAST_CHECKPOINT)
    if pointer is not None:
        version = _plain_checkpoint(pointer)
        checkpoint = read(checkpoint_name(version))
        if checkpoint is None or (until is not None and until < version):
            raise UnusualLogError(f"no checkpoint up to version {until}")
        found = {LAST_CHECKPOINT: pointer, checkpoint_name(version): checkpoint}
        begin = version + 1
    elif (first := read(commit_name(0))) is None:
        return None
    else:
        found = {commit_name(0): first}
        begin = 1
    commits = _commits(read, begin, until, most_at_once)
    if until is not None and begin + len(commits) <= until:
        raise UnusualLogError(f"no version {begin + len(commits)}")
    return found | commits


@contextmanager
def copied_table(entries: Mapping[str, bytes]) -> Iterator[DeltaTable]:
    """Yield the table of a copied log while the block lasts; nothing of it may be read later."""
    with TemporaryDirectory(prefix="dialwatch-log-") as folder:
        log = Path(folder, LOG)
        log.mkdir()
        for name, content in entries.items():
            (log / name).write_bytes(content)
        yield DeltaTable(folder)


def checkpoint_of(entries: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Write a checkpoint of a copied log; returns its files by name, in the order in which they are to be stored."""
    with copied_table(entries) as table:
        table.create_checkpoint()
        log = Path(table.table_uri.removeprefix("file://"), LOG)
        names = checkpoint_name(int(table.version())), LAST_CHECKPOINT
        return {name: (log / name).read_bytes() for name in names}


def _plain_checkpoint(pointer: bytes) -> int:
    try:
        about = json.loads(pointer)
        if about.get("parts") or about.get("v2Checkpoint"):
            raise UnusualLogError("a checkpoint of several files")
        return int(about["version"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusualLogError(f"{LAST_CHECKPOINT} is not as the protocol has it") from error


def _commits(read: Read, begin: int, until: int | None, most_at_once: int) -> dict[str, bytes]:
    """Read commits until one is not there: first one, and of those that follow more at once, as most logs are short."""
    found: dict[str, bytes] = {}
    at_once = 1
    with ThreadPoolExecutor(most_at_once) as pool:
        while until is None or begin <= until:
            end = begin + at_once if until is None else min(begin + most_at_once, until + 1)
            names = [commit_name(version) for version in range(begin, end)]
            contents = zip(names, map(read, names) if len(names) == 1 else pool.map(read, names), strict=True)
            there = {name: content for name, content in takewhile(lambda one: one[1] is not None, contents) if content}
            found |= there
            if len(there) < len(names):
                break
            begin, at_once = end, min(2 * at_once, most_at_once)
    return found
