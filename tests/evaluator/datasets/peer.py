"""Tables that aidial-rag-eval 0.7.0 wrote, and the package itself where there is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.other_python import run_other_python

TABLES: dict[str, Any] = json.loads((Path(__file__).parent / "peer_tables.json").read_text("utf-8"))
# Threads of the package's libraries abort the end of Python now and then, when all is done.
_END = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"
COLUMNS = ("facts_ranks", "context_relevance", "context_highlight", "recall", "precision", "mrr", "f1")


def stored(name: str, folder: Path) -> str:
    """Write one of the stored tables, and give its path."""
    path = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(TABLES[name]), path)
    return str(path)


def with_peer(program: str, *arguments: str) -> str:
    """Run Python that imports aidial_rag_eval in the environment of `make readers`, and give what it prints."""
    return run_other_python("readers", ["-c", program + _END, *arguments])
