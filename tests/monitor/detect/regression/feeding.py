from __future__ import annotations

from datetime import datetime

import pyarrow as pa

from monitor.detect.regression import Streams, Transition


def feed(streams: Streams, scores: pa.Table, now: datetime) -> list[Transition]:
    """Add rows of `scores` and close the batches that are over, as each refresh of a monitor does."""
    streams.add(scores, now)
    return streams.advance(now)
