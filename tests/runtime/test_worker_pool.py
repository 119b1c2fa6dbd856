from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runtime.worker_pool import WAITING_EACH, Engine, SameProcess, WorkerDiedError, WorkerPool
from tests.runtime.worker_tasks import Touching, added, failing, hanging, noted, oddly_failing
from tests.servers import wait_for

pytestmark = pytest.mark.integration


def local_engine(workers: int) -> Engine:
    return SameProcess() if workers == 1 else WorkerPool(workers)


def processes(folder: Path) -> set[int]:
    """Ids of the processes that have noted something in a folder."""
    return {int(path.name.partition("-")[0]) for path in folder.iterdir()}


def are_gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_items(tmp_path: Path, workers: int) -> None:
    """Also where some items take longer; the state goes once to each process, and all end with the work."""
    with closing(local_engine(workers)) as engine:
        assert list(engine.map(added, Touching(tmp_path, 100), range(20))) == list(range(100, 120))
        assert len(processes(tmp_path)) == (0 if workers == 1 else 3)
        assert are_gone(processes(tmp_path))
        assert list(engine.map(added, Touching(tmp_path, 0), [])) == []


def test_few_items_wait(tmp_path: Path) -> None:
    """Items are taken only as results are: two of each worker ahead, and the one that is asked for."""
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(50):
            taken.append(item)
            yield item

    with closing(WorkerPool(2)) as pool:
        results = pool.map(noted, tmp_path, items())
        assert not taken
        for number in range(1, 11):
            next(results)
            assert len(taken) == number + 2 * WAITING_EACH
    assert are_gone(processes(tmp_path))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_task_is_raised_at_its_place(workers: int) -> None:
    """What comes before it is given; from another process it says where it was raised."""
    with closing(local_engine(workers)) as engine:
        results = engine.map(failing, 3, range(50))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match="item 3 is odd") as raised:
            next(results)
        assert next(results, "over") == "over"
    if workers > 1:
        assert any("in failing" in note for note in raised.value.__notes__)


@pytest.mark.parametrize(("item", "message"), [(0, "pickle.*lock"), (1, "OddError: one two")])
def test_what_cannot_be_sent_is_an_error_that_can(item: int, message: str) -> None:
    """A result and an error that cannot be pickled do not stop the worker."""
    with closing(WorkerPool(2)) as pool, pytest.raises((TypeError, RuntimeError), match=message):
        list(pool.map(oddly_failing, None, [item]))


def test_a_killed_worker_ends_the_work(tmp_path: Path) -> None:
    """It is an error at once, whatever others are about, and they end too."""

    def kill_one() -> None:
        os.kill(min(wait_for(lambda: len(found := processes(tmp_path)) == 2 and found)), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with closing(WorkerPool(2)) as pool, pytest.raises(WorkerDiedError, match="exit code -9") as raised:
        list(pool.map(hanging, tmp_path, range(10)))
    killer.join()
    assert raised.value.exit_code == -signal.SIGKILL
    assert are_gone(processes(tmp_path))


_READER = """
import pathlib, sys
from runtime.worker_pool import WorkerDiedError, WorkerPool
from tests.runtime.worker_tasks import killed_while_sending
if __name__ == "__main__":
    try:
        list(WorkerPool(2).map(killed_while_sending, pathlib.Path(sys.argv[1]), range(10)))
    except WorkerDiedError as error:
        print(error.exit_code)
"""


def test_a_worker_that_is_killed_while_it_sends_ends_the_work(tmp_path: Path) -> None:
    """A part of a result is no reason to wait for the rest of it."""
    script, folder = tmp_path / "reader.py", tmp_path / "noted"
    script.write_text(_READER)
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen([sys.executable, script, folder], env=environment, stdout=subprocess.PIPE) as parent:
        try:
            wait_for(lambda: len(processes(folder)) == 2)
            parent.send_signal(signal.SIGSTOP)
            (tmp_path / "parent-reads-nothing").touch()
            wait_for(lambda: any(_is_zombie(pid) for pid in processes(folder)))
            parent.send_signal(signal.SIGCONT)
            assert parent.communicate(timeout=30) == (b"-9\n", None)
        finally:
            parent.kill()
    assert are_gone(processes(folder))


def _is_zombie(pid: int) -> bool:
    return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()


def abandoned(engine: Engine, folder: Path) -> Iterator[int]:
    results = engine.map(noted, folder, range(100))
    next(results)
    return results


@pytest.mark.parametrize("end", [WorkerPool.close, lambda _: None])
def test_work_that_is_given_up_leaves_no_process(tmp_path: Path, end: Callable[[WorkerPool], None]) -> None:
    """Neither where the pool is closed nor where nobody wants more results."""
    pool = WorkerPool(2)
    results = abandoned(pool, tmp_path)
    end(pool)
    del results
    assert are_gone(processes(tmp_path))


_PARENT = """
import pathlib, signal, sys
from runtime.worker_pool import WorkerPool
from tests.runtime.worker_tasks import hanging
if __name__ == "__main__":
    # A shell that starts the tests in the background has them ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    list(WorkerPool(2).map(hanging, pathlib.Path(sys.argv[1]), range(10)))
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path: Path, ending: signal.Signals) -> None:
    """However it ends, and in the middle of their work."""
    script, folder = tmp_path / "parent.py", tmp_path / "noted"
    script.write_text(_PARENT)
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, str(script), str(folder)], env=environment) as parent:
        wait_for(lambda: len(processes(folder)) == 2)
        parent.send_signal(ending)
    wait_for(lambda: are_gone(processes(folder)))


_SCRIPT = """
from runtime.worker_pool import WorkerPool

class Own:
    plus = 1

def added(own, item):
    return own.plus + item

def main():
    print(*WorkerPool(2).map(added, Own(), [1, 2, 3]))

"""


@pytest.mark.parametrize(
    ("end", "printed"), [('if __name__ == "__main__":\n    main()\n', "2 3 4\n"), ("main()\n", "")]
)
def test_a_script_that_can_be_imported_may_have_tasks_of_its_own(tmp_path: Path, end: str, printed: str) -> None:
    """One that does its work when it is imported is an error that says what to write."""
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT + end)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
    assert (ended.returncode == 0, ended.stdout) == (bool(printed), printed)
    assert ('put `if __name__ == "__main__":`' in ended.stderr) == (not printed)


def test_a_pool_that_cannot_start_a_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ends at once, as one that is not there: no work waits for ever."""
    for program in ("/bin/false", "/no/such/file"):
        monkeypatch.setattr("sys.executable", program)
        with closing(WorkerPool(2)) as pool, pytest.raises((OSError, WorkerDiedError)):
            list(pool.map(failing, -1, range(3)))


def test_a_worker_that_is_killed_while_it_starts_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the state is more than a pipe holds."""
    (tmp_path / "sitecustomize.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with closing(WorkerPool(2)) as pool, pytest.raises(WorkerDiedError, match="exit code -9"):
        list(pool.map(failing, 1 << (8 << 20), range(3)))
