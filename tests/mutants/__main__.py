"""Mutation testing: how many of 100 small bugs do the tests of their folders find?

    make mutants                    or: python -m tests.mutants [--mutants 100] [--seed 1] [--since REVISION]

Bugs are planted in lines that are new or changed since the last release, which is where the newest bugs are: a line is
drawn, each as likely as the others, then one of the mutants that begin on it (see operators.py).

A mutant is tested in a copy of the tree by tests of its module's folder alone: `lake/delta_log/news.py` by those in
`tests/lake/tables` that `make test` runs. Of these run the tests that reach the statement with the mutant, as
coverage.py measured it, first those of `test_news.py`, then the quickest, as many as take a minute of the processor in
all. For a line that runs when its module is imported these are the tests of `test_news.py` and those that call a
function of the module. Where no such test reaches it, those of `test_news.py` have their chance that start processes
(marked `integration`), for five minutes; else it counts as not found, as does a mutant that only a test finds which
also fails without it. So the share is at most what the tests of the folders find. What was measured, and what came of
each mutant, is kept in `.cache/mutants`: a run that was broken off goes on where it was, and after a change of some
tests only these are run again.

Mutants that survive are printed: they need a test, or their line goes if it changes nothing. It fails where less than
85 % are found.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import libcst as cst

from tests.mutants.bench import Bench
from tests.mutants.operators import Mutant, mutants_of
from tests.mutants.reach import PACKAGES, ROOT

ENOUGH = 0.85


@dataclass(frozen=True)
class Drawn:
    """A mutant that was drawn."""

    file: str
    source: str
    mutated: str
    line: int

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
    sample = drawn(arguments.mutants, arguments.seed, since, arguments.only or PACKAGES)
    bench = Bench(arguments.workers, git)
    survivors = []
    with ThreadPoolExecutor(arguments.workers) as threads:
        results = threads.map(lambda drawn: bench.finds(drawn.file, drawn.source, drawn.mutated, drawn.line), sample)
        for number, (mutant, found) in enumerate(zip(sample, results, strict=True), 1):
            if not found:
                survivors.append(mutant)
                print(f"\n{number}: survived\n{mutant}", flush=True)
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


def drawn(count: int, seed: int, since: str, folders: list[str]) -> list[Drawn]:
    """As many mutants as wanted, each of another line that changed since a revision.

    The order of the lines is that of digests of their texts: where other lines change, the same ones are drawn.
    """
    sources = {file: (ROOT / file).read_text("utf-8") for file, _ in changed_lines(since, folders)}
    places: dict[str, tuple[str, int]] = {}
    for file, lines in changed_lines(since, folders):
        texts = sources[file].splitlines()
        for line in sorted(lines):
            same = texts[: line - 1].count(texts[line - 1])  # lines above that read alike
            places[hashlib.sha256(f"{seed} {file} {texts[line - 1]} {same}".encode()).hexdigest()] = (file, line)
    modules: dict[str, tuple[cst.Module, list[Mutant]]] = {}
    sample: list[Drawn] = []
    for digest, (file, line) in sorted(places.items()):
        if len(sample) == count:
            break
        if file not in modules:
            modules[file] = mutants_of(sources[file])
        module, mutants = modules[file]
        if here := [mutant for mutant in mutants if mutant.line == line]:
            mutated = random.Random(digest).choice(here).source(module)
            if compiles(mutated):
                sample.append(Drawn(file, module.code, mutated, line))
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


if __name__ == "__main__":
    main()
