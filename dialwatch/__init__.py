"""The roof: command line, one-process mode, demo. Wires collector, evaluator and monitor; decides nothing."""

import os
import sys

__version__ = "0.1.0"

if sys.platform == "linux":
    # Read when pyarrow is first imported; with its own choice, mimalloc, a collector takes 100 MiB more.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
