"""How fast the collector is, as a ratio to the least that any reader of these lines must do.

    python -m benchmarks.collector [--bytes 256MiB]

Three steps over the same generated files, each in a process of its own, one after the other:
`limit` unpacks nothing, cuts lines and decodes each line's outer JSON with orjson; `parse` makes rows in memory;
`collect` is the command `dialwatch collect files`: parse, and write the tables.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

_LIMIT = """
import sys, orjson
from collector.sources.lines import read_lines
for path in sys.argv[1:]:
    with open(path, "rb") as stream:
        for line in read_lines(stream):
            try:
                orjson.loads(line.raw)
            except orjson.JSONDecodeError:
                pass
"""
_PARSE = """
import sys
from collector.parsing import parse_entry, split_entries
from collector.sources.lines import read_lines
for path in sys.argv[1:]:
    with open(path, "rb") as stream:
        for line in read_lines(stream):
            for entry in split_entries(line.raw):
                parse_entry(entry)
"""


def main() -> None:
    """Make the files, run the steps, print a table."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("--bytes", default="256MiB")
    size = arguments.parse_args().bytes
    with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
        logs = Path(folder, "logs")
        write = [sys.executable, "-m", "benchmarks.write_dial_logs", "--out", str(logs), "--bytes", size]
        subprocess.run(write, check=True, stdout=subprocess.DEVNULL)
        files = sorted(str(path) for path in logs.glob("*.log"))
        megabytes = sum(Path(path).stat().st_size for path in files) / 1e6
        steps = {
            "limit": [sys.executable, "-c", _LIMIT, *files],
            "parse": [sys.executable, "-c", _PARSE, *files],
            "collect": [sys.executable, "-m", "dialwatch", "collect", "files", *files, "--lake", f"{folder}/lake"],
        }
        print(f"{megabytes:.0f} MB in {len(files)} files; {_machine()}")
        print(f"{'step':<8} {'seconds':>8} {'cpu s':>8} {'MB/s':>8} {'of limit':>9} {'peak MiB':>9}")
        limit = 0.0
        for name, command in steps.items():
            seconds, cpu, peak = _run(command)
            limit = limit or megabytes / seconds
            speed = megabytes / seconds
            print(f"{name:<8} {seconds:8.2f} {cpu:8.2f} {speed:8.0f} {speed / limit:9.2f} {peak / 1024:9.0f}")


def _run(command: list[str]) -> tuple[float, float, int]:
    """Wall seconds, processor seconds and peak kilobytes of a process."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:4]} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("deltalake", "orjson", "pyarrow"))
    return f"Python {platform.python_version()}, {versions}, {os.cpu_count()} cores, {platform.machine()}"


if __name__ == "__main__":
    main()
