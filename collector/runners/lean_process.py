"""Settings of a process that does nothing but collect: one thread of BLAS, and memory that costs less work."""

from __future__ import annotations

import contextlib
import gc
import os

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def use_one_blas_thread() -> None:
    """Keep OpenBLAS from starting a thread for each core; call it before NumPy is imported.

    They wait busily for work, and a collector multiplies nothing. Worker processes inherit it.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def tune_memory() -> None:
    """Have memory cost less work; call it when all is imported.

    Cycles of garbage are looked for rarely, and never among what is imported by now: rows are many objects without
    cycles, and Python's default looks through them after every 700. Arrow takes jemalloc where its build has it, which
    gives less back to the system, to take it again, than the default.
    """
    # Not above: it brings NumPy, and the command line starts without both.
    import pyarrow as pa

    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 100)
    with contextlib.suppress(NotImplementedError):
        pa.set_memory_pool(pa.jemalloc_memory_pool())
