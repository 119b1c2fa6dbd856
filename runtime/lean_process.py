"""Settings of a process that take little memory and work: no pandas, one thread of BLAS, memory that threads share."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys

_OBJECTS_BETWEEN_COLLECTIONS = 200_000
_M_ARENA_MAX = -8
"""Of glibc's `mallopt`: how many arenas there may be at most."""
_JEMALLOCS = ("JE_ARROW_MALLOC_CONF", "_RJEM_MALLOC_CONF")
"""Variables that the jemalloc of Arrow and that of deltalake read when they are loaded."""
_ARENAS = 2


def use_one_blas_thread() -> None:
    """Keep OpenBLAS from starting a thread for each core; call it before NumPy is imported.

    They wait busily for work, and a collector multiplies nothing. Worker processes inherit it.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def leave_pandas_unloaded() -> None:
    """Keep Arrow from importing pandas before anybody asks for it; call it before `pyarrow.dataset` is imported.

    Arrow looks for pandas once, at that import, and then goes without it until a frame is converted; before, it takes a
    Series for any list. Whoever hands it one in such a process calls `tell_arrow_of_pandas` first. Pandas is 35 MiB and
    a sixth of a second.
    """
    hidden = _HiddenPandas()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow.dataset  # noqa: F401
    finally:
        sys.meta_path.remove(hidden)


def tell_arrow_of_pandas() -> None:
    """Have Arrow know the series of pandas, where it was imported without it."""
    import pandas as pd
    import pyarrow as pa

    pa.Schema.from_pandas(pd.DataFrame())


def share_arenas() -> None:
    """Have all threads allocate from two arenas of each allocator; call it before Arrow and deltalake are imported.

    By default each thread may have one of its own, which keeps what it once took: 15 MiB in a process with all parts,
    most of whose threads wait. Allocators are glibc's and the jemallocs of Arrow and deltalake; another libc does as it
    does.
    """
    for name in _JEMALLOCS:
        os.environ.setdefault(name, f"narenas:{_ARENAS}")
    # Not to be found in another libc; Windows has no library of the process itself.
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


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
