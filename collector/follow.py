"""Keeps reading the files: again and again, whatever happens, until told to stop."""

from __future__ import annotations

import logging
import threading

from collector.pipeline import Collector
from collector.sources.files import FileSource
from lake import LostRaceError

logger = logging.getLogger(__name__)


def follow_files(source: FileSource, collector: Collector, poll_seconds: float, stop: threading.Event) -> None:
    """Bring what the files gain into the collector until `stop` is set; then commit what is open.

    An error (the lake is away or full, a store cannot be listed) is logged and tried again at the next poll: positions
    move only with a commit, so nothing is lost, and no more is read than one batch holds.
    """
    found = True
    while not stop.is_set():
        try:
            before, found = found, source.read_into(collector, stop.is_set) > 0
            if before and not found:
                logger.warning("no file matches %s; looking again every %g s", list(source.paths), poll_seconds)
            collector.flush_if_due()
        except LostRaceError as error:
            logger.error("%s. If another collector reads the same source, stop one of the two", error)
        except Exception as error:
            logger.error(
                "could not collect (%s: %s); nothing is lost, it is tried again in %g s: see that the lake and the "
                "logs can be reached and that there is space",
                type(error).__name__,
                error,
                poll_seconds,
                exc_info=not isinstance(error, OSError),
            )
        stop.wait(poll_seconds)
    try:
        collector.flush()
    finally:
        source.close()
