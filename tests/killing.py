"""Processes of tests that are killed: by the test at any moment, or by themselves around a chosen call."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any, Literal

Moment = Literal["before", "after"]
KILLED = -signal.SIGKILL
"""Exit code of a process that ended by SIGKILL."""

# Forked from a process that has only imported them: a start then takes milliseconds and no seconds of imports.
_CONTEXT = get_context("forkserver")
# The packages' doors load nothing by themselves, so modules behind them are named.
_CONTEXT.set_forkserver_preload(
    [
        "pytest",
        "openai",
        "collector.pipeline.collector",
        "collector.sources.kafka.source",
        "evaluator.service.passes",
        "monitor.service",
    ]
)


def start(work: Callable[..., object], *arguments: object) -> BaseProcess:
    """Begin a function of a test module in a process of its own; its name must be importable."""
    process = _CONTEXT.Process(target=work, args=arguments)
    process.start()
    return process


def run(work: Callable[..., object], *arguments: object) -> int:
    """Exit code of the same, once it has ended: 0, or KILLED."""
    process = start(work, *arguments)
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def kill(process: BaseProcess) -> bool:
    """End a process by SIGKILL; whether it still ran."""
    process.kill()
    process.join()
    return process.exitcode == KILLED


def die(
    moment: Moment, owner: Any, function: str, *, at: int = 1, counts: Callable[..., object] = lambda *_, **__: True
) -> None:
    """Let this process kill itself just before or after a call of `owner.function`.

    It is the `at`-th, from 1, of those calls for whose arguments `counts` is true, by whichever thread.
    """
    called, calls = getattr(owner, function), itertools.count(1)

    def call_or_die(*args: Any, **kwargs: Any) -> Any:
        is_last = bool(counts(*args, **kwargs)) and next(calls) == at
        if is_last and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = called(*args, **kwargs)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, function, call_or_die)
