from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from collector.commit.committed_offsets import CommittedOffsets
from collector.commit.position import Partition, Piece
from collector.pipeline import warm_start
from collector.pipeline.collector import Collector
from collector.pipeline.readable_rows import read_readable
from collector.settings import CollectorSettings
from collector.signals import ImplicitSignals
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.collector.lines import chat_line

FILE = Partition("file", "/logs/a.log", "a")
NAME = "a\0b"


def asked_again(number: int, second: int) -> bytes:
    """The same question in the same chat."""
    line = json.loads(chat_line(number, deployment=NAME, execution_path=[NAME], chat={"id": "c"}))
    uri = "/openai/deployments/a%00b/chat/completions"
    line["request"] |= {"uri": uri, "time": f"2026-11-20T10:00:{second}"}
    line["request"]["body"] = json.dumps({"messages": [{"role": "user", "content": "q"}]})
    return json.dumps(line).encode()


def test_a_deployment_may_be_called_anything(tmp_path: Path) -> None:
    """A collector starts where a signal that was derived for a name with a NUL stands in the lake, and knows it."""
    lake = Lake(str(tmp_path))
    first = Collector(lake, CollectorSettings())
    lines = [asked_again(1, 10), asked_again(2, 40)]
    for number, line in enumerate(lines, 1):
        first.add(Piece(FILE, line, number, number - 1))
    first.flush()
    assert ImplicitSignals(lake, CollectorSettings().signals).run_once().signals == {"regenerate": 1}
    assert lake.table(USER_SIGNALS, NAME).read(["source"])["source"][0].as_py()["partition"] == NAME
    second = Collector(lake, CollectorSettings())
    second.add(Piece(FILE, lines[0], 3, 2))
    assert second.flush().duplicates == 1


def mcp_line(number: int) -> bytes:
    """A call of a tool of 100 characters."""
    body = '{"method": "tools/call", "params": {"name": "get", "arguments": {}}}'.ljust(100)
    trace = {"trace_id": "1".zfill(32), "core_span_id": f"{number:016x}", "core_parent_span_id": "1".zfill(16)}
    line = json.loads(chat_line(number, deployment=f"orders{number % 2}", trace=trace))
    line["request"] |= {"uri": f"/v1/toolset/orders{number % 2}/mcp", "body": body}
    return json.dumps(line).encode()


def test_requests_are_read_a_few_at_a_time_the_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large those of thousands of tools are together, a start takes a bounded amount of them."""
    lake, settings = Lake(str(tmp_path)), CollectorSettings()
    collector = Collector(lake, settings)
    for number in range(2, 9):
        collector.add(Piece(FILE, mcp_line(number), number, number - 1 if number > 2 else None))
        collector.flush()
    taken: list[int] = []
    read = Table.read

    def counted(table: Table, columns: Sequence[str], where: ds.Expression) -> pa.Table:
        rows = read(table, columns, where)
        taken.append(rows.num_rows if "request_body" in columns else 0)
        return rows

    monkeypatch.setattr(Table, "read", counted)
    monkeypatch.setattr(warm_start, "_REQUESTS_AT_ONCE", 2)
    monkeypatch.setattr(warm_start, "_MOST_REQUEST_BYTES", 301)
    since = datetime.now(UTC) - timedelta(hours=1)
    found = warm_start.recent_tool_children(lake, CommittedOffsets(lake), since)
    assert [row["request_body"] is not None for row in found] == [False] * 3 + [True] * 4
    assert max(taken) <= 2


@pytest.mark.parametrize("damage", ["gone", "empty", "cut"])
def test_a_damaged_file_of_one_table_stops_no_collector(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a loss of power: rows of other files are known, lines are stored, and the log names the file."""
    lake = Lake(str(tmp_path))
    first = Collector(lake, CollectorSettings())
    for number in (1, 2):
        first.add(Piece(FILE, chat_line(number), number, number - 1))
        first.flush()
    table = tmp_path / "rag-app" / "parsed_logs"
    file = min(table.rglob("*.parquet"), key=lambda one: one.stat().st_mtime_ns)
    whole = file.read_bytes()
    file.unlink()
    if damage != "gone":
        file.write_bytes(b"" if damage == "empty" else whole[:-9])
    second = Collector(lake, CollectorSettings())
    for number, line in enumerate((chat_line(2), chat_line(3), chat_line(4, deployment="other")), 3):
        second.add(Piece(FILE, line, number, number - 1))
    counts = second.flush()
    assert (counts.stored, counts.duplicates) == (2, 1)
    assert f"a file of the table {table} is damaged or gone: bring" in caplog.text
    assert file.name in caplog.text


def test_a_file_that_is_replaced_meanwhile_is_not_missed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As by compaction or an erasure: the rows are in another file then."""
    lake = Lake(str(tmp_path))
    first = Collector(lake, CollectorSettings())
    first.add(Piece(FILE, chat_line(1), 1, 0))
    first.flush()
    reads: list[ds.Dataset] = []

    def read(dataset: ds.Dataset) -> int:
        reads.append(dataset)
        if len(reads) == 1:
            raise FileNotFoundError
        return int(dataset.count_rows())

    assert read_readable(lake.table(PARSED_LOGS, "rag-app"), read) == 1
    assert "damaged" not in caplog.text
