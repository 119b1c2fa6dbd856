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

    An error (the lake is away, a folder cannot be read) is logged and tried again at the next poll: positions move
    only with a commit, so nothing is lost.
    """
    while not stop.is_set():
        try:
            if not source.read_into(collector, stop.is_set):
                logger.warning("no file matches %s; looking again in %g s", list(source.paths), poll_seconds)
            collector.flush_if_due()
        except LostRaceError as error:
            logger.error("%s. If another collector reads the same source, stop one of the two", error)
        except Exception:
            logger.exception("could not collect; trying again in %g s", poll_seconds)
        stop.wait(poll_seconds)
    collector.flush()
