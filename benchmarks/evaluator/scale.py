"""Benchmark of the engines: answers a second by processes of this machine, and by a Ray cluster.

    python -m benchmarks.evaluator.scale [--answers 16000] [--runs 1]

Passes of an evaluator over a lake on this disk, with answers of 1,500 characters to 10 contexts of 838. `lexical` are
the default metrics. `model` is context_relevance_perplexity with flan-t5-small's architecture, random weights, 4
contexts an answer and one thread a process. `judged` is one call an answer of a judge that takes a second, 64 at once.
Each figure is the median of the runs; every round does all of them, one after the other. Ray's cluster has a node for
each worker, each with one processor, on this machine, and a head that computes nothing. Its start and its memory
(proportional set size of all its processes, when no task ever ran and after the last one) are shown too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.evaluator.metric_rows import Rows
from benchmarks.evaluator.models import save_flan_t5_small
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.application_classes import DEFAULT_METRICS
from lake.tables.lake import Lake
from tests.evaluator.conftest import NOON, Traffic
from tests.evaluator.engines import loopback
from tests.evaluator.judged import JUDGED, register
from tests.evaluator.judged import settings as judged_settings
from tests.evaluator.judges.scripted_server import later, serving

_INSIDE = "--inside"
_ENGINES = (("local", 1), ("local", 2), ("ray", 1), ("ray", 2))
_MODEL_ANSWERS, _JUDGED_ANSWERS = 600, 400
_CALLS_AT_ONCE, _CALL_SECONDS = 64, 1.0


def main() -> None:
    """Measure in a network namespace in which Ray finds loopback alone."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--answers", type=int, default=16_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument(_INSIDE, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.inside:
        # One thread a process, also in those of Ray, so that two workers do not take each other's processor.
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        command = loopback.command("benchmarks.evaluator.scale", *sys.argv[1:], _INSIDE)
        sys.exit(subprocess.run(command, env=os.environ | threads, check=False).returncode)
    with tempfile.TemporaryDirectory(prefix="dialwatch-scale-") as name:
        _measure(Path(name), arguments.answers, arguments.runs)


def _measure(folder: Path, answers: int, runs: int) -> None:
    save_flan_t5_small(folder / "model")
    register()
    model = {
        "metrics": ["context_relevance_perplexity"],
        "models": {"question_likelihood": str(folder / "model"), "device": "cpu"},
    }
    judge = {"concurrency": _CALLS_AT_ONCE}
    with serving() as stage:
        stage.playing.always = later(_CALL_SECONDS)
        kinds = {
            "lexical": (_lake(folder / "lexical", answers), {"metrics": DEFAULT_METRICS}),
            "model": (_lake(folder / "models", _MODEL_ANSWERS, contexts=4), model),
            "judged": (_lake(folder / "judged", _JUDGED_ANSWERS), {"metrics": [JUDGED]}),
        }
        found: dict[tuple[str, str, int], list[float]] = {}
        for _ in range(runs):
            for engine, workers in _ENGINES:
                with _cluster(workers if engine == "ray" else 0):
                    for kind, (lake, chosen) in kinds.items():
                        settings = judged_settings(stage.playing.url, folder, judge, **chosen, engine=engine)
                        seconds = _seconds(lake, folder / "pass", settings, engine, workers)
                        found.setdefault((kind, engine, workers), []).append(seconds)
                        (folder / "calls.sqlite").unlink(missing_ok=True)
    counts = {"lexical": answers, "model": _MODEL_ANSWERS, "judged": _JUDGED_ANSWERS}
    _print(counts, found)


def _lake(root: Path, answers: int, contexts: int = 10) -> Path:
    traffic = Traffic(Lake(str(root)), "rag")
    rows = islice(Rows(), answers)
    logged = [
        traffic.answer(
            f"{number}", number // 60, question=row["question"], answer=row["answer"], chunks=row["context"][:contexts]
        )
        for number, row in enumerate(rows)
    ]
    for start in range(0, answers, 5_000):
        traffic.log(*logged[start : start + 5_000])
    return root


def _seconds(lake: Path, root: Path, settings: EvaluatorSettings, engine: str, workers: int) -> float:
    """Give the seconds of one pass over a copy of a lake, with the start of what computes."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(lake, root)
    local = {"workers": workers} if engine == "local" else {}
    began = time.perf_counter()
    end = NOON + timedelta(days=30)
    with closing(Evaluator(Lake(str(root)), settings.model_copy(update=local), lambda: end)) as evaluator:
        result = evaluator.run_once()
    assert not result.failures, result.failures
    assert not result.left_out, result.left_out
    return time.perf_counter() - began


@contextmanager
def _cluster(nodes: int) -> Iterator[None]:
    """Run a cluster of a head and so many nodes of one processor; none for 0."""
    if not nodes:
        yield
        return
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 200 << 20}
    began = time.perf_counter()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "ray_client_server_port": 10001, **memory})
    for _ in range(nodes):
        cluster.add_node(num_cpus=1, **memory)
    cluster.wait_for_nodes()
    started = time.perf_counter() - began
    print(
        f"cluster of a head and {nodes}: {started:.1f} s to start, {_others_memory():.0f} MiB before a task", flush=True
    )
    yield
    print(f"    {_others_memory():.0f} MiB after the last one", flush=True)
    cluster.shutdown()


def _others_memory() -> float:
    """Give the MiB of all processes of the namespace but this one."""
    total = 0.0
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        try:
            lines = process.joinpath("smaps_rollup").read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return total


def _print(counts: Mapping[str, int], found: Mapping[tuple[str, str, int], Sequence[float]]) -> None:
    print(f"\n{'answers a second':<12}", *(f"{engine} {workers:<6}" for engine, workers in _ENGINES), sep="\t")
    for kind, count in counts.items():
        rates: list[Any] = [count / statistics.median(found[kind, *engine]) for engine in _ENGINES]
        print(f"{kind:<12}", *(f"{rate:8.1f}" for rate in rates), sep="\t")


if __name__ == "__main__":
    main()
