from __future__ import annotations

import io
import json
import logging
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.commit.position import Partition, Piece
from collector.parsing import core_lines, parse_line
from collector.pipeline.collector import Collector
from collector.redaction import PATTERN_NAMES, RedactionSettings, Redactor
from collector.settings import CollectorSettings
from lake.tables.lake import Lake
from tests.collector.redaction.planting import OWN, planted_lines

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FILE = Partition("file", "/logs/a.log", "a")
REDACTION = RedactionSettings(patterns=list(PATTERN_NAMES), own=OWN, key="a key of the tests")
REDACTOR = Redactor(REDACTION)


def readings(text: str) -> list[str]:
    """A text as it is, with all escapes undone, and with what the chunks of a stream say together."""
    plain = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text.replace("\0", ""))
    plain = re.sub(r"\\+", "", plain)
    return [text, plain, unquote(plain), "".join(re.findall(r'"content":\s*"([^"]*)"', plain))]


def survives(secret: str, text: str) -> bool:
    return any(secret in reading for reading in readings(text))


def everything_under(root: Path) -> str:
    """All that is written under a folder: names, logs, and each parquet file's columns, statistics and metadata."""
    found = []
    for path in root.rglob("*"):
        found.append(str(path))
        if path.suffix == ".parquet":
            table = pq.read_table(path, partitioning=None)
            found += [str(table.to_pylist()), str(table.schema.metadata), str(pq.read_metadata(path).to_dict())]
            found += [raw.decode("utf-8", "surrogateescape") for raw in _bytes_of(table)]
        if path.is_file():
            found.append(path.read_bytes().decode("latin-1"))
    return "\n".join(found)


def _bytes_of(table: pa.Table) -> list[bytes]:
    return [raw for name in table.column_names if name == "raw" for raw in table[name].to_pylist()]


@given(planted_lines())
@settings(max_examples=150)
def test_no_planted_secret_is_left_in_a_record(planted: tuple[str, bytes]) -> None:
    """Whatever the kind, the place, the escapes and the damage: no record that a line becomes holds the secret."""
    secret, line = planted
    for entry in core_lines(line):
        record = REDACTOR.redact(parse_line(entry))
        for name in record.__struct_fields__:
            value = getattr(record, name)
            text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
            assert not survives(secret, text), (name, text)


@pytest.mark.slow
@given(st.lists(planted_lines(), min_size=10, max_size=30), st.booleans())
@settings(max_examples=8)
def test_no_planted_secret_is_left_under_the_root(planted: list[tuple[str, bytes]], keep: bool) -> None:
    """Tables, statistics, transaction logs, the rejected lines and the log output: no byte of a secret is in them."""
    with tempfile.TemporaryDirectory() as folder:
        output = io.StringIO()
        handler = logging.StreamHandler(output)
        logging.getLogger().addHandler(handler)
        try:
            options = CollectorSettings(keep_raw_response=keep, redaction=REDACTION)
            collector = Collector(Lake(folder), options, lambda: NOW)
            for offset, (_, line) in enumerate(planted, 1):
                collector.add(Piece(FILE, line, offset))
            counts = collector.flush()
        finally:
            logging.getLogger().removeHandler(handler)
        assert counts.add_up()
        assert counts.stored + counts.signals + counts.rejected > 0
        written = everything_under(Path(folder)) + output.getvalue()
        for secret, line in planted:
            assert not survives(secret, written), line


def test_the_search_for_survivors_finds_them(tmp_path: Path) -> None:
    """Without redaction the same search finds a secret that is planted, also one in chunks and in `_rejected`."""
    from tests.collector.lines import chat_line
    from tests.collector.redaction.planting import stream_of

    collector = Collector(Lake(str(tmp_path)), CollectorSettings(), lambda: NOW)
    line = json.loads(chat_line(1, user={"id": "john@example.org", "title": ""}, assembled_response=""))
    line["response"]["body"] = stream_of(["jane@exa", "mple.org"], ended=False)
    collector.add(Piece(FILE, json.dumps(line).encode(), 1))
    collector.add(Piece(FILE, b"no json of jo\\u0065@example.org", 2))
    collector.flush()
    written = everything_under(tmp_path)
    for secret in ("john@example.org", "jane@example.org", "joe@example.org"):
        assert survives(secret, written)


@pytest.mark.parametrize("pattern", PATTERN_NAMES)
def test_nothing_is_taken_out_by_default(pattern: str) -> None:
    """Redaction is off unless patterns are named: the very same record comes back."""
    record = parse_line(json.dumps({"note": f"john@example.org {pattern}"}).encode())
    assert Redactor(RedactionSettings()).redact(record) is record
