"""First look of a collector: what its sources gave half a minute after it began."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from collector import Collector, Counts
from collector.metrics.last_lines import LastLines

logger = logging.getLogger(__name__)

FIRST_LOOK_SECONDS = 30.0


@contextmanager
def looking_once(shared: Collector, last_lines: LastLines) -> Iterator[None]:
    """Log what came in the first half minute of the block; nothing where it ends earlier."""
    timer = threading.Timer(FIRST_LOOK_SECONDS, log_first_look, (shared, last_lines))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def log_first_look(shared: Collector, last_lines: LastLines) -> None:
    """Log each source with what came from it, as a warning where nothing did."""
    missing = last_lines.missing()
    for source, at in last_lines.newest().items():
        if at is not None:
            logger.info("%s: lines come in", source)
        elif source in missing:
            logger.warning("%s: %s", source, missing[source])
        else:
            logger.warning("%s: no line has come yet", source)
    counts = sum((batch.counts() for batch in shared.open_batches), shared.totals)
    refused = counts.lines > 0 and counts.rejected == counts.lines
    logger.log(
        logging.WARNING if refused else logging.INFO,
        "in the first %g seconds: %s%s", FIRST_LOOK_SECONDS, _words(counts),
        "; none of them is a line of Core's log: see the table _rejected" if refused else "",
    )  # fmt: skip


def _words(counts: Counts) -> str:
    return (
        f"{counts.lines:,} lines read: {counts.stored:,} stored, {counts.signals:,} signals, "
        f"{counts.duplicates:,} duplicates, {counts.rejected:,} rejected, {counts.filtered:,} filtered"
    )
