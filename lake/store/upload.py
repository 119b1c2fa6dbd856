"""File of a store that is being written: one request for a small one, and parts for a large one."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from lake.store.whole_files import keep

_PART_BYTES = 8 << 20


class Upload:
    """Binary file that is there, whole, once it is closed. Not safe for use by several threads at once."""

    def __init__(self, filesystem: Any, path: str) -> None:
        """`filesystem` is one of fsspec, `path` one on it."""
        self._filesystem = filesystem
        self._path = path
        self._buffer = io.BytesIO()
        self._parts: Any = None
        self._size = 0
        self.closed = False

    def write(self, content: Any) -> int:
        """Take bytes, and send them where they fill a part."""
        size = memoryview(content).nbytes
        self._size += size
        if self._parts is not None:
            self._parts.write(content)
        else:
            self._buffer.write(content)
            if self._size >= _PART_BYTES:
                self._parts = self._filesystem.open(self._path, "wb", block_size=_PART_BYTES)
                self._parts.write(self._buffer.getvalue())
        return size

    def tell(self) -> int:
        """Return the number of bytes that were taken."""
        return self._size

    def flush(self) -> None:
        """Keep what waits: a store has no half of a file."""

    def writable(self) -> bool:
        """Return true: a file of a store is written here."""
        return True

    def close(self) -> None:
        """Send what is left. After an error there is no file."""
        if self.closed:
            return
        self.closed = True
        if self._parts is not None:
            self._parts.close()
            return
        content = self._buffer.getvalue()
        self._filesystem.pipe_file(self._path, content)
        # Whoever reads what this process has written need not ask for it.
        keep(self._path, content)

    def discard(self) -> None:
        """Forget the file."""
        self.closed = True
        if self._parts is not None:
            with contextlib.suppress(OSError):
                self._parts.discard()
            # It would send the rest when it is collected.
            self._parts.closed = True
