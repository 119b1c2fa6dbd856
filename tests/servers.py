"""Servers that tests start: programs, free ports, waiting for an answer, a bucket on a store."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from lake.tables.storage import Storage

_START_SECONDS = 60
# Each but once, in an order that no other process has, whatever is seeded.
_PORTS = iter(random.SystemRandom().sample(range(10_000, 32_768), 1_000))


@dataclass(frozen=True)
class Bucket:
    """A fresh bucket on an S3-speaking server."""

    uri: str
    storage: Storage


def free_port() -> int:
    """Give a port for a program that takes a number; a server in this process binds port 0 itself.

    It lies below those that systems give to outgoing connections (from 32768 on Linux, from 49152 elsewhere), so that
    none of them takes it before the program has started, which may be seconds later.
    """
    for port in _PORTS:
        with contextlib.suppress(OSError):
            socket.create_server(("127.0.0.1", port)).close()
            return port
    raise AssertionError("no port is left")


def wait_for_url(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def needed(program: str) -> str:
    """Path of a program that a test needs; in CI it must be there."""
    path = shutil.which(program)
    if path:
        return path
    message = f"{program} is not installed: THIS TEST DID NOT RUN; install Debian's package of that name"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until a condition gives something true, and give that; AssertionError after the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if found := condition():
                return found
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"nothing came true in {seconds} s")
