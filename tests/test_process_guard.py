"""No test that lacks the mark `integration` starts a process."""

import multiprocessing
import subprocess
import sys

import pytest


def test_a_program_is_refused() -> None:
    """This test lacks the mark."""
    with pytest.raises(pytest.fail.Exception, match=r"mark it with pytest\.mark\.integration \(subprocess\.Popen"):
        subprocess.run([sys.executable, "-c", ""], check=True)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_process_of_multiprocessing_is_refused(method: str) -> None:
    """However it would be started."""
    with pytest.raises(pytest.fail.Exception, match=r"mark it with pytest\.mark\.integration"):
        multiprocessing.get_context(method).Process(target=print).start()


@pytest.mark.integration
def test_a_marked_test_may_start_a_program() -> None:
    """This one has the mark."""
    assert subprocess.run([sys.executable, "-c", "print(1)"], check=True, capture_output=True).stdout == b"1\n"
