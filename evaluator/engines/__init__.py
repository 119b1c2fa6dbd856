"""Engines that compute metrics: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from evaluator.engines.ray_engine import ClusterError, RayEngine
from evaluator.engines.settings import EngineName, RaySettings
from runtime.worker_pool import Engine, SameProcess, WorkerPool

__all__ = ["ClusterError", "EngineName", "RaySettings", "engine_of"]

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


def engine_of(name: EngineName, workers: int | None, ray: RaySettings) -> Engine:
    """Return an engine; it starts nothing before its first task.

    `workers` are processes of this machine, 1 where it is None, or tasks of Ray at once, as many as the cluster has
    processors for.
    """
    if name == "ray":
        return RayEngine(ray, workers)
    return SameProcess() if workers in (None, 1) else _Processes(workers)


class _Processes:
    """Engine of worker processes that does a single item in this process, as to start one would take longer."""

    def __init__(self, workers: int) -> None:
        self._pool = WorkerPool(workers)

    def map(self, task: Callable[[S, T], R], state: S, items: Iterable[T]) -> Generator[R]:
        """Yield the results in the order of the items."""
        following = iter(items)
        first = list(itertools.islice(following, 2))
        if len(first) == 1:
            yield task(state, first[0])
        else:
            yield from self._pool.map(task, state, itertools.chain(first, following))

    def close(self) -> None:
        """End all processes, at once."""
        self._pool.close()
