"""The engine of a Ray cluster: its tests run where there is no network but loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration]

_LOOPBACK_UP = """
import fcntl, socket, struct, sys
with socket.socket() as any_socket:
    # SIOCSIFFLAGS with IFF_UP and IFF_RUNNING
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--basetemp", sys.argv[1], sys.argv[2]]))
"""


_UNSHARE = ["unshare", "--net", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
"""With processes of its own, so that none of Ray's outlives the test and keeps its output open."""


def test_on_a_cluster_of_two_nodes(tmp_path: Path) -> None:
    """SIGKILL of workers and of a node; the scores of a local evaluator."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("no network namespaces on this machine: THE TESTS OF RAY DID NOT RUN")
    # A short path: Ray puts sockets below it.
    command = [*_UNSHARE, sys.executable, "-c", _LOOPBACK_UP, str(tmp_path / "t")]
    done = subprocess.run(
        [*command, str(Path(__file__).with_name("cluster.py"))],
        env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
