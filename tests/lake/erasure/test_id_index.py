"""An erasure in a lake with an index of ids."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.id_index import update_id_index
from lake.spec.root_tables import ID_INDEX
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.lake.erasure.planted_rows import NOW, call, put


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject",
    [Subject(user="planted-user"), Subject(chat="planted-chat"), Subject(response="r-aa"), Subject(user="nobody")],
    ids=["user", "chat", "response", "nobody"],
)
def test_it_takes_what_it_takes_without_one(lake: Lake, subject: Subject) -> None:
    """All that was found through ids: of the person, the conversation, the trace, and who continued it."""
    put(lake, PARSED_LOGS, call("ff", question="More", parent_history_hash="h1", trace_id="t9"), deployment="other")
    put(lake, PARSED_LOGS, call("gg", question="Hello", trace_id="t8", user_id="stranger"), deployment="other")
    plain = erase(lake, subject, NOW, dry_run=True)
    update_id_index(lake)
    put(lake, PARSED_LOGS, call("hh", question="Late", trace_id="t7", user_id="stranger"), deployment="other")
    by_index = erase(lake, subject, NOW, dry_run=True)
    assert [one for one in by_index.tables if one.table != ID_INDEX.name] == list(plain.tables)
    left = erase(lake, subject, NOW).found
    assert left == plain.found
    assert erase(lake, subject, NOW).found == 0


def test_it_takes_all_where_the_index_is_damaged(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    """Every file is read then."""
    plain = erase(lake, Subject(user="planted-user"), NOW, dry_run=True)
    update_id_index(lake)
    for path in Path(lake.root, ID_INDEX.name).glob("date=*/*.parquet"):
        path.write_bytes(b"damaged")
    with caplog.at_level(logging.WARNING):
        assert erase(lake, Subject(user="planted-user"), NOW).found == plain.found
    assert "searched one by one" in caplog.text
