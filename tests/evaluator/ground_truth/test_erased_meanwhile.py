"""An erasure while the evaluator is at work."""

from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import SCORES
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.table import Table

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize("is_first", [True, False], ids=["its first pass", "a later pass"])
@pytest.mark.parametrize("spec", [SCORES, GROUND_TRUTH], ids=lambda spec: spec.name)
def test_what_was_erased_is_not_written_back(
    lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch, spec: TableSpec, is_first: bool
) -> None:
    """A pass that has read a person's answers before they were erased adds nothing; the next one does the others'."""
    evaluator = Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW)
    if not is_first:
        traffic.log(traffic.answer("z", question="z", ingested_at=NOW, user_id="stays"))
        traffic.rate(traffic.signal("like", "z", user="stays"))
        evaluator.run_once()
    traffic.log(traffic.answer("a", question="a", ingested_at=NOW, user_id="gone"))
    traffic.log(traffic.answer("b", ingested_at=NOW, user_id="stays"))
    traffic.rate(traffic.signal("like", "a", user="gone"), traffic.signal("like", "b", user="stays"))
    append, erased = Table.append, []

    def late(table: Table, *given: Any, **named: Any) -> None:
        if table.spec is spec and not erased:
            erased.append("gone")
            erase(lake, Subject(user="gone"), datetime.now(UTC))
        append(table, *given, **named)

    monkeypatch.setattr(Table, "append", late)
    assert evaluator.run_once().failures == ()
    evaluator.run_once()
    assert erased
    names = ["b"] if is_first else ["b", "z"]
    assert {row["event_id"] for row in traffic.scores()} == {f"event-{name}" for name in names}
    assert sorted(case["source_response_id"] for case in traffic.cases()) == [f"chatcmpl-{name}" for name in names]
