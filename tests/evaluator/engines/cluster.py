"""A Ray cluster of two nodes on this machine, and tests on it, for a network namespace in which only loopback is up.

Ray takes the machine's own address for loopback. `test_ray.py` runs this file where there is no other one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from evaluator import Backfill, Evaluator, EvaluatorSettings, Period
from evaluator.engines import ClusterError, RaySettings, engine_of
from lake import SCORES, Lake
from tests.evaluator.conftest import NOON, Traffic

pytestmark = pytest.mark.integration

NOW = NOON + timedelta(days=1)
ANSWERS = 400


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    os.environ["RAY_ADDRESS"] = made.address
    yield made
    made.shutdown()


@pytest.fixture(autouse=True)
def node(cluster: Cluster) -> Iterator[Any]:
    """The second node, which a test may end."""
    added = cluster.add_node(num_cpus=2, object_store_memory=100 << 20)
    cluster.wait_for_nodes()
    yield added
    if added in cluster.list_all_nodes():
        cluster.remove_node(added)


def slow(state: int, item: int) -> tuple[int, int]:
    time.sleep(0.1)
    return state + item, os.getpid()


def dying(_: None, item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def failing(_: None, item: int) -> int:
    raise KeyError(item)


def test_results_come_in_order_from_all_nodes() -> None:
    with closing(engine_of("ray", None, RaySettings())) as engine:
        results = list(engine.map(slow, 1000, range(60)))
    assert [value for value, _ in results] == list(range(1000, 1060))
    assert len({pid for _, pid in results}) > 1


def test_what_a_task_raises_is_raised_here() -> None:
    with closing(engine_of("ray", 2, RaySettings())) as engine, pytest.raises(KeyError, match="0"):
        list(engine.map(failing, None, range(5)))


def test_workers_that_are_killed_lose_nothing() -> None:
    """Three SIGKILLs while they work: each result comes once, in its place."""
    killed = 0
    with closing(engine_of("ray", None, RaySettings())) as engine:
        found = []
        for value, pid in engine.map(slow, 0, range(90)):
            found.append(value)
            if len(found) in (5, 15, 25):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    assert (found, killed) == (list(range(90)), 3)


def test_a_node_that_is_killed_loses_nothing(cluster: Cluster, node: Any) -> None:
    """SIGKILL of its raylet."""
    with closing(engine_of("ray", None, RaySettings())) as engine:
        found = []
        for value, _ in engine.map(slow, 0, range(90)):
            found.append(value)
            if len(found) == 10:
                cluster.remove_node(node, allow_graceful=False)
    assert found == list(range(90))


def test_a_task_that_ends_its_worker_each_time_is_an_error_that_says_so() -> None:
    with closing(engine_of("ray", 2, RaySettings())) as engine, pytest.raises(ClusterError, match="lost a task"):
        list(engine.map(dying, None, range(10)))
    with closing(engine_of("ray", 2, RaySettings())) as engine:
        assert list(engine.map(slow, 5, [1]))[0][0] == 6


def test_work_that_is_given_up_ends() -> None:
    engine = engine_of("ray", 2, RaySettings())
    results = engine.map(slow, 0, range(1000))
    next(results)
    results.close()
    began = time.monotonic()
    assert len(list(engine.map(slow, 0, range(4)))) == 4
    assert time.monotonic() - began < 30
    engine.close()


def filled(root: Path) -> Lake:
    lake = Lake(str(root))
    traffic = Traffic(lake, "rag")
    texts = ["Delhi is the seat.", "", "Mumbai", "The seat of government is Delhi.", "I do not know."]
    traffic.log(*(traffic.answer(f"{n}", n % 600, answer=texts[n % 5]) for n in range(ANSWERS)))
    traffic.rate(traffic.signal("like", "3", 5))
    return lake


def scores(lake: Lake) -> list[dict[str, Any]]:
    rows = lake.table(SCORES, "rag").read().drop_columns(["question_key"])
    return rows.sort_by("score_id").to_pylist()


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("new_scores", "backfill"):
        monkeypatch.setattr(f"evaluator.service.{module}.answers_at_once", lambda _: 20)


@pytest.mark.usefixtures("small_chunks")
def test_an_evaluator_on_ray_gives_the_scores_of_a_local_one(tmp_path: Path) -> None:
    """Row for row, in a pass and in a backfill; workers are killed in the middle."""
    made = {}
    stop = threading.Event()
    killer = threading.Thread(target=kill_workers, args=(stop,), daemon=True)
    killer.start()
    for name in ("local", "ray"):
        lake = filled(tmp_path / name)
        settings = EvaluatorSettings.model_validate({"engine": name, "metrics": ["faithfulness_kprecision", "facts_recall"]})
        with closing(Evaluator(lake, settings, lambda: NOW)) as evaluator:
            assert evaluator.run_once().failures == ()
        more = Backfill(lake, settings, Period(NOON, NOW), ["readability_grade", "exact_match"], clock=lambda: NOW)
        with closing(more) as backfill:
            assert backfill.run().failures == ()
        made[name] = scores(lake)
    stop.set()
    assert len(made["ray"]) > ANSWERS
    assert made["ray"] == made["local"]


def kill_workers(stop: threading.Event) -> None:
    """Kill three worker processes of the cluster: each is busy with the chunks of an evaluator."""
    killed = 0
    while killed < 3 and not stop.wait(2.0):
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if process.joinpath("cmdline").read_bytes().startswith(b"ray::_done"):
                    os.kill(int(process.name), signal.SIGKILL)
                    killed += 1
                    break


def test_no_cluster_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of("ray", None, RaySettings(address="127.0.0.1:1"))
    with pytest.raises(ClusterError, match="no Ray cluster is reached at '127.0.0.1:1'"):
        list(engine.map(slow, 0, [1]))
