"""Programs in a network namespace in which only loopback is up, with processes of its own.

Ray takes the machine's own address for loopback, and its processes outlive the one that started them.
"""

from __future__ import annotations

import fcntl
import os
import runpy
import shutil
import socket
import struct
import sys
from collections.abc import Mapping

_SIOCSIFFLAGS, _UP_AND_RUNNING = 0x8914, 0x41

ENVIRONMENT: Mapping[str, str] = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    # With gRPC's handlers of fork() the head's server for a client sometimes ends as it starts (Ray 2.60).
    "GRPC_ENABLE_FORK_SUPPORT": "0",
    # Ray's workers give way to all other processes by default (niceness 15): beside other tests they hardly run.
    "RAY_worker_niceness": "0",
}


def is_possible() -> bool:
    """Whether this machine has such namespaces."""
    return sys.platform == "linux" and shutil.which("unshare") is not None


def command(module: str, *arguments: str) -> list[str]:
    """Give the command that runs a module there."""
    unshare = ["unshare", "--net", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [*unshare, sys.executable, "-m", __name__, module, *arguments]


def main() -> None:
    """Bring loopback up, and run the module that the arguments name with those after it."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))
    os.environ.update(ENVIRONMENT)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
