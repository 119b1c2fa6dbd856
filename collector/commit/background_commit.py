"""Commit of a batch in a background thread, so that the next batch is parsed while this one is written."""

from __future__ import annotations

import threading
from collections.abc import Callable

from collector.commit.batch import Batch


class BackgroundCommit:
    """A thread that commits one batch and then ends.

    It is not a daemon thread, so a process that ends waits until the commit is finished.
    """

    def __init__(self, batch: Batch, commit: Callable[[Batch], None]) -> None:
        self.batch = batch
        self._commit = commit
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="collector commit")
        self._thread.start()

    def is_done(self) -> bool:
        """Whether the commit has ended, with or without an error."""
        return not self._thread.is_alive()

    def wait(self) -> BaseException | None:
        """Wait for the end; return the error, or None if the commit succeeded."""
        self._thread.join()
        return self._error

    def _run(self) -> None:
        try:
            self._commit(self.batch)
        except BaseException as error:  # the collector raises it again when it waits for the commit
            self._error = error
