"""Rows of a person with words that a test finds again, and readers of what is left of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lake.erasure.erasure import Receipt
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake

NOW = datetime.now(UTC)
QUESTION = "How do I hide my PLANTEDQUESTION from the others?"
ANSWER = 'You say "PLANTEDANSWER" three times, and then nobody sees it: é.'
PLANTED = ("PLANTEDQUESTION", "PLANTEDANSWER", "PLANTEDCOMMENT", "PLANTEDCLAIM", "planted-user", "planted-chat")


def put(lake: Lake, spec: TableSpec, *rows: dict[str, Any], deployment: str | None = "rag-app") -> None:
    fixed: dict[str, Any] = {"deployment": deployment, "date": NOW.date(), "requested_at": NOW, "ingested_at": NOW}
    known = {name: value for name, value in fixed.items() if name in spec.schema.names}
    lake.table(spec, deployment).append(spec.rows([known | row for row in rows]))


def call(event_id: str, **columns: Any) -> dict[str, Any]:
    return {"event_id": event_id, "response_id": f"r-{event_id}", "response_ids": [f"r-{event_id}"]} | columns


def history(*texts: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": text} for text in texts]}, ensure_ascii=False)


def everywhere(root: str) -> bytes:
    """All that stands under the root: the files as they are, and the cells of the parquet files, which are packed."""
    found = []
    for path in Path(root).rglob("*"):
        if path.is_file():
            found.append(str(path).encode() + path.read_bytes())
            if path.suffix == ".parquet":
                found.append(repr(pq.read_table(path).to_pylist()).encode())
    return b"\n".join(found)


def numbers(receipt: Receipt) -> dict[str, tuple[int, int]]:
    return {one.table: (one.erased, one.changed) for one in receipt.tables if one.erased or one.changed}
