"""Tables that aidial-rag-eval 0.7.0 wrote, and the package itself where there is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TABLES: dict[str, Any] = json.loads((Path(__file__).parent / "peer_tables.json").read_text("utf-8"))
ENVIRONMENT = Path(__file__).parents[3] / ".venv-aidial" / "bin" / "python"
# Threads of the package's libraries abort the end of Python now and then, when all is done.
_END = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"
COLUMNS = ("facts_ranks", "context_relevance", "context_highlight", "recall", "precision", "mrr", "f1")


def stored(name: str, folder: Path) -> str:
    """Write one of the stored tables, and give its path."""
    path = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(TABLES[name]), path)
    return str(path)


def with_peer(program: str, *arguments: str) -> str:
    """Run Python that imports aidial_rag_eval, and give what it prints; in CI there must be one.

    `make aidial` makes it; DIALWATCH_AIDIAL_PYTHON names another one.
    """
    python = os.environ.get("DIALWATCH_AIDIAL_PYTHON", str(ENVIRONMENT))
    if shutil.which(python) is None:
        message = "there is no Python with aidial-rag-eval: THIS TEST DID NOT RUN; `make aidial` makes one"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, "-c", program + _END, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
