"""Which answer a case of ground truth was made of, where several answers have the id that it names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.queries.frames import answers_frame
from lake.queries.ground_truth.case_sources import case_id_of, source_rows
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def row(event_id: str, response_id: str | None = "chat", minute: int = 0, **columns: Any) -> dict[str, Any]:
    at = NOON + timedelta(minutes=minute)
    fixed = {"event_id": event_id, "response_id": response_id, "requested_at": at, "date": at.date(), "status": 200}
    said = {"question": "Where?", "answer": f"Said to {event_id}.", "kind": "chat_completion", "is_entry": True}
    return fixed | said | {"chat_id": f"chat of {event_id}", "user_id": event_id} | columns


def case(source: str | None = "chat", **columns: Any) -> dict[str, Any]:
    fixed = {"case_id": "c", "deployment": "app", "source_response_id": source, "source_date": NOON.date()}
    return fixed | {"question": "Where?", "answer": "Said to ann."} | columns


def logs_of(root: Path, *rows: dict[str, Any]) -> Table:
    logs = Lake(str(root)).table(PARSED_LOGS, "app")
    logs.append(PARSED_LOGS.rows(list(rows)))
    return logs


@pytest.mark.parametrize(
    ("about", "source"),
    [
        (case(), "ann"),
        (case("bob"), "bob"),
        (case(case_id=case_id_of("app", "bob"), answer="In other words."), "bob"),
        (case(answer="Said to bob."), "bob"),
        (case(answer="In other words."), None),
        (case(answer="In other words.", question="Who?"), "eve"),
        (case(answer="In other words.", source_date=NOON.date() - timedelta(1)), "old"),
        (case("own", answer="In other words.", question="In others too?", source_date=None), "one"),
        (case("same"), None),
        (case("twice"), "first"),
        (case("gone"), None),
        (case(None), None),
    ],
)
def test_the_source_of_a_case(about: dict[str, Any], source: str | None, tmp_path: Path) -> None:
    """An event id, an id of one answer and the evaluator's id of a case name it; else the day, the answer and the
    question that the case has do, unless these are of several people. A line that came twice is one answer."""
    thinking = "<think>Who is it?</think>Said to ann."
    twice = {"response_id": "twice", "answer": "Said to ann.", "chat_id": "one", "user_id": "ann"}
    logs = logs_of(
        tmp_path,
        row("old", minute=-1440),
        row("ann", answer=thinking),
        row("bob"),
        row("eve", question="Who?"),
        row("one", "own"),
        *(row(name, "same", answer="Said to ann.") for name in ("x", "y")),
        row("second", minute=1, **twice),
        row("first", **twice),
    )
    found = source_rows(logs, [about], ["user_id"])
    assert [one["event_id"] for one in found.values()] == ([] if source is None else [source])
    assert set(found) <= {about["case_id"]}


def test_an_answer_is_compared_with_a_case_of_another_answer_that_has_its_id(tmp_path: Path) -> None:
    """Not with its own, and not with one that was made of a later answer."""
    lake = Lake(str(tmp_path))
    logs_of(tmp_path, row("early", minute=-5), row("ann"), row("late", minute=5))
    lake.table(GROUND_TRUTH, "app").append(GROUND_TRUTH.rows([case(status="accepted")]))
    frame = answers_frame(lake, "app")
    found = dict(zip(frame["answer"], frame["case_id"].notna(), strict=True))
    assert found == {"Said to early.": False, "Said to ann.": False, "Said to late.": True}
