"""Mutation testing: how many of 100 small defects do the tests of their folders find?

    make mutants                    or: python -m tests.mutants [--mutants 100] [--seed 1]

mutmut plants the defects in a copy of the tree, `.cache/mutants`, and runs against each the tests of FOLDERS that reach
its function. Those that survive are printed: they need a test, or change nothing that anybody could see. It fails where
less than 85 % are found. It takes an hour or more and is no part of CI.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPY = ROOT / ".cache" / "mutants"
FOLDERS = ["collector/parsing", "lake", "evaluator/metrics", "monitor/regression"]
TESTS = [
    *(f"tests/{folder}" for folder in FOLDERS),
    "tests/evaluator/models",  # of the metrics that ask a local model
    "tests/docs/test_metrics.py",
    "tests/docs/test_tables.py",
]
ENOUGH = 0.85
MUTMUT = [sys.executable, "-m", "mutmut"]
PACKAGES = ["dialwatch", "collector", "evaluator", "monitor", "lake"]
# Words of logs and errors: a test that repeats them all would find no defect.
NOT_MUTATED = [r"^\s*_log\.", r"raise \w+\(", r"^\s*message = "]


def main() -> None:
    """Plant, test, and say what survived."""
    given = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    given.add_argument("--mutants", type=int, default=100)
    given.add_argument("--seed", type=int, default=1)
    arguments = given.parse_args()
    copy_tree()
    sample = drawn(arguments.mutants, random.Random(arguments.seed))
    configure(only=sorted({file for file, _ in sample}))
    names = [name for _, name in sample]
    subprocess.run([*MUTMUT, "run", "--max-children", "1", *names], cwd=COPY, check=True)
    lines = mutmut("results", "--all", "1").splitlines()
    status = dict(line.strip().split(": ", 1) for line in lines if ": " in line)
    survivors = [name for name in names if status[name] not in ("killed", "timeout", "segfault")]
    for name in survivors:
        print(f"\n{status[name]}\n{mutmut('show', name)}")
    found = len(names) - len(survivors)
    print(f"{found} of {len(names)} mutants were found")
    sys.exit(found < ENOUGH * len(names))


def mutmut(*words: str) -> str:
    """What mutmut prints for a command."""
    return subprocess.run([*MUTMUT, *words], cwd=COPY, check=True, capture_output=True, text=True).stdout


def copy_tree() -> None:
    """Begin anew with the files of this tree that git knows or would take."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    for file in listed.stdout.decode().splitlines():
        if (ROOT / file).is_file():
            (COPY / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, COPY / file)


def configure(only: list[str]) -> None:
    """Write mutmut's settings into the copy; only these files get mutants."""
    others = [path.name for path in COPY.iterdir() if path.name not in {*PACKAGES, "tests", "mutants"}]
    settings = {
        "source_paths": PACKAGES,
        "only_mutate": only,
        "do_not_mutate_patterns": NOT_MUTATED,
        "also_copy": others,
        "process_isolation": "forkserver",  # deltalake and torch do not live through a fork of what has run tests
        "pytest_add_cli_args_test_selection": TESTS,
        "pytest_add_cli_args": ["-m", "not integration and not slow"],
        "timeout_multiplier": 10.0,
        "timeout_constant": 30.0,
    }
    kept = (ROOT / "pyproject.toml").read_text("utf-8")
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    (COPY / "pyproject.toml").write_text("\n".join([kept, "[tool.mutmut]", *lines, ""]), "utf-8")


def drawn(count: int, chance: random.Random) -> list[tuple[str, str]]:
    """Files and names of mutants: as many of each folder, or one more."""
    configure(only=[f"{folder}/*" for folder in FOLDERS])
    os.chdir(COPY)  # where mutmut looks for its settings
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    sample: list[tuple[str, str]] = []
    for number, folder in enumerate(FOLDERS):
        mutants = [
            (str(path), get_mutant_name(path, name))
            for path in sorted(Path(folder).rglob("*.py"))
            for name in mutate_file_contents(str(path), path.read_text("utf-8")).mutant_names
        ]
        sample += chance.sample(mutants, (count + number) // len(FOLDERS))
    return sample


if __name__ == "__main__":
    main()
