"""Engine of a Ray cluster: tasks on its nodes, whose results come back in order."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Final, TypeVar

from evaluator.engines.settings import RaySettings
from runtime.worker_pool import WAITING_EACH

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

_TRIES: Final = 5
"""Times that a task is done again whose worker or node ended under it; more, and it is the task that ends them."""

_ENVIRONMENT: Final = {
    # Ray would tell its makers what it is used for.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Seconds for which a lost connection is tried again, in place of 30: the next pass connects anew.
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "10",
}


_SECONDS_BETWEEN_TRIES: Final = 60.0
"""A cluster that was not reached is not tried again before: a try takes half a minute, and a pass has deployments."""


class ClusterError(RuntimeError):
    """The cluster cannot be used; the message says what to do."""


class RayEngine:
    """Engine of a Ray cluster, to which it connects with its first task, by Ray Client.

    A process that joined the cluster itself would be ended by Ray once the head is away for a minute.

    Tasks, state, items and results are pickled, and every node has the same version of dialwatch. A task whose worker
    or node ends is done again on another one, so it must have no effect but its result. What a task raises is raised
    here. Raises ClusterError where the cluster is not reached, or loses a task again and again.
    """

    def __init__(self, settings: RaySettings, workers: int | None = None) -> None:
        """`workers` is the number of tasks at once; None for as many as the cluster has processors for."""
        self._settings = settings
        self._workers = workers
        self._lock = threading.Lock()
        self._not_reached: ClusterError | None = None
        self._tried = -math.inf

    def map(self, task: Callable[[S, T], R], state: S, items: Iterable[T]) -> Generator[R]:
        """Yield the results in the order of the items."""
        ray = self._connected()
        waiting: deque[Any] = deque()
        try:
            with self._explained(ray):
                most = self._workers or WAITING_EACH * self._processors(ray)
                remote = self._remote(ray)
                work = ray.put((task, state))
            for item in items:
                with self._explained(ray):
                    waiting.append(remote.remote(work, ray.put(item)))
                if len(waiting) >= most:
                    yield self._result(ray, waiting)
            while waiting:
                yield self._result(ray, waiting)
        finally:
            # Without a connection a call of Ray would start a cluster of its own.
            if ray.is_initialized():
                for left in waiting:
                    ray.cancel(left)

    def close(self) -> None:
        """Leave the cluster, which ends what is under way."""
        with self._lock:
            if "ray" in sys.modules:
                _ray().shutdown()

    def _connected(self) -> Any:
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        ray = _ray()
        with self._lock, _own_handler_of_sigterm():
            if not ray.is_initialized():
                # What a lost connection leaves behind keeps a new one from being made.
                ray.shutdown()
                self._connect(ray)
        return ray

    def _connect(self, ray: Any) -> None:
        if self._not_reached is not None and time.monotonic() - self._tried < _SECONDS_BETWEEN_TRIES:
            raise self._not_reached
        address = self._settings.address
        options = {"namespace": "dialwatch", "configure_logging": False, "log_to_driver": False}
        try:
            try:
                ray.init(address, **options)
            except ConnectionAbortedError:
                # The head answers, and the server that it starts for each client sometimes does not (Ray 2.60).
                ray.init(address, **options)
        except Exception as error:  # Ray raises many kinds
            self._tried = time.monotonic()
            self._not_reached = ClusterError(
                f"no Ray cluster is reached at {address!r} (evaluator.ray.address): {_in_short(error)}. Start one "
                "with `ray start --head`, or set evaluator.engine to local"
            )
            raise self._not_reached from None

    def _processors(self, ray: Any) -> int:
        return max(1, int(ray.cluster_resources().get("CPU", 1) / self._settings.cpus))

    def _remote(self, ray: Any) -> Any:
        """Return the task of the cluster. Its workers stay, with the models that they loaded, also those with a GPU."""
        cpus, gpus = self._settings.cpus, self._settings.gpus
        return ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=_TRIES, max_calls=0)(_done)

    def _result(self, ray: Any, waiting: deque[Any]) -> Any:
        with self._explained(ray):
            return ray.get(waiting.popleft())

    @contextlib.contextmanager
    def _explained(self, ray: Any) -> Iterator[None]:
        """Raise what a task raised, and ClusterError for what is wrong with the cluster."""
        try:
            yield
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except (ray.exceptions.RayError, ConnectionError) as error:
            # The next task connects again: the cluster may have been started anew.
            self.close()
            raise ClusterError(
                f"the Ray cluster lost a task, in {_TRIES + 1} tries or as a whole: {type(error).__name__}: "
                f"{_in_short(error)}. See `ray status`; a task that lacks memory needs more of "
                "evaluator.ray.cpus, so that fewer run at once"
            ) from None


def _done(work: tuple[Callable[[Any, Any], Any], Any], item: Any) -> Any:
    task, state = work
    return task(state, item)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ClusterError(f"evaluator.engine is ray, and {error}: pip install 'dialwatch[ray]'") from None
    return ray


@contextlib.contextmanager
def _own_handler_of_sigterm() -> Iterator[None]:
    """Put back the handler of SIGTERM, by which a service ends in order: Ray takes it for its own."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _in_short(error: Exception) -> str:
    """Return the first line of what it says, and the last one: between them stands a trace of Ray."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(dict.fromkeys((lines[0].strip(), lines[-1].strip())))
