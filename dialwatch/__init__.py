"""Command line, one-process mode and demo: collector, evaluator and monitor, put together."""

import os
import sys

__version__ = "0.2.0"

if sys.platform == "linux":
    # Read when pyarrow is first imported; with its own choice, mimalloc, a collector takes 100 MiB more.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
