"""Guard that lets only tests marked `integration` start processes."""

from __future__ import annotations

import sys
from collections.abc import Generator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

_STARTS_A_PROCESS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
"""Events of Python's audit hooks."""
_OF_IMPORTS = {"ldconfig", "gcc", "cc", "objdump", "ld", "uname"}
"""Programs that packages ask about the machine while they are imported, through `ctypes.util` and `platform`."""


class ProcessGuard:
    """Fails a test that starts a process and is not marked `integration`, so that `make test` stays quick."""

    def __init__(self) -> None:
        self._test: pytest.Item | None = None
        sys.addaudithook(self._look)
        start = BaseProcess.start

        def start_if_marked(process: BaseProcess) -> None:
            self._check(f"a process of multiprocessing, {process.name}")
            start(process)

        # Of the ways of multiprocessing only a fork is an event for audit hooks.
        BaseProcess.start = start_if_marked  # type: ignore[method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Keep the test that is under way."""
        self._test = item
        try:
            return (yield)
        finally:
            self._test = None

    def _look(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _STARTS_A_PROCESS and Path(str(arguments[0] if arguments else "")).name not in _OF_IMPORTS:
            self._check(f"{event}: {arguments[:2]}")

    def _check(self, started: str) -> None:
        if self._test is not None and self._test.get_closest_marker("integration") is None:
            pytest.fail(f"this test starts a process: mark it with pytest.mark.integration ({started})")
