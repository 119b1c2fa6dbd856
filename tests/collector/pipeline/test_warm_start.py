from __future__ import annotations

import json
from pathlib import Path

from collector import Collector, CollectorSettings, ImplicitSignals
from collector.commit.position import Partition, Piece
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake
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
