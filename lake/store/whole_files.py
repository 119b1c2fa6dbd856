"""Small files of a store, fetched whole with one request each, and kept for the other readers of this process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

_MOST_BYTES = 128 << 20
_MOST_BYTES_OF_A_FILE = 1 << 20


class _Kept:
    """The bytes of files that were asked for last."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str) -> bytes | None:
        with self._lock:
            if path in self._files:
                self._files.move_to_end(path)
            return self._files.get(path)

    def put(self, path: str, content: bytes) -> None:
        with self._lock:
            self._bytes += len(content) - len(self._files.pop(path, b""))
            self._files[path] = content
            while self._bytes > self._most_bytes:
                self._bytes -= len(self._files.popitem(last=False)[1])


_KEPT = _Kept(_MOST_BYTES)
"""Of all tables of the process: the files of a table never change, and the name of each is used once."""


def kept(path: str, fetch: Callable[[], bytes]) -> bytes:
    """Return the bytes of the file at a path, fetched now if they are not kept; passes on what `fetch` raises."""
    content = _KEPT.get(path)
    if content is None:
        content = fetch()
        _KEPT.put(path, content)
    return content


def keep(path: str, content: bytes) -> None:
    """Keep the bytes of a file that this process has written, if it is small."""
    if len(content) <= _MOST_BYTES_OF_A_FILE:
        _KEPT.put(path, content)


class WholeFiles:
    """Gives the bytes of files below a folder of a store, and removes files."""

    def __init__(self, filesystem: Any, folder: str) -> None:
        """`filesystem` is one of fsspec."""
        self._filesystem = filesystem
        self._folder = folder

    def __call__(self, path: str) -> bytes:
        """Return the bytes of a file; raises FileNotFoundError where there is none."""
        whole = f"{self._folder}/{path}"
        # More than one request at once would first ask for the size.
        return kept(whole, lambda: bytes(self._filesystem.cat_file(whole, max_concurrency=1)))

    def age(self, path: str) -> timedelta:
        """Return the age of a file by the store's own clock, zero if that does not tell; raises FileNotFoundError."""
        whole = f"{self._folder}/{path}"
        call = getattr(self._filesystem, "call_s3", None)
        if call is None:
            self._filesystem.info(whole)
            return timedelta(0)
        bucket, _, key = whole.partition("/")
        answer = call("head_object", Bucket=bucket, Key=key)
        modified: datetime = answer["LastModified"]
        now = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        return timedelta(0) if now is None else parsedate_to_datetime(now) - modified

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        self._filesystem.rm_file(f"{self._folder}/{path}")
