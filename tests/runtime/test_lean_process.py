"""Settings of a process that take little memory, each tried in a process of its own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

ARENAS = """
import ctypes, sys, threading
from runtime.lean_process import share_arenas

if sys.argv[1] == "share":
    share_arenas()
import deltalake, pyarrow  # which start threads
together = threading.Barrier(24)

def allocate():
    together.wait()
    ctypes.CDLL(None).malloc(2000)
    together.wait()

threads = [threading.Thread(target=allocate) for _ in range(24)]
[one.start() for one in threads]
[one.join() for one in threads]
c = ctypes.CDLL(None)
c.fdopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(c.fdopen(1, b"w"))
c.malloc_info(0, file)
c.fflush(file)
"""

SERIES = """
from runtime.lean_process import leave_pandas_unloaded, tell_arrow_of_pandas

leave_pandas_unloaded()
import sys, pyarrow as pa
assert "pandas" not in sys.modules
tell_arrow_of_pandas()
import pandas as pd
assert pa.array(pd.Series([1.5, None])).null_count == 1
"""


def printed_by(program: str, *arguments: str) -> str:
    """Run a program of Python, and return what it printed."""
    ended = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return ended.stdout


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
def test_threads_share_two_arenas() -> None:
    """Without it nearly each thread has one of its own."""
    assert printed_by(ARENAS, "share").count("<heap nr=") <= 2
    assert printed_by(ARENAS, "do not").count("<heap nr=") > 2


def test_arrow_learns_of_pandas() -> None:
    """A series that is handed to Arrow then has nulls, also where Arrow was imported without pandas."""
    printed_by(SERIES)
