"""Copies of the tree in which mutants are tested, and what came of it, which is kept for the next run."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

from tests.mutants.reach import ROOT, chosen, reaches_of, version, version_of_all

COPIES = ROOT / ".cache" / "mutants" / "copies"
RESULTS = ROOT / ".cache" / "mutants" / "results.json"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.pytest_plugin"]
UNMARKED = ["-m", "not integration and not slow"]
# Hypothesis draws the same examples each time: a mutant that is found is found again.
SEED = ["--hypothesis-seed", "0"]
# Compiled modules are kept apart from those of the tree, whatever the environment says of them.
COMPILED = str(ROOT / ".cache" / "mutants" / "compiled")
ENVIRONMENT = os.environ | {
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": COMPILED,
    "COVERAGE_CORE": "ctrace",  # the one that knows contexts in each Python
}


class Bench:
    """Copies of the tree, one for each worker."""

    def __init__(self, workers: int, git: Callable[..., str]) -> None:
        shutil.rmtree(COPIES, ignore_errors=True)
        self._copies: SimpleQueue[Path] = SimpleQueue()
        self._lock = Lock()
        self._results: dict[str, bool] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
        self._known: set[str] = set()  # tests that pass without a mutant
        files = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        for number in range(workers):
            self._copies.put(copy_tree(files, COPIES / str(number)))
        self._tree = version_of_all(COPIES / "0")

    def finds(self, file: str, source: str, mutated: str, line: int) -> bool:
        """Does a test fail, or not end, with a mutant?"""
        copy = self._copies.get()
        try:
            with self._lock:
                reaches = reaches_of(copy, file, lambda files: measure(copy, file, files))
                tests = chosen(reaches, file, source, line)
                self._known |= {test for reach in reaches if reach.tree == self._tree for test in reach.seconds}
            key = hashlib.sha256(json.dumps([file, mutated, sorted(tests), versions(copy, tests)]).encode()).hexdigest()
            if key not in self._results:
                found = bool(tests) and self._fails(copy, file, source, mutated, tests)
                with self._lock:
                    self._results[key] = found
                    RESULTS.write_text(json.dumps(self._results), "utf-8")
            return self._results[key]
        finally:
            self._copies.put(copy)

    def _fails(self, copy: Path, file: str, source: str, mutated: str, tests: dict[str, float]) -> bool:
        seconds = 60 + 5 * sum(tests.values())
        write(copy / file, mutated)
        ended, failed = run(copy, list(tests), seconds)
        write(copy / file, source)
        if ended == 0:
            return False
        if ended is None:
            return True
        test = failed or next(iter(tests))  # without one that failed: the module could not be imported
        if test not in self._known and run(copy, [test], seconds)[0] != 0:
            print(f"fails without a mutant too: {test}", flush=True)
            return False
        self._known.add(test)
        return True


def copy_tree(files: list[str], to: Path) -> Path:
    """Copy the files that git knows or would take."""
    for file in files:
        if (ROOT / file).is_file():
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, to / file)
    return to


def write(path: Path, source: str) -> None:
    """Write a module, and remove what Python compiled of it: within a second it would not see that it is another."""
    path.write_text(source, "utf-8")
    sys.pycache_prefix = COMPILED
    Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)


def versions(copy: Path, tests: dict[str, float]) -> list[str]:
    """Digests of the files of some tests."""
    return [version(copy / file) for file in sorted({test.split("::")[0] for test in tests})]


def measure(copy: Path, module: str, files: list[str]) -> dict[str, Any]:
    """What pytest_plugin.Reach writes of some files of tests, for the package of a module."""
    print(f"measuring which lines are reached by {len(files)} files of tests for {module}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "reach.json"
        options = ["--reach", str(written), "--reach-in", module.split("/")[0]]
        ended = subprocess.run(
            [*PYTEST, *UNMARKED, *SEED, *options, *files], cwd=copy, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        )
        assert written.exists(), f"the tests could not be run:\n{ended.stdout}"
        measured: dict[str, Any] = json.loads(written.read_text("utf-8"))
    for test in measured["failed"]:
        print(f"left out, as it fails without a mutant: {test}", flush=True)
    return measured


def run(copy: Path, tests: list[str], seconds: float) -> tuple[int | None, str | None]:
    """Run tests until one fails: what pytest ended with, None if it did not end in time, and which test failed."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "chosen.json").write_text(json.dumps(tests), "utf-8")
        options = ["--chosen", f"{folder}/chosen.json", "--failed", f"{folder}/failed.json"]
        files = dict.fromkeys(test.split("::")[0] for test in tests)
        process = subprocess.Popen(
            [*PYTEST, "-x", *UNMARKED, *SEED, *options, *files],
            cwd=copy,
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return None, None
        failed = Path(folder) / "failed.json"
        return process.returncode, json.loads(failed.read_text("utf-8")) if failed.exists() else None
