"""A worker's whole life: read a share of the files, end when asked to or when the parent is gone, tell the counts.

`python -m collector.runners.worker` reads a pickled `Share` from its standard input, whose end is that of the parent,
and writes what `collect_share` gives as JSON to its standard output.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import sys
import threading
from dataclasses import asdict


class _WithoutPandas:
    """pyarrow imports pandas as soon as it meets a list: 50 MiB and a third of a second; here nothing needs it."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("a worker does without pandas", name=name)


def main() -> None:
    """Run the worker. SIGTERM, and the end of the parent, make it commit what it has and end."""
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    # Ctrl+C reaches all of a terminal's processes; the parent passes it on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as result:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        result.write(_work(asked))


def _work(asked: threading.Event) -> bytes:
    sys.meta_path.insert(0, _WithoutPandas())
    from collector.runners.share import Share, collect_share

    share = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
    if not isinstance(share, Share):
        raise TypeError(f"a worker needs a Share, not {type(share).__name__}")
    logging.basicConfig(level=share.log_level, stream=sys.stderr)
    threading.Thread(target=_wait_for_parent, args=(asked,), daemon=True).start()
    return json.dumps(asdict(collect_share(share, asked.is_set))).encode()


def _wait_for_parent(asked: threading.Event) -> None:
    # Not through sys.stdin: its lock, held here, would abort the interpreter at its end.
    while os.read(0, 1):
        pass
    asked.set()


if __name__ == "__main__":
    main()
