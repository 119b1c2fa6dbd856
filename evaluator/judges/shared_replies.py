"""Replies of judges that workers of several machines share: an object each, in a folder of the lake.

While its prompt is under way the object is a claim: what a worker writes before it asks, so that others wait.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from evaluator.judges.completion import ChatCompletion, completion_from_json
from lake.tables.lake import Lake
from lake.tables.storage import Storage, is_remote

logger = logging.getLogger(__name__)

FOLDER = "_judge_replies"
"""Below the lake's root; no deployment's folder begins with `_`."""

_QUIET_SECONDS = 60.0
T = TypeVar("T")


class ReplyClaim(msgspec.Struct, frozen=True):
    """What is there in the place of a reply that is asked for; each claim has another `claimed_by`."""

    claimed_by: str


_CLAIMED = b'{"claimed_by"'


class SharedReplies:
    """Replies by the key of their request, each whole or not there, which any number of threads and workers may use.

    `find`, `keep`, `claim` and `release` take up to 20 s where the store does not answer, and never raise: what fails
    is logged and counted, and tried again after a minute. One that is pickled is made anew from its folder and storage.
    """

    def __init__(self, folder: str, storage: Storage, clock: Callable[[], float] = time.monotonic) -> None:
        """`folder` is a local path or a URI, made with the first reply."""
        self.folder = folder
        self._storage = storage
        self._clock = clock
        self._lock = threading.Lock()
        self._opened: tuple[Any, str] | None = None
        self._quiet: dict[str, float] = {}
        self._failed: Counter[str] = Counter()

    @classmethod
    def of(cls, lake: Lake) -> Self:
        """Return the shared replies of a lake."""
        return cls(f"{lake.root}/{FOLDER}", lake.storage)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.folder, self._storage)

    def find(self, key: str) -> ChatCompletion | ReplyClaim | None:
        """Return the reply to a request, or who asks for it; None where there is neither, or none that can be read."""
        return self._tried("read", lambda: self._read(key))

    def keep(self, key: str, reply: ChatCompletion) -> None:
        """Keep the reply to a request, in the place of one that is there."""
        self._tried("written", lambda: self._write(key, reply.to_json().encode()))

    def claim(self, key: str, claimed_by: str, instead_of: Collection[str] = ()) -> ChatCompletion | ReplyClaim | None:
        """Claim a request, unless it is answered or claimed, and return what is there then: one's own claim, or theirs.

        A claim of `instead_of` is replaced. None where the store fails: nobody else knows that this one asks.
        """
        return self._tried("claimed", lambda: self._claim(key, ReplyClaim(claimed_by), instead_of))

    def release(self, key: str, claimed_by: str) -> None:
        """Remove a claim, if it is still there."""
        self._tried("claimed", lambda: self._release(key, ReplyClaim(claimed_by)))

    def forget(self, before: datetime | None = None) -> int:
        """Remove the replies and claims that were kept before a time, or all, and return how many.

        Raises what the store raises, and OSError where it keeps what is to be removed.
        """
        filesystem, folder = self._store()
        return _forget_objects(filesystem, folder, before) if is_remote(self.folder) else _forget_files(folder, before)

    def _read(self, key: str) -> ChatCompletion | ReplyClaim | None:
        filesystem, path = self._place(key)
        try:
            content = filesystem.cat_file(path)
            return _claim_of(content) or completion_from_json(content)
        except FileNotFoundError:
            return None
        except ValueError:  # whose message may quote it
            logger.warning("%s is no reply of a judge: it is not used, and replaced by the next one", path)
            return None

    def _claim(self, key: str, claim: ReplyClaim, instead_of: Collection[str]) -> ChatCompletion | ReplyClaim:
        if not instead_of and self._create(key, claim):
            return claim
        found = self._read(key)
        if found is None or (isinstance(found, ReplyClaim) and found.claimed_by in instead_of):
            self._write(key, msgspec.json.encode(claim))
            return claim
        return found

    def _create(self, key: str, claim: ReplyClaim) -> bool:
        """Write a claim where nothing is; False where something is, which may be this claim if an answer got lost."""
        filesystem, path = self._place(key)
        content = msgspec.json.encode(claim)
        try:
            if is_remote(self.folder):
                filesystem.pipe_file(path, content, mode="create")
                return True
            place = Path(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb", buffering=0) as file:
                file.write(content)
        except FileExistsError:
            return False
        return True

    def _release(self, key: str, claim: ReplyClaim) -> None:
        if self._read(key) == claim:
            filesystem, path = self._place(key)
            filesystem.rm_file(path)

    def _write(self, key: str, content: bytes) -> None:
        filesystem, path = self._place(key)
        if is_remote(self.folder):
            filesystem.pipe_file(path, content)
            return
        # Another name in the same folder: only there is a file replaced in one step.
        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        written = place.with_name(f".{uuid.uuid4().hex}")
        try:
            written.write_bytes(content)
            written.replace(place)
        except BaseException:
            with suppress(OSError):
                written.unlink()
            raise

    def _place(self, key: str) -> tuple[Any, str]:
        filesystem, folder = self._store()
        return filesystem, f"{folder}/{key[:2]}/{key}.json"

    def _store(self) -> tuple[Any, str]:
        with self._lock:
            if self._opened is None:
                self._opened = self._storage.filesystem(self.folder)
            return self._opened

    def _tried(self, done: str, work: Callable[[], T]) -> T | None:
        with self._lock:
            is_quiet = self._clock() < self._quiet.get(done, 0.0)
            self._failed[done] += is_quiet
        if is_quiet:
            return None
        try:
            result = work()
        except Exception as error:  # whatever the store's library raises: judges do without
            self._fail(done, error)
            return None
        with self._lock:
            was_quiet = self._quiet.pop(done, None) is not None
            failed = self._failed.pop(done, 0)
        if was_quiet:
            logger.info("%s: shared replies of judges can be %s again; %d were not", self.folder, done, failed)
        return result

    def _fail(self, done: str, error: Exception) -> None:
        with self._lock:
            is_first = done not in self._quiet
            self._failed[done] += 1
            self._quiet[done] = self._clock() + _QUIET_SECONDS
        if is_first:
            kind = type(error).__name__
            logger.warning("%s: shared replies of judges cannot be %s, %s: %s", self.folder, done, kind, error)


_decode_claim = msgspec.json.Decoder(ReplyClaim).decode


def _claim_of(content: bytes) -> ReplyClaim | None:
    """Read a claim; a file that is empty is one whose writer is about to write it, or was killed."""
    if not content:
        return ReplyClaim("")
    return _decode_claim(content) if content.startswith(_CLAIMED) else None


def _forget_objects(filesystem: Any, folder: str, before: datetime | None) -> int:
    try:
        parts = filesystem.ls(folder, detail=False)
    except FileNotFoundError:
        return 0
    gone = 0
    for part in parts:  # all at once would be too many to hold
        listed = filesystem.find(part, detail=True)
        old = {path for path, info in listed.items() if before is None or info["LastModified"] < before}
        if old:
            filesystem.rm(list(old))
            _check_gone(old.intersection(filesystem.find(part)), folder)
            gone += len(old)
    return gone


def _check_gone(left: set[str], folder: str) -> None:
    """Raise OSError for objects that the store did not remove: s3fs does not raise."""
    if left:
        raise OSError(
            f"{len(left)} replies of judges are still in {folder}, or again, such as {min(left)}: allow to delete "
            "there, and try again"
        )


def _forget_files(folder: str, before: datetime | None) -> int:
    gone = 0
    for parent, _, names in os.walk(folder, onerror=_raise_unless_gone):
        for file in (Path(parent, name) for name in names):
            with suppress(FileNotFoundError):  # others write and remove here too
                if before is None or file.stat().st_mtime < before.timestamp():
                    file.unlink()
                    gone += 1
    return gone


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
