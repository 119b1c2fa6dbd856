"""A batch on its way into the lake while the next one is read: writing leaves Python free to parse."""

from __future__ import annotations

import threading
from collections.abc import Callable

from collector.commit.batch import Batch


class Flight:
    """Commits one batch in a thread of its own, which ends with it.

    The thread is no daemon: a process that is asked to end lets the commit finish.
    """

    def __init__(self, batch: Batch, commit: Callable[[Batch], None]) -> None:
        self.batch = batch
        self._commit = commit
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="collector commit")
        self._thread.start()

    def is_over(self) -> bool:
        """Whether the commit has ended, well or not."""
        return not self._thread.is_alive()

    def wait(self) -> BaseException | None:
        """Wait for the end and give the error, None where all went well."""
        self._thread.join()
        return self._error

    def _run(self) -> None:
        try:
            self._commit(self.batch)
        except BaseException as error:  # raised again where the batch is landed
            self._error = error
