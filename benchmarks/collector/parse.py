"""Benchmark of parsing lines into rows, beside a C++ program that reads the same lines with simdjson.

    python -m benchmarks.collector.parse [--bytes 128MiB]

Both hold the lines in memory and use one core; each figure is that of the fastest pass in processor seconds. The peer
(`parse_peer.cpp`) unescapes all bodies and reads the question, the answer and the ids. The rows here also have hashes
of the conversation, the ids of all chunks of a stream, contexts, documents, errors, and the JSON of what has no column.
Rows are made without and with the raw response. The steps below them show where a pass spends its time: decoding the
lines, reading the requests, the answers and their contexts, and the rest. MB/s are always those of the lines, but for
orjson's figures, which are for scale: what it takes to decode the lines, and the bodies' own bytes.
Needs g++ and simdjson (Debian: `apt-get install g++ libsimdjson-dev`).
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import orjson

from collector.parsing import LogRecord, parse_piece
from collector.parsing.answer.answer import read_answer_of
from collector.parsing.contexts import read_contexts
from collector.parsing.line.fast_path import read_usual_call
from collector.parsing.request.request import read_request
from lake.spec.vocabulary import Kind

_PEER = Path(__file__).with_name("parse_peer.cpp")
_PASSES = 5
_Piece = TypeVar("_Piece")


def main() -> None:
    """Make the lines, run both programs and the steps, print a table."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("--bytes", default="128MiB")
    size = arguments.parse_args().bytes
    with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
        peer = _build(Path(folder, "peer"))
        write = [sys.executable, "-m", "benchmarks.collector.write_dial_logs", "--out", folder, "--bytes", size]
        subprocess.run(write, check=True, stdout=subprocess.DEVNULL)
        files = sorted(str(path) for path in Path(folder).glob("*.log"))
        lines = [line for path in files for line in Path(path).read_bytes().split(b"\n") if line]
        # In turns, so that another load on the machine favours none of them.
        rounds = [
            (_peer_seconds(peer, files), _seconds(lines, parse_piece), _seconds(lines, _parse_and_keep))
            for _ in range(_PASSES)
        ]
        peer_seconds, without, kept = map(min, zip(*rounds, strict=True))
    megabytes = sum(map(len, lines)) / 1e6
    bodies = _bodies(lines)
    body_megabytes = sum(map(len, bodies)) / 1e6
    rows = [
        ("C++ simdjson", megabytes, peer_seconds),
        ("parse", megabytes, without),
        ("parse, raw kept", megabytes, kept),
        *((f"  {name}", megabytes, seconds) for name, seconds in _steps(lines).items()),
        ("lines by orjson", megabytes, _best(lines, _decode)),
        ("bodies by orjson", body_megabytes, _best(bodies, _decode)),
    ]
    print(f"{megabytes:.0f} MB, {len(lines)} lines, {megabytes * 1e3 / len(lines):.0f} KB a line; {_versions()}")
    print(f"{'step':<18} {'cpu s':>8} {'MB':>6} {'MB/s':>8} {'of C++':>8}")
    for name, read, seconds in rows:
        ratio = read / seconds * peer_seconds / megabytes
        print(f"{name:<18} {seconds:8.3f} {read:6.0f} {read / seconds:8.0f} {ratio:8.2f}")


def _steps(lines: Sequence[bytes]) -> dict[str, float]:
    """Seconds of the steps of `parse_piece`, each by itself over all lines that it is for."""
    usual = [line for line in lines if read_usual_call(line) is not None]
    odd = [line for line in lines if read_usual_call(line) is None]
    calls = [call for line in usual if (call := read_usual_call(line)) and call.kind == Kind.CHAT_COMPLETION]
    answers = [read_answer_of(call) for call in calls]
    steps = {
        "lines by type": _best(usual, read_usual_call),
        "requests": _best([call.request_body for call in calls], read_request),
        "answers": _best(calls, read_answer_of),
        "contexts": _best([answer.custom_content for answer in answers], lambda content: read_contexts(content, ())),
        "odd lines": _best(odd, parse_piece),
    }
    return steps | {"rest": _best(lines, parse_piece) - sum(steps.values())}


def _build(program: Path) -> Path:
    if shutil.which("g++") is None:
        raise SystemExit("g++ is missing: install it (Debian: apt-get install g++ libsimdjson-dev)")
    command = ["g++", "-O3", "-march=native", "-std=c++17", str(_PEER), "-lsimdjson", "-o", str(program)]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    if built.returncode:
        raise SystemExit(
            f"the peer cannot be built; is simdjson there (Debian: apt-get install libsimdjson-dev)?\n{built.stderr}"
        )
    return program


def _peer_seconds(peer: Path, files: Sequence[str]) -> float:
    return float(subprocess.run([str(peer), *files], check=True, capture_output=True, text=True).stdout.split()[3])


def _bodies(lines: Sequence[bytes]) -> list[bytes]:
    """Requests and answers of all chats: the JSON inside the lines that a row needs."""
    records = [record for line in lines for record in parse_piece(line)]
    chats = [record for record in records if isinstance(record, LogRecord) and record.kind == Kind.CHAT_COMPLETION]
    texts = [text for chat in chats for text in (chat.request_body, chat.assembled_response) if text]
    return [text.encode() for text in texts]


def _decode(text: bytes) -> None:
    with contextlib.suppress(orjson.JSONDecodeError):
        orjson.loads(text)


def _parse_and_keep(line: bytes) -> None:
    parse_piece(line, keep_raw_response=True)


def _best(pieces: Sequence[_Piece], read: Callable[[_Piece], object]) -> float:
    """Processor seconds of the fastest of five passes."""
    return min(_seconds(pieces, read) for _ in range(_PASSES))


def _seconds(pieces: Sequence[_Piece], read: Callable[[_Piece], object]) -> float:
    began = time.process_time()
    for piece in pieces:
        read(piece)
    return time.process_time() - began


def _versions() -> str:
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Python {python}, orjson {orjson.__version__}, msgspec {msgspec.__version__}"


if __name__ == "__main__":
    main()
