"""`dialwatch label`: a label of an answer, from the terminal."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.commands import dialwatch

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "lake"))
    for name in ("rag", "gpt"):
        row = {"event_id": f"e-{name}", "response_id": "r", "response_ids": ["r"], "kind": "chat_completion"}
        row |= {"status": 200, "is_entry": True, "date": AT.date(), "requested_at": AT, "answer": "A."}
        lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows([row]))
    return lake


def labels_in(lake: Lake, deployment: str) -> list[dict[str, Any]]:
    return lake.table(USER_SIGNALS, deployment).read().to_pylist()


def test_a_label_is_written_and_shown(lake: Lake) -> None:
    """With who says so and why; a later one of the same person counts instead."""
    where = ("--deployment", "rag", "--lake", lake.root)
    done = dialwatch("label", "r", "--wrong", "--comment", "Not in the handbook.", "--by", "ann", *where)
    assert (done.returncode, done.stdout) == (0, "labelled wrong: the answer r of rag\n")
    (row,) = labels_in(lake, "rag")
    assert (row["signal"], row["origin"], row["value"], row["user_id"]) == ("wrong", "label", -1.0, "ann")
    assert json.loads(row["details"]) == {"event_id": "e-rag", "comment": "Not in the handbook."}
    shown = dialwatch("show", "r", *where).stdout
    assert "label:         wrong" in shown
    assert "wrong (-1), label, ann" in shown
    assert "Not in the handbook." in shown
    assert dialwatch("label", "r", "--right", "--by", "ann", *where).returncode == 0
    assert json.loads(dialwatch("show", "r", "--json", *where).stdout)["label"] == "right"
    assert labels_in(lake, "gpt") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["r"], "say what the answer is: --right or --wrong"),
        (["r", "--right"], "several answers have this id"),
        (["absent", "--right"], "no answer has the id 'absent'"),
        (["r", "--right", "--deployment", "rag", "--by", " "], "it is empty: give a name"),
        (["r", "--right", "--deployment", "rag", "--comment", "\x1b"], "control character"),
        (["r", "--right", "--deployment", "rag", "--comment", "x" * 10_001], "more than 10,000 characters"),
    ],
)
def test_what_cannot_be_labelled_is_an_error(lake: Lake, arguments: list[str], message: str) -> None:
    """The message says what to give, and nothing is written."""
    done = dialwatch("label", *arguments, "--lake", lake.root)
    assert done.returncode == 2
    assert message in done.stdout + done.stderr
    assert labels_in(lake, "rag") == labels_in(lake, "gpt") == []


def test_an_id_of_answers_of_any_age_names_none(lake: Lake) -> None:
    """An alert may be about the older one: nothing is labelled. Of many answers twenty are listed."""
    now = datetime.now(UTC)
    seen = {"is_entry": True, "date": now.date(), "requested_at": now}
    rows = [seen | {"event_id": f"e-{number}", "response_id": "chat"} for number in range(25)]
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))
    old = now - timedelta(days=90)
    twice = [{"event_id": "g-new"}, {"event_id": "g-old", "date": old.date(), "requested_at": old}]
    rows = [seen | {"response_id": "twice"} | one for one in twice]
    lake.table(PARSED_LOGS, "gpt").append(PARSED_LOGS.rows(rows))
    done = dialwatch("label", "twice", "--right", "--by", "ann", "--lake", lake.root)
    assert (done.returncode, "several answers have this id" in done.stderr) == (2, True)
    assert done.stdout.count("g-") == 2
    many = dialwatch("label", "chat", "--right", "--by", "ann", "--lake", lake.root).stdout
    assert (many.count("e-"), "... and 5 more" in many) == (20, True)
    assert labels_in(lake, "rag") == labels_in(lake, "gpt") == []
