"""Engine of a Ray cluster: tasks on its nodes, whose results come back in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, TypeVar

from evaluator.engines.settings import RaySettings
from lake import WAITING_EACH

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

_TRIES: Final = 5
"""Times that a task is done again whose worker or node ended under it; more, and it is the task that ends them."""


class ClusterError(RuntimeError):
    """The cluster cannot be used; the message says what to do."""


class RayEngine:
    """Engine of a Ray cluster, to which it connects with its first task.

    Tasks, state, items and results are pickled, and every node has the same version of dialwatch. A task whose worker
    or node ends is done again on another one, so it must have no effect but its result. What a task raises is raised
    here. Raises ClusterError where the cluster is not reached, or loses a task again and again.
    """

    def __init__(self, settings: RaySettings, workers: int | None = None) -> None:
        """`workers` is the number of tasks at once; None for as many as the cluster has processors for."""
        self._settings = settings
        self._workers = workers

    def map(self, task: Callable[[S, T], R], state: S, items: Iterable[T]) -> Generator[R]:
        """Give the results in the order of the items."""
        ray = self._connected()
        most = WAITING_EACH * (self._workers or self._processors(ray))
        options = {"num_cpus": self._settings.cpus, "num_gpus": self._settings.gpus, "max_retries": _TRIES}
        remote = ray.remote(**options)(_done)
        work = ray.put((task, state))
        waiting: deque[Any] = deque()
        try:
            for item in items:
                waiting.append(remote.remote(work, item))
                if len(waiting) > most:
                    yield self._result(ray, waiting.popleft())
            while waiting:
                yield self._result(ray, waiting.popleft())
        except ClusterError:
            # The next task connects again: the cluster may have been started anew.
            waiting.clear()
            self.close()
            raise
        finally:
            for left in waiting:
                ray.cancel(left)

    def close(self) -> None:
        """Leave the cluster, which ends what is under way."""
        ray = _ray()
        if ray.is_initialized():
            ray.shutdown()

    def _connected(self) -> Any:
        # Ray would tell its makers what it is used for.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = _ray()
        if ray.is_initialized():
            return ray
        address = self._settings.address
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False, namespace="dialwatch")
        except Exception as error:  # Ray raises many kinds
            raise ClusterError(
                f"no Ray cluster is reached at {address!r} (evaluator.ray.address): {_first_line(error)}. Start one "
                "with `ray start --head`, or set evaluator.engine to local"
            ) from None
        return ray

    def _processors(self, ray: Any) -> int:
        return max(1, int(ray.cluster_resources().get("CPU", 1) / self._settings.cpus))

    def _result(self, ray: Any, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise ClusterError(
                f"the Ray cluster lost a task, in {_TRIES + 1} tries or as a whole: {type(error).__name__}: "
                f"{_first_line(error)}. See `ray status`; a task that lacks memory needs more of "
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


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
