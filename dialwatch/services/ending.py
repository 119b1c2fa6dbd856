"""Signals that end a process with services: SIGTERM and Ctrl+C, while these begin and when they are up."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STUCK_SECONDS = 3.0
"""Python runs a handler between two of its own steps, and a step may be a request to a store that is away."""


@dataclass
class _Start:
    """The start of this process: whether a signal ends it, and whether none can find it stuck any more."""

    is_ending: bool = False
    cannot_be_stuck: threading.Event = field(default_factory=threading.Event)


_start = _Start()


def end_by_signals() -> None:
    """Have a signal end this process at once with exit code 0, until `wait_for_signal` is called.

    What has begun by then is ended as after an error, and where that cannot begin in time the process ends without it:
    nothing is lost that a kill would not lose.
    """
    arrived, wakeup = os.pipe()

    def end(*_: object) -> None:
        _start.cannot_be_stuck.set()
        if not _start.is_ending:
            _start.is_ending = True
            raise SystemExit(0)

    def end_if_stuck() -> None:
        os.read(arrived, 1)
        if _start.cannot_be_stuck.wait(_STUCK_SECONDS):
            # A second signal before services are up: whoever sends it waits for what has begun to end no longer.
            os.read(arrived, 1)
        os._exit(0)

    os.set_blocking(wakeup, False)
    # It is written to when the signal comes, and not only when its handler runs.
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    threading.Thread(target=end_if_stuck, name="end if stuck", daemon=True).start()
    for number in _SIGNALS:
        signal.signal(number, end)


def wait_for_signal() -> None:
    """Return when the process is asked to end."""
    # First of all: an orderly end may take longer than a start that is stuck.
    signal.set_wakeup_fd(-1)
    asked = threading.Event()
    for number in _SIGNALS:
        signal.signal(number, lambda *_: asked.set())
    # Not before: the handler of the start sets it too, and must not interrupt that.
    _start.cannot_be_stuck.set()
    # The SystemExit of an earlier signal is lost where it was raised in a `__del__` or a callback of C. And a wait
    # without end would keep the signal from being handled on some systems.
    while not _start.is_ending and not asked.wait(1.0):
        pass
