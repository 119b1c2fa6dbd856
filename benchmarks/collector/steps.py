"""Benchmark of the collector, step by step, and of the incumbent `aidial-log-parser` in the same run.

    python -m benchmarks.collector.steps [--bytes 256MiB] [--incumbent PYTHON FOLDER]

Over the same generated files, each step in processes of its own, one step after the other: `limit` only cuts lines and
decodes each line's outer JSON with orjson; `parse` makes rows in memory; `write` puts such rows into parquet files as
the lake does; `collect` is all of it, in one process and in two, from gzip and from plain files, with and without the
raw response. FOLDER holds the incumbent's `parse_logs.py` (`src/aidial_log_parser`), PYTHON has what it needs (pyarrow
20, fsspec, click). The corpus has no malformed and no secured lines, which the incumbent cannot read. A figure is the
best of `--runs`; memory is the most that the processes of a step took together at any time, looked at ten times a
second; what they share counts once (proportional set size).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.collector.gen_dial_logs import lines
from benchmarks.collector.write_dial_logs import parse_size

_DATE = "2026-10-01"
_SEED = 1
_FILES = 4

_LIMIT = """
import sys, orjson
from collector.sources.lines import read_lines
for path in sys.argv[1:]:
    with open(path, "rb") as stream:
        for line in read_lines(stream):
            orjson.loads(line.raw)
"""
_PARSE = """
import sys
from collector.parsing import parse_piece
from collector.sources.lines import read_lines
for path in sys.argv[1:]:
    with open(path, "rb") as stream:
        for line in read_lines(stream):
            parse_piece(line.raw, True)
"""
_WRITE = """
import sys, time, resource
from datetime import UTC, datetime
import msgspec
from collector.commit.batch import Batch
from collector.parsing import LogRecord, parse_piece
from collector.commit.position import Partition
from collector.commit.table_rows import RowPosition
from collector.sources.lines import read_lines
from lake import PARSED_LOGS, Lake
from lake.spec.vocabulary import SourceKind
now, lake = datetime.now(UTC), Lake(sys.argv[1])
position = RowPosition(Partition(SourceKind.FILE, "a", "a"), 1, None)
spent = 0.0
for path in sys.argv[2:]:
    batch = Batch(now)
    with open(path, "rb") as stream:
        records = [record for line in read_lines(stream) for record in parse_piece(line.raw, True)]
    began = time.process_time()
    for record in records:
        if isinstance(record, LogRecord):
            batch.put((PARSED_LOGS, record.deployment), position, msgspec.structs.astuple(record), 60_000, now)
    for key, rows in batch.rows.items():
        table = lake.table(*key)
        table.commit(rows.files(now).store(table))
    spent += time.process_time() - began
print(spent)
"""
_COLLECT = """
import sys
import dialwatch
from runtime.lean_process import leave_pandas_unloaded, tune_memory, use_one_blas_thread
use_one_blas_thread()
leave_pandas_unloaded()
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from collector.runners.workers import collect_with_workers
from lake import Lake, Storage
if __name__ == "__main__":
    root, workers, keep, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "keep", sys.argv[4:]
    lake, settings = Lake(root), CollectorSettings(keep_raw_response=keep)
    if workers > 1:
        collect_with_workers(lake, settings, paths, Storage(), workers)
    else:
        tune_memory()
        collector = Collector(lake, settings)
        FileSource(paths, Storage()).read_into(collector)
        collector.flush()
"""


@dataclass(frozen=True)
class Measured:
    """Wall and processor seconds, peak memory of all processes together in MiB, MB that were written."""

    wall: float
    cpu: float
    peak: float
    written: float = 0.0


def main() -> None:
    """Make the files, run the steps, print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--bytes", type=parse_size, default=256 << 20)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--incumbent", nargs=2, metavar=("PYTHON", "FOLDER"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as name:
        folder = Path(name)
        plain, packed, megabytes = _write_corpus(folder, arguments.bytes)
        bench = _Bench(folder, megabytes, arguments.runs)
        print(f"{megabytes:.0f} MB in {len(plain)} files; {_machine()}")
        print(
            f"{'step':<40} {'wall s':>7} {'cpu s':>7} {'MB/s':>6} {'MB/s core':>9} {'peak MiB':>9} {'on disk MB':>11}"
        )
        bench.python("limit: gunzip, cut, orjson", _LIMIT, packed)
        bench.python("parse: gzip to rows in memory", _PARSE, packed)
        bench.write("write: rows to parquet", plain)
        ours = {
            (kind, workers, keep): bench.collect(kind, files, workers, keep)
            for kind, files in (("gzip", packed), ("plain", plain))
            for workers in (1, 2)
            for keep in (True, False)
        }
        if arguments.incumbent:
            python, program = arguments.incumbent
            theirs = {kind: bench.incumbent(kind, python, Path(program)) for kind in ("gzip", "plain")}
            _print_ratios(ours, theirs)


def _print_ratios(ours: dict[tuple[str, int, bool], Measured], theirs: dict[str, Measured]) -> None:
    print("\nratios to the incumbent: processor seconds, wall seconds, memory")
    for (kind, workers, keep), figure in ours.items():
        peer = theirs[kind]
        name = f"{kind}, {workers} process{'es' if workers > 1 else ''}, {'raw kept' if keep else 'raw not kept'}"
        ratios = peer.cpu / figure.cpu, peer.wall / figure.wall, figure.peak / peer.peak
        print(f"  {name:<38} {ratios[0]:5.2f} x   {ratios[1]:5.2f} x   {ratios[2]:5.2f}")


class _Bench:
    def __init__(self, folder: Path, megabytes: float, runs: int) -> None:
        self._folder = folder
        self._megabytes = megabytes
        self._runs = runs

    def python(self, name: str, program: str, files: Sequence[str]) -> Measured:
        found = min((_run([sys.executable, "-c", program, *files]) for _ in range(self._runs)), key=lambda m: m.cpu)
        return self._print(name, found)

    def write(self, name: str, files: Sequence[str]) -> None:
        """Only the seconds of writing count, so the program itself prints them."""
        lake = self._fresh("lake")
        command = [sys.executable, "-c", _WRITE, str(lake), *files]
        spent = float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        print(f"{name:<40} {'':>7} {spent:7.2f} {'':>6} {self._megabytes / spent:9.0f} {'':>9} {_size(lake):11.1f}")

    def collect(self, kind: str, files: Sequence[str], workers: int, keep: bool) -> Measured:
        found = []
        program = self._folder / "collect.py"
        program.write_text(_COLLECT)
        for _ in range(self._runs):
            lake = self._fresh("lake")
            command = [sys.executable, str(program), str(lake), str(workers), "keep" if keep else "drop", *files]
            found.append(_run(command, lake))
        name = (
            f"collect: {kind}, {workers} process{'es' if workers > 1 else ''}, {'raw kept' if keep else 'raw not kept'}"
        )
        return self._print(name, min(found, key=lambda m: m.cpu))

    def incumbent(self, kind: str, python: str, program: Path) -> Measured:
        found = []
        for _ in range(self._runs):
            out = self._fresh("incumbent")
            out.mkdir()
            script = str((program / "parse_logs.py").resolve())
            command = [python, script, "-i", str(self._folder / kind), "-o", str(out), "-d", _DATE]
            # That is its default by its help, but the default does not reach the function that opens the files.
            command += ["--input-compression", "infer"]
            # pyarrow 20 may abort while its interpreter ends, when all is written.
            found.append(_run(command, out, endings=(0, -signal.SIGABRT), modules=program.resolve().parent))
        return self._print(f"incumbent: {kind}", min(found, key=lambda m: m.cpu))

    def _fresh(self, name: str) -> Path:
        shutil.rmtree(self._folder / name, ignore_errors=True)
        return self._folder / name

    def _print(self, name: str, found: Measured) -> Measured:
        speed, core = self._megabytes / found.wall, self._megabytes / found.cpu
        disk = f"{found.written:11.1f}" if found.written else ""
        print(
            f"{name:<40} {found.wall:7.2f} {found.cpu:7.2f} {speed:6.0f} {core:9.0f} {found.peak:9.0f} {disk}",
            flush=True,
        )
        return found


def _write_corpus(folder: Path, size: int) -> tuple[list[str], list[str], float]:
    """Write lines that the incumbent can read too, plain and gzip, under names that it expects."""
    made = lines(_SEED, _DATE, malformed=0.0)
    plain, packed, total = [], [], 0
    for kind in ("plain", "gzip"):
        (folder / kind).mkdir()
    for number in range(_FILES):
        name = f"date={_DATE}{1790812800 + number}-00000000-0000-4000-8000-{number:012}.log"
        plain.append(str(folder / "plain" / name))
        packed.append(str(folder / "gzip" / f"{name}.gz"))
        written = 0
        with Path(plain[-1]).open("wb") as file, gzip.open(packed[-1], "wb", compresslevel=6) as archive:
            while written < size // _FILES:
                raw, _ = next(made)
                if _is_secured(raw):
                    continue
                for out in (file, archive):
                    out.write(raw + b"\n")
                written += len(raw) + 1
        total += written
    return plain, packed, total / 1e6


def _is_secured(raw: bytes) -> bool:
    line = json.loads(raw)
    return not isinstance(line["request"].get("body"), str) or not isinstance(line.get("assembled_response"), str)


def _run(
    command: Iterable[str],
    out: Path | None = None,
    endings: Sequence[int] = (0,),
    modules: Path = Path(__file__).parents[2],
) -> Measured:
    """Run a program to its end, with one of these exit codes; its memory is that of all its processes together.

    Its modules are found below `modules`.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    peak = 0.0
    environment = os.environ | {"PYTHONPATH": str(modules)}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(list(command), stdout=subprocess.DEVNULL, stderr=errors, env=environment) as process,
    ):
        while process.poll() is None:
            peak = max(peak, sum(map(_memory, _family(process.pid))))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        if process.returncode not in endings:
            errors.seek(0)
            output = errors.read()[-2000:].decode(errors="replace")
            raise SystemExit(f"{list(command)[:4]} ended with {process.returncode}: {output}")
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(wall, cpu, peak, 0.0 if out is None else _size(out))


def _family(pid: int) -> list[int]:
    found = [pid]
    try:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += _family(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def _memory(pid: int) -> float:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in rollup.splitlines() if line.startswith("Pss:")), 0.0)


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet")) / 1e6


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("deltalake", "msgspec", "pyarrow"))
    return f"Python {platform.python_version()}, {versions}, {os.cpu_count()} cores, {platform.machine()}"


if __name__ == "__main__":
    main()
