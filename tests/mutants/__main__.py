"""Mutation testing: how many of 100 small bugs do the tests of their folders find?

    make mutants                    or: python -m tests.mutants [--mutants 100] [--seed 1] [--since REVISION]

Bugs are planted in lines that are new or changed since the last release, which is where the newest bugs are: a line is
drawn, each as likely as the others, then one of the mutants that begin on it (see operators.py). Each is tested in a
copy of the tree by the tests of its module's folder alone: `lake/tables/news.py` by those in `tests/lake/tables` that
`make test` runs, first `test_news.py`. So a folder is changed safely by who knows its tests alone. Mutants that survive
are printed: they need a test, or their line goes if it changes nothing. It fails where less than 85 % are found.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import libcst as cst

from tests.mutants.operators import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
COPIES = ROOT / ".cache" / "mutants"
PACKAGES = ["collector", "evaluator", "monitor", "lake", "dialwatch"]
ENOUGH = 0.85
# Folders without tests of their own: the commands are the door to the actions.
TESTED_BY = {"dialwatch/actions": "dialwatch/commands"}
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not integration and not slow"]


@dataclass(frozen=True)
class Drawn:
    """A mutant that was drawn."""

    file: str
    source: str
    mutated: str

    def __str__(self) -> str:
        lines = difflib.unified_diff(
            self.source.splitlines(), self.mutated.splitlines(), self.file, self.file, "", "", 2
        )
        return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    """Draw, plant, test, and say what survived."""
    given = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    given.add_argument("--mutants", type=int, default=100)
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--since", metavar="REVISION", help="where lines changed begin; otherwise the last release")
    given.add_argument(
        "--only", metavar="FOLDER", action="append", help="a package or a folder; otherwise all packages"
    )
    given.add_argument("--workers", type=int, default=2)
    arguments = given.parse_args()
    since = arguments.since or last_release()
    sample = drawn(arguments.mutants, random.Random(arguments.seed), since, arguments.only or PACKAGES)
    bench = Bench(arguments.workers)
    survivors = []
    with ThreadPoolExecutor(arguments.workers) as threads:
        for mutant, found in zip(sample, threads.map(bench.finds, sample), strict=True):
            if not found:
                survivors.append(mutant)
                print(f"\nsurvived {tests_of(mutant.file)}\n{mutant}", flush=True)
    found_share = 1 - len(survivors) / len(sample)
    print(f"{len(sample) - len(survivors)} of {len(sample)} mutants were found ({found_share:.0%})")
    sys.exit(found_share < ENOUGH)


def git(*words: str) -> str:
    """What a command of git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def last_release() -> str:
    """The commit that brought the newest version's heading into the changelog."""
    version = re.search(r"^## (\[[0-9.]+\] - .*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert version, "CHANGELOG.md has no heading of a release, such as ## [0.2.0] - 2026-11-22"
    return git("log", "--format=%H", "--reverse", f"-S## {version[1]}", "--", "CHANGELOG.md").split()[0]


def drawn(count: int, chance: random.Random, since: str, folders: list[str]) -> list[Drawn]:
    """As many mutants as wanted, each of another line that changed since a revision."""
    places = [(file, line) for file, lines in changed_lines(since, folders) for line in sorted(lines)]
    chance.shuffle(places)
    modules: dict[str, tuple[cst.Module, list[Mutant]]] = {}
    sample: list[Drawn] = []
    for file, line in places:
        if len(sample) == count:
            break
        if file not in modules:
            modules[file] = mutants_of((ROOT / file).read_text("utf-8"))
        module, mutants = modules[file]
        if here := [mutant for mutant in mutants if mutant.line == line]:
            mutated = chance.choice(here).source(module)
            if compiles(mutated):
                sample.append(Drawn(file, module.code, mutated))
    return sample


def changed_lines(since: str, folders: list[str]) -> Iterator[tuple[str, set[int]]]:
    """The modules of some folders, each with the numbers of its lines that are new since a revision."""
    file, lines = "", set[int]()
    for line in git("diff", "--unified=0", "--no-renames", "--no-color", since, "--", *folders).splitlines():
        if line.startswith("+++ "):
            if file.endswith(".py"):
                yield file, lines
            file, lines = line.removeprefix("+++ b/"), set()
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            lines |= set(range(int(hunk[1]), int(hunk[1]) + int(hunk[2] or 1)))
    if file.endswith(".py"):
        yield file, lines


def compiles(source: str) -> bool:
    """Is this Python?"""
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def tests_of(file: str) -> list[str]:
    """The tests of a module's folder, the file of its name first; of a package's own modules, those beside them."""
    folder = Path(file).parent
    while not (ROOT / "tests" / TESTED_BY.get(str(folder), str(folder))).is_dir():
        folder = folder.parent
    tests = Path("tests") / TESTED_BY.get(str(folder), str(folder))
    files = (ROOT / tests).glob("test_*.py") if len(folder.parts) == 1 else (ROOT / tests).rglob("test_*.py")
    named = f"test_{Path(file).stem}.py"
    return sorted((str(path.relative_to(ROOT)) for path in files), key=lambda path: (Path(path).name != named, path))


class Bench:
    """Copies of the tree, one for each worker, in which mutants are tested."""

    def __init__(self, workers: int) -> None:
        shutil.rmtree(COPIES, ignore_errors=True)
        self._copies: SimpleQueue[Path] = SimpleQueue()
        self._seconds: dict[tuple[str, ...], float] = {}  # that the tests take without a mutant
        for number in range(workers):
            self._copies.put(copy_tree(COPIES / str(number)))

    def finds(self, mutant: Drawn) -> bool:
        """Does a test of its folder fail, or not end, with a mutant?"""
        copy = self._copies.get()
        try:
            tests = tests_of(mutant.file)
            if tuple(tests) not in self._seconds:
                began = time.monotonic()
                assert run(copy, tests, seconds=1800), f"tests fail without a mutant: {tests}"
                self._seconds[tuple(tests)] = time.monotonic() - began
            write(copy / mutant.file, mutant.mutated)
            found = not run(copy, tests, seconds=60 + 5 * self._seconds[tuple(tests)])
            write(copy / mutant.file, mutant.source)
            return found
        finally:
            self._copies.put(copy)


def copy_tree(to: Path) -> Path:
    """Copy the files that git knows or would take."""
    for file in git("ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / file).is_file():
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, to / file)
    return to


def write(path: Path, source: str) -> None:
    """Write a module, and remove what Python compiled of it: within a second it would not see that it is another."""
    path.write_text(source, "utf-8")
    Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)


def run(copy: Path, tests: list[str], seconds: float) -> bool:
    """Do these tests pass in time?"""
    process = subprocess.Popen(
        [*PYTEST, *tests], cwd=copy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return False


if __name__ == "__main__":
    main()
