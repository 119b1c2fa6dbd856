"""Who called whom in the days around an onset, read at once or for some seconds at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from lake.queries.sampled_answers import callers
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from monitor.detect.causes.attribution import OnsetInterval
from monitor.detect.causes.reading import CallersOfDays

AT = datetime(2026, 11, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ONSET = OnsetInterval(AT, AT - DAY / 2, AT + DAY / 2)
NAMES = [f"app-{number:02}" for number in range(40)]


def test_what_is_read_in_parts_is_what_is_read_at_once(tmp_path: Path) -> None:
    """With no time at all a part is read each time; then all is known, and nothing is read again."""
    lake = Lake(str(tmp_path))
    for name in (NAMES[0], NAMES[-1]):
        row = {"deployment": name, "requested_at": AT, "date": AT.date(), "parent_deployment": "rag"}
        lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows([row]))
    expected = callers(lake, NAMES, AT - DAY, AT + DAY)
    assert expected == {NAMES[0]: {"rag"}, NAMES[-1]: {"rag"}}
    in_parts = CallersOfDays(lake)
    assert [in_parts.read_for(0, ONSET, AT + DAY, NAMES) for _ in range(4)] == [False, False, True, True]
    assert in_parts.around(ONSET, AT + DAY, NAMES) == expected
    assert CallersOfDays(lake).around(ONSET, AT + DAY, NAMES) == expected
    begun = CallersOfDays(lake)
    begun.read_for(0, ONSET, AT + DAY, NAMES)
    assert begun.around(ONSET, AT + DAY, NAMES) == expected
    row = {"deployment": NAMES[1], "requested_at": AT, "date": AT.date(), "parent_deployment": "rag"}
    lake.table(PARSED_LOGS, NAMES[1]).append(PARSED_LOGS.rows([row]))
    assert begun.around(ONSET, AT + DAY, NAMES) == expected
    begun.forget()
    assert begun.around(ONSET, AT + DAY, NAMES) == expected | {NAMES[1]: {"rag"}}
