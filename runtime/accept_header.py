"""`Accept` header of a scrape, as the exporters of collector and monitor hand it to prometheus_client."""

from __future__ import annotations

import re
from collections.abc import Sequence

_UNKNOWN_VERSION = re.compile(r"\bversion=(?!(?:0\.0\.1|0\.0\.4|1\.0\.0)\s*(?:;|$))")


def known_formats(accept: Sequence[str]) -> str:
    """Return the media ranges of `Accept` headers as one header, without those that name an unknown version.

    prometheus_client compares what follows `version=` with numbers, and repeats it in its answer.
    """
    ranges = ",".join(accept).split(",")
    return ",".join(one for one in ranges if not _UNKNOWN_VERSION.search(one))
