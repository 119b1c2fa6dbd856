"""Engines that do one task for many items: in this process, or in worker processes of this machine.

A cluster can stand behind the same interface.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.spawn
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, Protocol, TypeVar

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

WAITING_EACH: Final = 2
"""Items of each worker whose results are not given yet: enough to keep it busy, few in memory."""


class Engine(Protocol):
    """Does a task for many items."""

    def map(self, task: Callable[[S, T], R], state: S, items: Iterable[T]) -> Generator[R]:
        """Return `task(state, item)` of every item, in the order of the items.

        Each worker gets the state once. Items are taken as results are asked for, about two of each worker ahead. What
        a task raises is raised where its result would stand, and ends the work, as does closing the generator.
        """
        ...

    def close(self) -> None:
        """End all work; what is not done then is not done."""


class WorkerDiedError(RuntimeError):
    """A worker process ended in the middle of its work; `exit_code` is negative where a signal ended it."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(
            f"a worker process ended with exit code {exit_code}: what it wrote to stderr says more; where it wrote "
            "nothing it was killed, for want of memory perhaps: take fewer workers"
        )
        self.exit_code = exit_code


class SameProcess:
    """Engine that does one item after the other, in this process."""

    def map(self, task: Callable[[S, T], R], state: S, items: Iterable[T]) -> Generator[R]:
        """Return the results one after the other."""
        return (task(state, item) for item in items)

    def close(self) -> None:
        """Leave all as it is: between two results no work is in progress."""


class WorkerPool:
    """Engine of worker processes on this machine, which end with their parent.

    Task, state, items and results are pickled; the task is a function of a module. The processes of a `map` start with
    its first items and end with it; memory grows with their number. Raises WorkerDiedError where one of them is killed,
    which ends the others, and OSError where none can be started. A script whose own classes are in the state must be
    importable: `if __name__ == "__main__":` stands before what it does. Else it raises RuntimeError in its workers.
    `prepare` is called in each process before the modules of the task are imported.
    """

    def __init__(self, workers: int, prepare: Callable[[], None] | None = None) -> None:
        self._workers = workers
        self._prepare = prepare
        self._runs: set[_Run] = set()

    def map(self, task: Callable[[S, T], R], state: S, items: Iterable[T]) -> Generator[R]:
        """Yield the results in the order of the items."""
        if _is_importing_program:
            raise RuntimeError('put `if __name__ == "__main__":` before what a script does that asks for workers')
        run = _Run(self._workers, self._prepare, task, state)
        self._runs.add(run)
        try:
            yield from run.results(items)
        finally:
            self._runs.discard(run)
            run.end()

    def close(self) -> None:
        """End all processes, at once."""
        while self._runs:
            self._runs.pop().end()


class _Run:
    """One `map`: the processes, and a thread for each that hands it an item and waits for the result.

    Each process has a connection of its own, so the end of one is seen at once. Workers of ProcessPoolExecutor share a
    pipe: where one is killed in the middle of a result, or before it has read a large state, their parent waits for
    ever.
    """

    def __init__(self, size: int, prepare: Callable[[], None] | None, task: Callable[..., Any], state: object) -> None:
        self._size = size
        self._prepare = prepare
        self._task = task
        self._state = state
        self._threads = ThreadPoolExecutor(size, "worker pool")
        self._workers: list[_Worker] = []
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._death: WorkerDiedError | None = None

    def results(self, items: Iterable[Any]) -> Iterator[Any]:
        waiting: deque[Future[Any]] = deque()
        for item in items:
            if len(self._workers) < self._size:
                self._workers.append(_Worker(self._prepare, self._task, self._state))
                self._idle.put(self._workers[-1])
            waiting.append(self._threads.submit(self._result, item))
            if len(waiting) > WAITING_EACH * self._size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        for worker in self._workers:
            worker.finish()

    def end(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown()

    def _result(self, item: object) -> object:
        worker = self._idle.get()
        try:
            return worker.result(item)
        except WorkerDiedError as death:
            if self._death is None:
                self._death = death
                for other in self._workers:
                    other.kill()
            raise self._death from None
        finally:
            self._idle.put(worker)


class _Worker:
    """A process that does the task for one item after the other."""

    def __init__(self, prepare: Callable[[], None] | None, task: Callable[..., Any], state: object) -> None:
        work = pickle.dumps((task, state))
        # Only what is defined in the program itself needs it in the worker.
        program = getattr(sys.modules["__main__"], "__file__", None) if b"__main__" in work else None
        self._connection, its_own = multiprocessing.Pipe()
        with its_own:
            # Not multiprocessing.Process: that runs the parent's program again, with all that only the parent needs.
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-c", _PROGRAM, str(its_own.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[its_own.fileno()],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(folder or str(Path.cwd()) for folder in sys.path)},
            )
        with contextlib.suppress(OSError):  # it ended at once; its exit code says more
            self._connection.send((program, prepare, work))

    def result(self, item: object) -> object:
        sent = pickle.dumps(item)
        try:
            self._connection.send_bytes(sent)
            answer = self._connection.recv_bytes()
        except (EOFError, OSError):
            raise WorkerDiedError(self._process.wait()) from None
        is_result, result = pickle.loads(answer)  # noqa: S301 - from a process of our own
        if not is_result:
            raise result
        return result

    def finish(self) -> None:
        """Let an idle process end by itself."""
        with contextlib.suppress(OSError):
            self._connection.send_bytes(_END)
        self._process.wait()
        self._connection.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


_PROGRAM: Final = "import sys; from runtime.worker_pool import work; work(int(sys.argv[1]))"
_END: Final = b""
_is_importing_program = False


def work(connection_number: int) -> None:
    """Run the tasks that the parent sends over a connection, until it says that this was all."""
    # Ctrl+C reaches all of a terminal's processes; the parent ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(connection_number)
    program, prepare, sent_work = connection.recv()
    if prepare is not None:
        prepare()
    if program is not None:
        global _is_importing_program
        _is_importing_program = True
        multiprocessing.spawn.import_main_path(program)
        _is_importing_program = False
    task, state = pickle.loads(sent_work)  # noqa: S301 - from the parent
    items: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, items), daemon=True).start()
    while (sent := items.get()) != _END:
        try:
            answer = pickle.dumps((True, task(state, pickle.loads(sent))))  # noqa: S301
        except Exception as error:
            answer = pickle.dumps((False, _sendable(error)))
        connection.send_bytes(answer)


def _receive(connection: Connection, items: SimpleQueue[bytes]) -> None:
    try:
        while True:
            items.put(connection.recv_bytes())
    except (EOFError, OSError):
        # The parent is gone, and nobody wants what is under way.
        os._exit(1)


def _sendable(error: Exception) -> Exception:
    """The error with its traceback here as a note; another one where it cannot be pickled."""
    error.add_note("In a worker process: " + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
