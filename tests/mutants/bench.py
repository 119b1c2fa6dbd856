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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

from tests.mutants.reach import ROOT, chosen, is_named_for, reaches_of, tests_of, version, version_of_all

COPIES = ROOT / ".cache" / "mutants" / "copies"
RESULTS = ROOT / ".cache" / "mutants" / "results.json"
# Hypothesis draws the same examples each time: a mutant that is found is found again.
PYTEST = [
    *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.pytest_plugin"),
    *("--hypothesis-seed", "0"),
]
UNMARKED = ["-m", "not integration and not slow"]
INTEGRATION = ["-m", "integration and not slow"]
NO_TESTS = 5  # what pytest ends with where it has none to run
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
                self._known |= {test for reach in reaches if reach.tree == self._tree for test in reach.seconds}
            chosen_tests = chosen(reaches, file, source, line)
            tests, seconds = list(chosen_tests), 120 + 5 * sum(chosen_tests.values())
            files = sorted({test.split("::")[0] for test in tests})
            if not tests:
                files, seconds = [path for path in tests_of(copy, file) if is_named_for(path, file)], 300
            key = json.dumps([file, mutated, sorted(tests), [version(copy / path) for path in files]])
            key = hashlib.sha256(key.encode()).hexdigest()
            if key not in self._results:
                found = bool(files) and self._fails(copy, file, source, mutated, Run(copy, files, tests, seconds))
                with self._lock:
                    self._results[key] = found
                    RESULTS.write_text(json.dumps(self._results), "utf-8")
            return self._results[key]
        finally:
            self._copies.put(copy)

    def _fails(self, copy: Path, file: str, source: str, mutated: str, run: Run) -> bool:
        write(copy / file, mutated)
        ended, failed = run.end()
        write(copy / file, source)
        if ended in (0, NO_TESTS) or ended is None:
            return ended is None
        again = replace(run, tests=[failed]) if failed else replace(run, tests=run.tests[:1])
        if failed not in self._known and again.end()[0] != 0:
            print(f"fails without a mutant too: {failed}", flush=True)
            return False
        return True


@dataclass(frozen=True)
class Run:
    """A run of tests of some files until one fails; without names, of those that are marked `integration`."""

    copy: Path
    files: Sequence[str]
    tests: Sequence[str]
    seconds: float

    def end(self) -> tuple[int | None, str | None]:
        """Run them: what pytest ended with, None if it did not end in time, and which test failed."""
        with tempfile.TemporaryDirectory() as folder:
            chosen_tests, failed = Path(folder) / "chosen.json", Path(folder) / "failed.json"
            chosen_tests.write_text(json.dumps(self.tests), "utf-8")
            options = ["--failed", str(failed), *(["--chosen", str(chosen_tests)] if self.tests else INTEGRATION)]
            process = subprocess.Popen(
                [*PYTEST, "-x", *options, *self.files],
                cwd=self.copy,
                env=ENVIRONMENT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                process.wait(self.seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                return None, None
            return process.returncode, json.loads(failed.read_text("utf-8")) if failed.exists() else None


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


def measure(copy: Path, module: str, files: list[str]) -> dict[str, Any]:
    """What pytest_plugin.Reach writes of some files of tests, for the package of a module."""
    print(f"measuring which lines are reached by {len(files)} files of tests for {module}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "reach.json"
        options = ["--reach", str(written), "--reach-in", module.split("/")[0]]
        ended = subprocess.run(
            [*PYTEST, *UNMARKED, *options, *files], cwd=copy, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        )
        assert written.exists(), f"the tests could not be run:\n{ended.stdout}"
        measured: dict[str, Any] = json.loads(written.read_text("utf-8"))
    for test in measured["failed"]:
        print(f"left out, as it fails without a mutant: {test}", flush=True)
    return measured
