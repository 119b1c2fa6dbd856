"""Settings of a process that does nothing but collect: no pandas, one thread of BLAS, memory that costs less work."""

from __future__ import annotations

import contextlib
import gc
import os
import sys

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def use_one_blas_thread() -> None:
    """Keep OpenBLAS from starting a thread for each core; call it before NumPy is imported.

    They wait busily for work, and a collector multiplies nothing. Worker processes inherit it.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def leave_pandas_unloaded() -> None:
    """Keep Arrow from importing pandas before anybody asks for it; call it before `pyarrow.dataset` is imported.

    Arrow looks for pandas once, at that import, and then goes without it until a frame is converted; before, it takes a
    Series for any list. So this is for processes that have neither. Pandas is 35 MiB and a sixth of a second.
    """
    hidden = _HiddenPandas()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow.dataset  # noqa: F401
    finally:
        sys.meta_path.remove(hidden)


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


class _HiddenPandas:
    """Import hook that finds no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is hidden while Arrow looks for it", name=name)
