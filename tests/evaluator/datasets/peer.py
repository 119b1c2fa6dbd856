"""Tables that aidial-rag-eval 0.7.0 wrote, and the package itself where there is one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TABLES: dict[str, Any] = json.loads((Path(__file__).parent / "peer_tables.json").read_text("utf-8"))
COLUMNS = ("facts_ranks", "context_relevance", "context_highlight", "recall", "precision", "mrr", "f1")


def stored(name: str, folder: Path) -> str:
    """Write one of the stored tables, and give its path."""
    path = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(TABLES[name]), path)
    return str(path)


def with_peer(program: str, *arguments: str) -> str:
    """Run Python that imports aidial_rag_eval, and give what it prints; skip the test where the package is not.

    DIALWATCH_AIDIAL_PYTHON names an interpreter that has it. Without a spaCy model of the name en_core_web_sm it
    cannot be imported.
    """
    python = os.environ.get("DIALWATCH_AIDIAL_PYTHON", sys.executable)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if subprocess.run([python, "-c", "import aidial_rag_eval"], capture_output=True, env=environment).returncode:
        pytest.skip("aidial_rag_eval cannot be imported: THIS TEST DID NOT RUN")
    command = [python, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
