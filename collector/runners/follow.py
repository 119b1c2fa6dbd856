"""Loop that reads the files repeatedly, also after errors, until it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from collector.pipeline.collector import Collector
from collector.sources.files.source import FileSource
from lake.delta_log.change import LostRaceError
from lake.store.store_errors import log_failure
from runtime.backoff import Backoff
from runtime.durations import duration

logger = logging.getLogger(__name__)

_LEAST_WAIT_SECONDS = 1.0


def prepare(collector: Collector, stop: threading.Event) -> bool:
    """Prepare a collector, with further tries while the lake is away; return False once `stop` is set.

    The waits between two tries double from a second up to a minute.
    """
    backoff = Backoff()
    while True:
        try:
            collector.prepare()
        except Exception as error:
            wait = backoff.next_delay()
            message = "the collector waits for the lake %s; nothing is lost, it looks again in %s"
            log_failure(logger, error, message, collector.lake.root, duration(wait))
            if stop.wait(wait):
                return False
        else:
            return True


def follow_files(
    source: FileSource,
    collector: Collector,
    poll_seconds: float,
    stop: threading.Event,
    report: Callable[[Exception | None], None] = lambda _: None,
) -> None:
    """Add new lines of the files to the collector until `stop` is set; then commit.

    An error (the lake is away or full, a store cannot be listed) is logged and tried again, at waits that double up to
    a minute while it lasts: positions move only with a commit, so nothing is lost, and no more is read than one batch
    holds. `report` is called with the error of each poll, or None.
    """
    found, backoff = True, Backoff(first=2 * poll_seconds, cap=max(poll_seconds, Backoff.cap))
    while not stop.is_set():
        wait = poll_seconds
        try:
            before, found = found, source.read_into(collector, stop.is_set) > 0
            if before and not found:
                logger.warning("no file matches %s; looking again every %s", list(source.paths), duration(poll_seconds))
            collector.flush_if_due()
        except LostRaceError as error:
            logger.error("%s. If another collector reads the same source, stop one of the two", error)
            backoff.reset()
        except Exception as error:
            wait = backoff.next_delay()
            message = (
                "could not collect; nothing is lost, it is tried again in %s: see that the lake and the logs can be "
                "reached and that there is space"
            )
            log_failure(logger, error, message, duration(wait))
            report(error)
        else:
            backoff.reset()
            report(None)
            # A batch that is due between two polls does not wait for the second.
            wait = min(wait, max(_LEAST_WAIT_SECONDS, collector.seconds_until_due()))
        stop.wait(wait)
    try:
        collector.flush()
    finally:
        source.close()
