"""Benchmark of parsing lines, of this tree beside an earlier commit of it.

    python -m benchmarks.collector.compare_commits [--before fee64d8c^] [--lines 600]

Both trees parse the same generated lines, none of which has calls of tools. Counted are the processor's instructions,
by callgrind: unlike seconds they hardly differ from run to run, however busy the machine is. What a process executes
without any line is taken off. The commit that is the default is the last one whose rows have no calls of tools.
Needs git and valgrind (Debian: `apt-get install valgrind`).
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.collector.gen_dial_logs import lines

_PARSE = """
import gc, sys
from collector.parsing import parse_piece
gc.disable()
for line in open(sys.argv[1], "rb").read().split(b"\\n"):
    list(parse_piece(line)) if line else None
"""


def main() -> None:
    """Print the instructions a line of both trees, and their ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--before", default="fee64d8c^")
    parser.add_argument("--lines", type=int, default=600)
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is missing: install it (Debian: apt-get install valgrind)")
    here = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
        log, none, before = Path(folder, "lines"), Path(folder, "none"), Path(folder, "before")
        none.write_bytes(b"")
        log.write_bytes(_generated(arguments.lines))
        subprocess.run(
            ["git", "-C", here, "worktree", "add", "--quiet", "--detach", before, arguments.before], check=True
        )
        try:
            earlier, now = (_instructions(tree, log) - _instructions(tree, none) for tree in (before, here))
        finally:
            subprocess.run(["git", "-C", here, "worktree", "remove", "--force", before], check=True)
    print(f"{arguments.lines} lines of {arguments.before} and of this tree; Python {platform.python_version()}")
    print(f"{'before':<8} {earlier / arguments.lines:12,.0f} instructions a line")
    print(f"{'now':<8} {now / arguments.lines:12,.0f} instructions a line, {now / earlier:.3f} of before")


def _generated(count: int) -> bytes:
    made = lines(1, "2026-10-01", 0)
    return b"\n".join(itertools.islice((line for line, _ in made), count))


def _instructions(tree: Path, log: Path) -> int:
    """Instructions of a process that parses all lines of a file with the code of a tree."""
    parse = [sys.executable, "-P", "-c", _PARSE, log]
    # Hashes of strings, and so the order of sets, are the same in all runs.
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
    # The first run compiles the tree.
    subprocess.run(parse, check=True, env=environment, cwd="/")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *parse]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd="/")
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(f"valgrind counted nothing:\n{done.stderr}")
    return int(found[1])


if __name__ == "__main__":
    main()
