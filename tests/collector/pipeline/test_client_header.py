"""The header by which clients say who they are, from the line to the tables."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from pydantic import ValidationError

from collector.commit.position import Partition, Piece
from collector.parsing import LogRecord, SignalRecord, parse, parse_line, parse_piece
from collector.parsing.line.fast_path import read_usual_call
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.collector.parsing.core_lines import core_line, rating_line

FILE = Partition("file", "/var/log/dial/x.log", "1")
NAME = "X-Client"


def read(headers: Any, header: str | None = NAME) -> tuple[str | None, Any]:
    """The client, and the headers that stay in `extra`, by both readers of lines; the line is one that is read by
    type.
    """
    line = core_line({"headers": headers})
    assert read_usual_call(line) is not None
    found = [parse_line(line, client_header=header), *parse_piece(line, client_header=header)]
    with patch.object(parse, "read_usual_call", return_value=None):
        found += [parse_line(line, client_header=header), *parse_piece(line, client_header=header)]
    rows = [row for row in found if isinstance(row, LogRecord)]
    assert len(rows) == 4
    seen = [(row.client, orjson.loads(row.extra or "{}").get("headers")) for row in rows]
    assert seen == seen[:1] * 4
    return seen[0]


@pytest.mark.parametrize(
    ("headers", "client", "left"),
    [
        ({"X-Client": "teams-bot", "Accept": "*"}, "teams-bot", {"Accept": "*"}),
        ({"x-client": "teams-bot"}, "teams-bot", None),
        ({"X-Client": "a, b"}, "a, b", None),
        ({"X-Client-2": "teams-bot"}, None, {"X-Client-2": "teams-bot"}),
        ({"X-Client": "", "x-client": "web"}, "web", {"X-Client": ""}),
        ({"X-Client": 7}, None, {"X-Client": 7}),
        ({"X-Client": None}, None, {"X-Client": None}),
        ({}, None, None),
        ("X-Client: teams-bot", None, "X-Client: teams-bot"),
        (["X-Client"], None, ["X-Client"]),
    ],
)
def test_the_value_of_the_header_is_the_client_and_all_others_stay(headers: Any, client: str | None, left: Any) -> None:
    """In upper or lower case; what is no text stays where it is."""
    assert read(headers) == (client, left)


def test_without_the_setting_headers_stay_as_they_are() -> None:
    assert read({NAME: "teams-bot"}, None) == (None, {NAME: "teams-bot"})


def test_the_client_of_a_piece_with_several_lines_is_that_of_each() -> None:
    """And a rating has none: its headers stay in its details."""
    spans = ("a000000000000001", "a000000000000002")
    lines = [core_line({"trace.core_span_id": span, "headers": {NAME: span[-1]}}) for span in spans]
    *rows, rating = parse_piece(
        b"\n".join([*lines, rating_line({"rate": True}, {"headers": {NAME: "web"}})]), client_header=NAME
    )
    assert [row.client for row in rows if isinstance(row, LogRecord)] == ["1", "2"]
    assert isinstance(rating, SignalRecord)
    assert orjson.loads(rating.details or "")["log"]["headers"] == {NAME: "web"}


def test_the_client_stands_in_the_table_and_is_redacted_as_other_ids(tmp_path: Path) -> None:
    """Two clients stay two; one that no pattern finds stays as it is."""
    redaction = {"own": {"fruit": "plum|fig"}, "key": "a key of sixteen letters"}
    settings = CollectorSettings.model_validate({"client_header": "x-client", "redaction": redaction})
    lake = Lake(str(tmp_path / "lake"))
    collector = Collector(lake, settings)
    for number, name in enumerate(("plum", "fig", "plum", "web"), 1):
        line = core_line({"trace.core_span_id": f"{number:016x}", "headers": {NAME: name}})
        collector.add(Piece(FILE, line, number))
    collector.add(Piece(FILE, rating_line({"rate": True}), 9))
    collector.flush()
    rows = lake.table(PARSED_LOGS, "rag-app").read(["span_id", "client", "extra"]).sort_by("span_id").to_pylist()
    plum, fig, again, web = (row["client"] for row in rows)
    assert (plum, web) == (again, "web")
    assert len({plum, fig, web}) == 3
    assert not [row for row in rows if "plum" in str(row) or "fig" in str(row)]
    assert lake.table(USER_SIGNALS, "rag-app").read(["signal"]).num_rows == 1


@pytest.mark.parametrize("name", ["", "X Client", "X-Client:", "x" * 101, "X-Cliënt", "X-Client\n"])
def test_a_name_that_no_header_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="is no name of an HTTP header, such as X-Client"):
        CollectorSettings.model_validate({"client_header": name})
