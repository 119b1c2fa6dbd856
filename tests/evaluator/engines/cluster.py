"""A Ray cluster of two nodes on this machine, and tests on it, for a network namespace in which only loopback is up.

Ray takes the machine's own address for loopback. `test_ray.py` runs this file where there is no other one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from evaluator.answers import Period
from evaluator.engines import ClusterError, RaySettings, engine_of
from evaluator.service.backfill import Backfill
from evaluator.service.passes import Evaluator
from lake.tables.lake import Lake
from tests.evaluator.conftest import NOON, Traffic
from tests.evaluator.judged import JUDGED, register
from tests.evaluator.judged import settings as judged_settings
from tests.evaluator.judges.scripted_server import serving

pytestmark = [
    pytest.mark.integration,
    # Ray leaves files of its own open.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]

NOW = NOON + timedelta(days=1)
ANSWERS = 400
JUDGED_ANSWERS = 60
"""So many have a text of their own, and so a call of the judge."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    head = {"num_cpus": 1, "object_store_memory": 100 << 20, "ray_client_server_port": 10001}
    made = Cluster(initialize_head=True, head_node_args=head)
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
        assert [value for value, _ in engine.map(slow, 5, [1])] == [6]


def test_work_that_is_given_up_ends() -> None:
    engine = engine_of("ray", 2, RaySettings())
    results = engine.map(slow, 0, range(1000))
    next(results)
    results.close()
    began = time.monotonic()
    assert len(list(engine.map(slow, 0, range(4)))) == 4
    assert time.monotonic() - began < 30
    engine.close()


def filled(root: Path) -> Traffic:
    traffic = Traffic(Lake(str(root)), "rag")
    texts = ["Delhi is the seat.", "", "Mumbai", "The seat of government is Delhi.", "I do not know."]
    traffic.log(
        *(traffic.answer(f"{n}", n % 600, answer=texts[n % 5] + f" {n}" * (n < JUDGED_ANSWERS)) for n in range(ANSWERS))
    )
    traffic.rate(traffic.signal("like", "3", 5))
    return traffic


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("new_scores", "backfill"):
        monkeypatch.setattr(f"evaluator.service.{module}.answers_at_once", lambda _: 20)


@pytest.mark.usefixtures("small_chunks")
def test_an_evaluator_on_ray_gives_the_scores_of_a_local_one(tmp_path: Path) -> None:
    """Row for row, in a pass and in a backfill; workers are killed in the middle, and no judge is paid twice."""
    made, asked = {}, {}
    stop = threading.Event()
    killer = threading.Thread(target=kill_workers, args=(stop,), daemon=True)
    register()
    with serving() as stage:
        for name in ("local", "ray"):
            traffic, judge = filled(tmp_path / name), stage.fresh()
            chosen = {"engine": name, "metrics": ["faithfulness_kprecision", "facts_recall", JUDGED]}
            settings = judged_settings(judge.url, tmp_path / name, **chosen)
            if name == "ray":
                killer.start()
            with closing(Evaluator(traffic.lake, settings, lambda: NOW)) as evaluator:
                assert evaluator.run_once().failures == ()
            period = Period(NOON, NOW)
            more = Backfill(traffic.lake, settings, period, ["readability", "exact_match"], clock=lambda: NOW)
            with closing(more) as backfill:
                assert backfill.run().failures == ()
            made[name], asked[name] = traffic.scores(), len(judge.requests)
    stop.set()
    assert len(made["ray"]) > ANSWERS
    assert made["ray"] == made["local"]
    assert asked["ray"] == asked["local"]
    assert killed_workers


killed_workers: list[int] = []


def kill_workers(stop: threading.Event) -> None:
    """Kill three worker processes of the cluster: each is busy with the chunks of an evaluator."""
    while len(killed_workers) < 3 and not stop.wait(0.5):
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if process.joinpath("cmdline").read_bytes().startswith(b"ray::_done"):
                    os.kill(int(process.name), signal.SIGKILL)
                    killed_workers.append(int(process.name))
                    break


def test_ray_does_not_take_sigterm_from_a_service() -> None:
    """It puts a handler of its own in the place of that by which a service ends in order."""
    signal.signal(signal.SIGTERM, handler := lambda *_: None)
    with closing(engine_of("ray", 2, RaySettings())) as engine:
        assert len(list(engine.map(slow, 0, [1]))) == 1
    assert signal.getsignal(signal.SIGTERM) is handler
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_a_cluster_that_is_gone_ends_no_process_and_a_new_one_is_used(cluster: Cluster) -> None:
    """Head, nodes and client server are killed: an error says so, at once in the next deployment; a new one serves."""
    with closing(engine_of("ray", 2, RaySettings())) as engine:
        results = engine.map(slow, 0, range(1000))
        next(results)
        for process in cluster_processes():
            os.kill(process, signal.SIGKILL)
        with pytest.raises(ClusterError, match="lost a task"):
            list(results)
        with pytest.raises(
            ClusterError, match=r"no Ray cluster is reached at 'ray://127\.0\.0\.1:10001'.*ray start --head"
        ):
            list(engine.map(slow, 0, [1]))
        began = time.monotonic()
        with pytest.raises(ClusterError, match="no Ray cluster is reached"):
            list(engine.map(slow, 0, [1]))
        assert time.monotonic() - began < 1
    subprocess.run([*RAY_START], check=True, capture_output=True)
    with closing(engine_of("ray", 2, RaySettings())) as engine:
        assert len(list(engine.map(slow, 0, range(4)))) == 4


RAY_START = [
    sys.executable,
    "-m",
    "ray.scripts.scripts",
    "start",
    "--head",
    "--num-cpus=2",
    "--object-store-memory=100000000",
]


def cluster_processes() -> list[int]:
    """All processes of the namespace but this one."""
    found = [int(process.name) for process in Path("/proc").glob("[0-9]*")]
    return [pid for pid in found if pid not in (os.getpid(), os.getppid())]
