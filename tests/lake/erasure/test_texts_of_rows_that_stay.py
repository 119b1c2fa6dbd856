"""Texts that an erasure takes out of rows which stay: comments, ids of who was read, reasons."""

from __future__ import annotations

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.compaction import compact
from lake.spec.root_tables import AUDIT, RELEASES, SAVED_SEARCHES, SILENCES
from lake.spec.schemas import ALERTS, INCIDENTS
from lake.tables.lake import Lake
from tests.lake.erasure.planted_rows import NOW, everywhere, numbers, put


def test_a_comment_that_names_the_subject_goes_and_the_silence_stays(lake: Lake) -> None:
    """In the silence and in the reasons of alerts that it held back; ids go on, and comments of others stay."""
    said = "planted-user complains; known"
    until = {"silence_id": 1, "change": "added", "until": NOW}
    rows = [until | {"comment": said}, until | {"silence_id": 2, "comment": "new index"}]
    lake.table(SILENCES).append(SILENCES.rows(rows), {"silences": 2})
    put(lake, ALERTS, {"change_id": "c2", "change": "silenced", "reason": f"silenced until later: {said}"})
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["_silences"] == (0, 1)
    assert numbers(receipt)["rag-app alerts"] == (0, 2)
    assert b"complains" not in everywhere(lake.root)
    left = lake.table(SILENCES).read(["silence_id", "until", "comment"]).to_pylist()
    assert sorted((row["silence_id"], row["until"], row["comment"]) for row in left) == [
        (1, NOW, None),
        (2, NOW, "new index"),
    ]
    assert lake.table(SILENCES).committed("silences") == 2


def test_a_comment_that_names_the_subject_goes_and_the_release_stays_marked(lake: Lake) -> None:
    """The mark, which decides what is compared with what, holds on without its words."""
    marked = {"release_id": 1, "change": "added", "deployment": "rag-app", "released_at": NOW}
    lake.table(RELEASES).append(RELEASES.rows([marked | {"comment": "planted-user complains"}]), {"releases": 1})
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["_releases"] == (0, 1)
    assert b"complains" not in everywhere(lake.root)
    left = lake.table(RELEASES).read(["release_id", "released_at", "comment"]).to_pylist()
    assert left == [{"release_id": 1, "released_at": NOW, "comment": None}]
    assert lake.table(RELEASES).committed("releases") == 1


def test_a_saved_search_that_names_the_subject_loses_what_names_it(lake: Lake) -> None:
    """In its name or among its fields; searches of others stay."""
    said = {"change": "saved", "deployment": "rag-app", "changed_at": NOW, "days": 7}
    cells = [("theirs", '{"user": "planted-user"}'), ("planted-user", "{}"), ("failed", '{"status": "failed"}')]
    rows = [said | {"search_id": n, "name": name, "search": search} for n, (name, search) in enumerate(cells, 1)]
    lake.table(SAVED_SEARCHES).append(SAVED_SEARCHES.rows(rows), {"saved_searches": 3})
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["_saved_searches"] == (0, 2)
    assert b"planted-user" not in everywhere(f"{lake.root}/_saved_searches")
    left = lake.table(SAVED_SEARCHES).read(["search_id", "name", "search"]).to_pylist()
    kept = {row["search_id"]: (row["name"], row["search"]) for row in left}
    assert kept == {1: ("theirs", None), 2: (None, "{}"), 3: ("failed", '{"status": "failed"}')}


def test_a_comment_that_names_the_subject_goes_and_the_acknowledgement_stays(lake: Lake) -> None:
    row = {"change_id": "i1", "incident_id": "i", "change": "acknowledged", "changed_at": NOW, "who": "ann"}
    put(lake, INCIDENTS, row | {"comment": "planted-user complains"})
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["rag-app incidents"] == (0, 1)
    assert b"complains" not in everywhere(lake.root)
    left = lake.table(INCIDENTS, "rag-app").read(["change", "who", "comment"]).to_pylist()
    assert left == [{"change": "acknowledged", "who": "ann", "comment": None}]


def test_who_read_an_answer_stays_and_which_answer_it_was_goes(lake: Lake) -> None:
    """The rows of `_audit` about the subject's answers lose their ids, and a detail that names it; others stay."""
    read = {"at": NOW, "date": NOW.date(), "who": "ann", "action": "read_texts", "deployment": "rag-app"}
    cells = [("aa", "planted-user"), ("dd", "recall"), (None, None)]
    rows = [read | {"event_id": event, "detail": detail} for event, detail in cells]
    lake.table(AUDIT).append(AUDIT.rows(rows))
    compact(lake.table(AUDIT))
    receipt = erase(lake, Subject(user="planted-user"), NOW)
    assert numbers(receipt)["_audit"] == (0, 1)
    left = lake.table(AUDIT).read(["who", "event_id", "detail"]).to_pylist()
    assert [tuple(row.values()) for row in left] == [("ann", None, None), ("ann", "dd", "recall"), ("ann", None, None)]
    assert b"planted-user" not in everywhere(f"{lake.root}/_audit")


def test_a_saved_search_for_a_short_user_id_loses_it(lake: Lake) -> None:
    """An id of a few characters is looked for in the fields alone: in a text it would be found in other words."""
    said = {"change": "saved", "deployment": "rag-app", "changed_at": NOW, "days": 7, "search_id": 1, "name": "all"}
    rows = [said | {"search": '{"user": "jdoe"}'}, said | {"search_id": 2, "search": '{"words": "jdoes"}'}]
    lake.table(SAVED_SEARCHES).append(SAVED_SEARCHES.rows(rows), {"saved_searches": 2})
    put(lake, ALERTS, {"change_id": "c3"})
    erase(lake, Subject(user="jdoe"), NOW)
    left = lake.table(SAVED_SEARCHES).read(["search_id", "search"]).to_pylist()
    assert sorted((row["search_id"], row["search"]) for row in left) == [(1, None), (2, '{"words": "jdoes"}')]
