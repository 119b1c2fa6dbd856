"""The engine of a Ray cluster: its tests run where there is no network but loopback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.evaluator.engines import loopback

pytestmark = [pytest.mark.integration]


def test_on_a_cluster_of_two_nodes(tmp_path: Path) -> None:
    """SIGKILL of workers, of a node and of the whole cluster; the scores of a local evaluator."""
    if not loopback.is_possible():
        pytest.skip("no network namespaces on this machine: THE TESTS OF RAY DID NOT RUN")
    tests = str(Path(__file__).with_name("cluster.py"))
    arguments = ["-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "t"), tests]
    command = loopback.command("pytest", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
